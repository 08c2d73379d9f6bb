#ifndef SHORTLIST_CLI_VOCAB_DRAFT_TARGET_H_
#define SHORTLIST_CLI_VOCAB_DRAFT_TARGET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "cli/vocab/list_tokenizer.h"
#include "io/model_source.h"
#include "io/weight_files.h"

namespace shortlist {

/// The model that a draft's checkpoint was trained for, as far as its files say it. This program
/// need not be able to run it.
struct DraftTarget {
  ModelSource source;
  ListTokenizer tokenizer;       // the vocabulary: that of config.json, else the tokenizer's
  std::vector<TokenId> end_ids;  // that end an output: of the tokenizer and of both configurations
  // Without files if the directory has no weights: rows and embeddings are then unknown.
  WeightFiles weights;

  /// `model`: a directory, NAME.gguf, or org/name[@revision] of the cache. Errors of
  /// ModelSource::Open, OpenTokenizer and WeightFiles::Open, except that weights may be missing.
  static absl::StatusOr<DraftTarget> Open(const std::string& model);
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_DRAFT_TARGET_H_

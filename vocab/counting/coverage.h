#ifndef SHORTLIST_VOCAB_COUNTING_COVERAGE_H_
#define SHORTLIST_VOCAB_COUNTING_COVERAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "vocab/active_vocab.h"
#include "vocab/dynamic_vocabulary_manager.h"
#include "vocab/request_tail.h"
#include "vocab/row_source.h"

namespace shortlist {

/// Number of tokens of some texts that a draft could have proposed, by the first RowSource that
/// contained them.
struct Coverage {
  int64_t num_tokens = 0;
  int64_t in_base = 0;
  int64_t in_dynamic = 0;     // the part shared by requests
  int64_t in_successors = 0;  // of the previous token
  int64_t in_tail = 0;        // the request's own
  int64_t num_rows = 0;       // scored for all tokens together
  int64_t max_rows = 0;       // for one token

  int64_t num_covered() const { return in_base + in_dynamic + in_successors + in_tail; }
  /// Ratios; 0 without tokens.
  double covered_share() const { return Share(num_covered()); }
  double rows_per_token() const { return Share(num_rows); }

  /// Counts one token.
  void Count(RowSource source);
  Coverage& operator+=(const Coverage& other);

 private:
  double Share(int64_t part) const {
    return num_tokens == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(num_tokens);
  }
};

/// Replays texts as outputs of a model over an active vocabulary, which learns as in the engine
/// (draft/engine.h). Tokens of the prompt enter the request's tail before the first token. An
/// escape then enters tail and dynamic part. Coverage is that of the engine (held_by.h). Used by
/// one thread.
class CoverageMeter {
 public:
  struct Options {
    int64_t num_tail_rows = 0;     // maximum number of rows of one request
    int64_t dynamic_capacity = 0;  // of the part shared by requests
  };

  /// Errors of DynamicVocabularyManager::Create; InvalidArgument for negative num_tail_rows.
  static absl::StatusOr<CoverageMeter> Create(std::shared_ptr<const VocabBase> base,
                                              const Options& options);

  /// Replays one request; `prompt` precedes `output`. OutOfRange for an id outside the vocabulary.
  absl::StatusOr<Coverage> Replay(std::span<const TokenId> prompt, std::span<const TokenId> output);

 private:
  CoverageMeter(const Options& options, std::unique_ptr<DynamicVocabularyManager> manager)
      : options_(options), manager_(std::move(manager)) {}

  /// Returns the number of rows that a draft scores after `last`.
  int64_t NumRows(const ActiveVocab& active, const RequestTail& tail, std::optional<TokenId> last);

  Options options_;
  std::unique_ptr<DynamicVocabularyManager> manager_;
  std::vector<uint64_t> marked_;  // [vocab_size] the last NumRows call that saw the id in a tail
  uint64_t num_marked_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_COVERAGE_H_

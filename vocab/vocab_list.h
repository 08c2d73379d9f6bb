#ifndef SHORTLIST_VOCAB_VOCAB_LIST_H_
#define SHORTLIST_VOCAB_VOCAB_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// A vocabulary list: which tokens are likely, most likely first. One list serves any ratio, top-N
/// or coverage target; the choice is made at load (vocab_options.h).
struct VocabList {
  int64_t vocab_size = 0;    // of the target; every id is below it
  std::string fingerprint;   // of the tokenizer (text/tokenizer.h); empty where the format has none
  std::string source;        // corpus provenance, free text
  std::vector<TokenId> ids;  // distinct, in rank order (ascending for formats without ranks)
  std::vector<int64_t> counts;  // [ids.size()], never rising; empty where the format has none
  std::vector<TokenId> pinned;  // distinct; always selected, counted within N; need not be in `ids`
  bool ranked = false;          // ids are in rank order
  // [vocab_size], or empty: what follows each token, distinct, likeliest first. Tokens that every
  // selection of the list holds may be left out.
  std::vector<std::vector<TokenId>> successors;

  /// InvalidArgument names the index, the value and the bound: an id out of range or repeated, a
  /// count that is negative or rises, lengths that differ, no id at all, successors of more or
  /// fewer tokens than there are.
  absl::Status Validate() const;
};

/// The model a list must fit.
struct VocabTarget {
  int64_t vocab_size = 0;
  std::string fingerprint;  // empty: not checked
  int64_t num_rows = 0;     // ids that the draft's head has rows of; 0: all of them
};

/// Reads a list by its name: `*.json` is the project's own document (format version 1), anything
/// else plain text, one id per line, white space trimmed, blank lines skipped, any order. Every
/// error names the file and, where there is one, the line or index, the value and the bound.
/// FailedPrecondition when a fingerprint or vocab_size does not fit `target`.
absl::StatusOr<VocabList> ReadVocabList(const std::string& path, const VocabTarget& target);

/// The same for the project's own document at hand; errors name no file.
absl::StatusOr<VocabList> ParseVocabList(const nlohmann::json& document, const VocabTarget& target);

/// The project's own document. The list must be valid.
std::string VocabListDocument(const VocabList& list);

/// Writes VocabListDocument, atomically. The list must be valid.
absl::Status WriteVocabList(const std::string& path, const VocabList& list);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_VOCAB_LIST_H_

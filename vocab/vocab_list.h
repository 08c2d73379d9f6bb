#ifndef SHORTLIST_VOCAB_VOCAB_LIST_H_
#define SHORTLIST_VOCAB_VOCAB_LIST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// A vocabulary list: which tokens are likely, most likely first. One list serves any ratio, top-N
/// or coverage target; the choice is made at load (vocab_options.h).
struct VocabList {
  static constexpr int64_t kMaxVocabSize = int64_t{1} << 24;  // of any tokenizer's, with room
  // Rows that a model adds to its tokenizer's ids, at most: Phi-2 and CodeGen add 943 to 50,257.
  static constexpr int64_t kMaxPadding = 1024;

  int64_t vocab_size = 0;   // of the target; every id is below it
  std::string fingerprint;  // of the tokenizer (text/tokenizer.h); empty where the format has none
  std::string ids_fingerprint;  // IdsFingerprint of what the list names; empty: not known
  std::string source;           // corpus provenance, free text
  std::vector<TokenId> ids;     // distinct, in rank order; of formats without ranks in the file's
  std::vector<int64_t> counts;  // [ids.size()], never rising; empty where the format has none
  std::vector<TokenId> pinned;  // distinct; always selected, counted within N; need not be in `ids`
  bool ranked = false;          // ids are in rank order
  // [vocab_size], or empty: what follows each token, distinct, likeliest first. Tokens that every
  // selection of the list holds may be left out.
  std::vector<std::vector<TokenId>> successors;

  /// InvalidArgument names the index, the value and the bound: an id out of range or repeated, a
  /// count that is negative or rises, counts of a list without ranks, lengths that differ, no id at
  /// all, successors of more or fewer tokens than there are.
  absl::Status Validate() const;

  /// Every token that the list names, as id, pinned, successor or token with successors: ascending,
  /// distinct.
  std::vector<TokenId> NamedIds() const;

  /// Every id that may be taken, in the order in which they are: pinned ones before the others.
  std::vector<TokenId> PinnedFirst() const;

  /// The same ids in rank order: `ids`, then the pinned ones that are not among them.
  std::vector<TokenId> ByRank() const;

  /// How many ids the list has, pinned ones among them.
  int64_t NumIds() const { return static_cast<int64_t>(PinnedFirst().size()); }
  /// How many successors, of all tokens together.
  int64_t NumSuccessors() const;
};

/// The bytes of a token, as Tokenizer::Fingerprint hashes them.
using TokenSpelling = std::function<std::string_view(TokenId)>;

/// The model a list must fit.
struct VocabTarget {
  int64_t vocab_size = 0;   // 0: not known
  std::string fingerprint;  // empty: not checked
  int64_t num_rows = 0;     // ids that the draft's head has rows of; 0: all of them
  // Of the ids in [0, num_spelled); null: not known, and a list fits by its `fingerprint` alone.
  TokenSpelling spelling;
  int64_t num_spelled = 0;
};

/// Hash over the byte strings of `ids` ("fnv1a64:<16 hex digits>"): FNV-1a, 64 bits, over the id as
/// a little-endian u32, the length of its byte string likewise, then the string, for each of `ids`.
/// Equal hashes of a list's NamedIds mean that it says the same in two tokenizers, whatever other
/// tokens these have. Precondition: `ids` are below num_spelled.
std::string IdsFingerprint(const std::vector<TokenId>& ids, const VocabTarget& target);

/// Makes a list of `target`'s tokenizer fit others that agree on its tokens: sets vocab_size and
/// both fingerprints as far as `target` knows them. OutOfRange names an id that is not spelled.
absl::Status BindList(const VocabTarget& target, VocabList& list);

/// Reads a list by its name: `*.json` and `*.json.xz` are the project's own document, anything else
/// plain text, one id per line, white space trimmed, blank lines skipped, any order, which is kept
/// and is no rank. Every error names the file and, where there is one, the line or index, the value
/// and the bound.
///
/// A list fits when all ids that it names are below the target's vocab_size, which becomes its own,
/// and it is of the same tokenizer: its `ids_fingerprint` is that of its ids in `target`'s. Where
/// either does not have it, their vocab_size differ by at most 1024, and their fingerprints are
/// equal where both have one. So a list of a tokenizer's ids fits the model, whose head has padding
/// rows behind them. FailedPrecondition when it does not fit.
///
/// Where the target's vocab_size is not known every list fits, and that of text is the least that
/// holds its ids.
absl::StatusOr<VocabList> ReadVocabList(const std::string& path, const VocabTarget& target);

/// The same for the project's own document at hand; errors name no file.
absl::StatusOr<VocabList> ParseVocabList(const nlohmann::json& document, const VocabTarget& target);

/// Checks that a list of any format fits, and sets its vocab_size as ReadVocabList says.
absl::Status FitList(const VocabTarget& target, VocabList& list);

/// The project's own document, format version 2; `list` must be valid.
std::string VocabListDocument(const VocabList& list);

/// Writes a list by its name, atomically: VocabListDocument for `*.json` and `*.json.xz`, the ids
/// of ByRank, one per line, for anything else. Errors of Validate, and Unavailable.
absl::Status WriteVocabList(const std::string& path, const VocabList& list);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_VOCAB_LIST_H_

#ifndef SHORTLIST_VOCAB_VOCAB_LIST_H_
#define SHORTLIST_VOCAB_VOCAB_LIST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "nlohmann/json_fwd.hpp"
#include "vocab/head_rows.h"

namespace shortlist {

/// A vocabulary list: likely tokens, most likely first. One list serves any ratio, top-N or
/// coverage target; the choice is made at load (vocab_options.h).
struct VocabList {
  static constexpr int64_t kMaxVocabSize = int64_t{1} << 24;  // above that of any tokenizer
  // Maximum number of rows that a model adds to its tokenizer's ids: Phi-2 and CodeGen add 943 to
  // 50,257.
  static constexpr int64_t kMaxPadding = 1024;

  int64_t vocab_size = 0;  // of the target; every id is below it
  // Of the tokenizer (text/tokenizer.h); empty if the format has none.
  std::string fingerprint;
  std::string ids_fingerprint;  // IdsFingerprint of NamedIds(); empty: unknown
  std::string source;           // corpus provenance, free text
  // Distinct, in rank order; in file order for formats without ranks.
  std::vector<TokenId> ids;
  std::vector<int64_t> counts;  // [ids.size()], never rising; empty if the format has none
  // Distinct; always selected, counted within N; need not be in `ids`.
  std::vector<TokenId> pinned;
  bool ranked = false;  // ids are in rank order
  // [vocab_size], or empty: tokens that follow each token, distinct, most likely first. Tokens that
  // every selection of the list contains may be left out.
  std::vector<std::vector<TokenId>> successors;

  /// InvalidArgument names the index, the value and the bound: an id out of range or repeated, a
  /// negative or rising count, counts of a list without ranks, different lengths, or no id. Also
  /// if `successors` is neither empty nor of length vocab_size.
  absl::Status Validate() const;

  /// Returns every token that the list names, as id, pinned, successor or token with successors:
  /// ascending, distinct.
  std::vector<TokenId> NamedIds() const;

  /// Returns every id that may be selected, in order of selection: pinned ones first.
  std::vector<TokenId> PinnedFirst() const;

  /// Returns the ids of PinnedFirst() in rank order: `ids`, then the pinned ones not in `ids`.
  std::vector<TokenId> ByRank() const;

  /// Number of ids in the list, pinned ones included.
  int64_t NumIds() const { return static_cast<int64_t>(PinnedFirst().size()); }
  /// Number of successors of all tokens together.
  int64_t NumSuccessors() const;
};

/// Returns the bytes of a token, as Tokenizer::Fingerprint hashes them.
using TokenSpelling = std::function<std::string_view(TokenId)>;

/// The model a list must fit.
struct VocabTarget {
  int64_t vocab_size = 0;   // 0: unknown
  std::string fingerprint;  // empty: not checked
  // Of the draft's head: ids below this have a row in it; 0: all of them.
  int64_t num_rows = 0;
  // The tokens that have a row in it; null: all.
  std::shared_ptr<const HeadRows> head_rows = nullptr;
  // For the ids in [0, num_spelled). Null: unknown; a list then fits by its `fingerprint` alone.
  TokenSpelling spelling;
  int64_t num_spelled = 0;
};

/// Returns a hash over `ids` and their byte strings ("fnv1a64:<16 hex digits>"): 64-bit FNV-1a over
/// the id, the length of its byte string (both little-endian u32) and the string, for each of
/// `ids`. Equal hashes of a list's NamedIds mean that the list has the same meaning in two
/// tokenizers, whatever other tokens they have. Precondition: `ids` are below num_spelled.
std::string IdsFingerprint(const std::vector<TokenId>& ids, const VocabTarget& target);

/// Binds a list of `target`'s tokenizer to what its tokens spell, so that it fits all tokenizers
/// that agree on them: sets vocab_size and both fingerprints as far as `target` has them.
/// OutOfRange names an id without a spelling.
absl::Status BindList(const VocabTarget& target, VocabList& list);

/// Reads a list by its name. `*.json` and `*.json.xz` are the project's own document. Anything else
/// is plain text: one id per line, white space trimmed, blank lines skipped, in any order, which is
/// kept and is no rank. Every error names the file and, if there is one, the line or index, the
/// value and the bound.
///
/// A list fits if all ids that it names are below the target's vocab_size, which becomes the
/// list's, and its `ids_fingerprint` equals that of its ids in `target`. If either has no such
/// fingerprint, their vocab_size may differ by at most 1024, and their fingerprints must be equal
/// if both have one. So a list of a tokenizer's ids fits a model whose head has padding rows after
/// them. FailedPrecondition if the list does not fit.
///
/// If the target's vocab_size is unknown, every list fits; that of a text becomes its largest id
/// plus 1.
absl::StatusOr<VocabList> ReadVocabList(const std::string& path, const VocabTarget& target);

/// Same as ReadVocabList(), but for a parsed document; errors name no file.
absl::StatusOr<VocabList> ParseVocabList(const nlohmann::json& document, const VocabTarget& target);

/// Checks that a list of any format fits, and sets its vocab_size as in ReadVocabList().
absl::Status FitList(const VocabTarget& target, VocabList& list);

/// Returns the project's own document, format version 2. `list` must be valid.
std::string VocabListDocument(const VocabList& list);

/// Writes a list by its name, atomically: VocabListDocument for `*.json` and `*.json.xz`, otherwise
/// the ids of ByRank, one per line. Errors of Validate, and Unavailable.
absl::Status WriteVocabList(const std::string& path, const VocabList& list);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_VOCAB_LIST_H_

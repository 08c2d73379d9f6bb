#ifndef SHORTLIST_VOCAB_VOCAB_OPTIONS_H_
#define SHORTLIST_VOCAB_VOCAB_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vocab/active_vocab.h"
#include "vocab/vocab_list.h"

namespace shortlist {

/// How the base of the active vocabulary is chosen. The first three fields are named as users know
/// them from the Python original.
struct VocabOptions {
  bool use_static_vocab = false;    // false: the full head, all other fields are ignored
  bool empty = false;               // no base at all; all fields below are ignored
  double static_vocab_ratio = 0.5;  // share of the vocabulary, in (0, 1]
  std::string custom_vocab_path;    // a list file; it wins over static_vocab_ratio. Empty: none

  // How much of the list file is taken; at most one is set. None: all of it.
  std::optional<int64_t> top_n;  // the first N ids, pinned ones counted within; in [1, vocab_size]
  std::optional<double> ratio;   // the first floor(ratio * vocab_size) ids; in (0, 1]
  // The fewest ids whose counts reach this share; in (0, 1]; needs counts.
  std::optional<double> coverage;

  // True: the size follows from what is measured (BaseLadder), and nothing above chooses it. The
  // list has ranks then; SelectVocabBase takes the size to begin with.
  bool auto_size = false;
  std::optional<int64_t> min_rows, max_rows;  // its bounds, in [1, vocab_size]; none: its own

  // Rows that a draft step scores besides: of the list's successors of the last token, those that
  // are not in the base. In [1, vocab_size]; needs a list with successors. None: no such rows.
  std::optional<int64_t> successors;

  /// InvalidArgument names the field, its value and its bound (NaN included).
  absl::Status Validate() const;
};

/// Parses `full`, `empty`, `ratio:R` or
/// `FILE[:top=N|:ratio=R|:coverage=C|:auto[=MIN..MAX]][:successors=M]`, options in any order.
/// InvalidArgument names what is wrong.
absl::StatusOr<VocabOptions> ParseVocabFlag(const std::string& flag);

/// The base that `options` describe, VocabBase::FullHead for the full head. A ratio without a list
/// means the first floor(ratio * vocab_size) ids; a ratio that comes to no id at all is
/// InvalidArgument. A list that cannot be read is an error, never a fallback. FailedPrecondition
/// names file, id and rows when an id or a successor that is taken has no row in the draft's head.
absl::StatusOr<std::shared_ptr<const VocabBase>> SelectVocabBase(const VocabOptions& options,
                                                                 const VocabTarget& target);

/// The base that `options` take from `list`, which fits `target`, rather than from the file, whose
/// name goes before errors. Precondition: use_static_vocab.
absl::StatusOr<std::shared_ptr<const VocabBase>> SelectVocabBase(const VocabOptions& options,
                                                                 const VocabList& list,
                                                                 const VocabTarget& target);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_VOCAB_OPTIONS_H_

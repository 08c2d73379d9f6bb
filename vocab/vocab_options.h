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

/// How the base of the active vocabulary is chosen. The first fields keep the names that users know
/// from the Python original.
struct VocabOptions {
  bool use_static_vocab = false;    // false: the full head; all other fields are ignored
  bool empty = false;               // no base; all fields below are ignored
  double static_vocab_ratio = 0.5;  // share of the vocabulary, in (0, 1]
  // A list file (vocab/formats/list_file.h), used instead of static_vocab_ratio. Empty: none.
  std::string custom_vocab_path;

  // The part of the list file that is taken; at most one is set. None: all of it.
  // The first N ids, pinned ones included; in [1, vocab_size].
  std::optional<int64_t> top_n;
  std::optional<double> ratio;  // the first floor(ratio * vocab_size) ids; in (0, 1]
  // The fewest ids whose counts reach this share; in (0, 1]; needs counts.
  std::optional<double> coverage;

  // True: the size follows from measurements (BaseLadder), and no field above sets it. The list
  // must be ranked; SelectVocabBase returns the initial size.
  bool auto_size = false;
  // Bounds of auto_size, in [1, vocab_size]; none: those of BaseLadder.
  std::optional<int64_t> min_rows, max_rows;

  // Number of rows that a draft step scores in addition: the list's first successors of the last
  // token that are not in the base. In [1, vocab_size]; needs a list with successors. None: no such
  // rows.
  std::optional<int64_t> successors;

  /// True if the base comes from the file custom_vocab_path.
  bool names_list() const { return use_static_vocab && !empty && !custom_vocab_path.empty(); }

  /// InvalidArgument names the field, its value and its bound (NaN included).
  absl::Status Validate() const;
};

/// Parses `full`, `empty`, `ratio:R` or
/// `FILE[:top=N|:ratio=R|:coverage=C|:auto[=MIN..MAX]][:successors=M]`, options in any order.
/// InvalidArgument names what is wrong.
absl::StatusOr<VocabOptions> ParseVocabFlag(const std::string& flag);

/// Returns the base that `options` describe, VocabBase::FullHead for the full head. A ratio without
/// a list selects the first floor(ratio * vocab_size) ids; no id at all is InvalidArgument.
/// FailedPrecondition names file, id and rows if a selected id or successor is at or above
/// target.num_rows, or if none of the selected ids is in target.head_rows; the ids that are not are
/// left out. Precondition: !options.names_list(); OpenVocabBase() (vocab/formats) reads lists.
absl::StatusOr<std::shared_ptr<const VocabBase>> SelectVocabBase(const VocabOptions& options,
                                                                 const VocabTarget& target);

/// Same as SelectVocabBase() above, but selects from `list`, which fits `target`. Errors begin with
/// options.custom_vocab_path. Precondition: use_static_vocab.
absl::StatusOr<std::shared_ptr<const VocabBase>> SelectVocabBase(const VocabOptions& options,
                                                                 const VocabList& list,
                                                                 const VocabTarget& target);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_VOCAB_OPTIONS_H_

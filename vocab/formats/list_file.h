#ifndef SHORTLIST_VOCAB_FORMATS_LIST_FILE_H_
#define SHORTLIST_VOCAB_FORMATS_LIST_FILE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vocab/active_vocab.h"
#include "vocab/vocab_list.h"
#include "vocab/vocab_options.h"

namespace shortlist {

/// Reads a list in the format of its name: those of ReadVocabList, `*.pt` and `*.pth` (token maps
/// of FR-Spec and SGLang, or a dict as in `*.bin`), `*.npy`, `*.safetensors` and `*.bin` (EAGLE-3's
/// d2t and t2d). If a file holds only ids, their order is kept and is no rank. Errors as in
/// ReadVocabList and ReadDraftMap.
absl::StatusOr<VocabList> ReadListFile(const std::string& path, const VocabTarget& target);

/// Returns the base that `options` describe (SelectVocabBase), from a list in any format if they
/// name one. An unreadable list is an error, never a fallback.
absl::StatusOr<std::shared_ptr<const VocabBase>> OpenVocabBase(const VocabOptions& options,
                                                               const VocabTarget& target);

/// InvalidArgument lists the formats if `path` has a suffix that WriteListFile does not write. A
/// name without a suffix means plain text.
absl::Status CheckListName(const std::string& path);

/// Returns, in words, the parts of `list` that the format of `path` cannot store: "counts,
/// successors". Empty: nothing is lost.
std::string LostByFormat(const std::string& path, const VocabList& list);

/// Writes a list in any format of ReadListFile but `*.bin`, atomically. Parts that a format cannot
/// store are lost: all formats but the document keep only the ids, in the order of ByRank,
/// `*.safetensors` in ascending order. Errors as in CheckListName and WriteVocabList.
absl::Status WriteListFile(const std::string& path, const VocabList& list);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_FORMATS_LIST_FILE_H_

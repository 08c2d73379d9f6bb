#ifndef SHORTLIST_VOCAB_FORMATS_LIST_FILE_H_
#define SHORTLIST_VOCAB_FORMATS_LIST_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vocab/vocab_list.h"

namespace shortlist {

/// Reads a list in any format, told by the name: those of ReadVocabList, `*.pt` and `*.pth` (token
/// maps of FR-Spec and SGLang, or a dict as in `*.bin`), `*.npy`, `*.safetensors` and `*.bin`
/// (EAGLE-3's d2t and t2d). Of files that hold nothing but ids the order is kept and is no rank.
/// Errors as ReadVocabList and ReadDraftMap.
absl::StatusOr<VocabList> ReadListFile(const std::string& path, const VocabTarget& target);

/// InvalidArgument lists the formats where `path` has a suffix that WriteListFile does not write. A
/// name without a suffix is that of a text.
absl::Status CheckListName(const std::string& path);

/// What `list` holds and the format of `path` has no place for, in words: "counts, successors";
/// empty: nothing.
std::string LostByFormat(const std::string& path, const VocabList& list);

/// Writes a list in any of these formats but `*.bin`, atomically. What a format has no place for is
/// lost: all but the document keep the ids alone, in the order of ByRank, `*.safetensors` in
/// ascending order. Errors as CheckListName and WriteVocabList.
absl::Status WriteListFile(const std::string& path, const VocabList& list);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_FORMATS_LIST_FILE_H_

#ifndef SHORTLIST_CLI_VOCAB_LOSS_NOTE_H_
#define SHORTLIST_CLI_VOCAB_LOSS_NOTE_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "vocab/formats/list_file.h"

namespace shortlist {

/// Suffix for the message about a written list: names what the list's format cannot store.
inline std::string LossNote(const std::string& path, const VocabList& list) {
  const std::string lost = LostByFormat(path, list);
  if (lost.empty()) return "";
  const char* const order = path.ends_with(".safetensors") ? ", ascending"
                            : list.ranked                  ? ", in rank order"
                                                           : "";
  return absl::StrCat("; ids alone", order, ": lost are ", lost, " (.vocab.json keeps all)");
}

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_LOSS_NOTE_H_

#include "text/vocabulary.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shortlist {

absl::StatusOr<Vocabulary> Vocabulary::Create(Entries entries) {
  int64_t size = 0;
  for (const auto& [token, id] : entries) {
    if (id < 0 || id >= kMaxVocabularySize) {
      return absl::InvalidArgumentError(absl::StrCat("token \"", token.substr(0, 80), "\" has id ",
                                                     id, ", not in [0, ", kMaxVocabularySize, ")"));
    }
    size = std::max(size, id + 1);
  }
  Vocabulary vocabulary;
  vocabulary.tokens_.resize(static_cast<size_t>(size));
  vocabulary.present_.resize(static_cast<size_t>(size));
  vocabulary.ids_.reserve(entries.size());
  for (auto& [token, id] : entries) {
    std::string& place = vocabulary.tokens_[static_cast<size_t>(id)];
    if (vocabulary.present_[static_cast<size_t>(id)]) {
      return absl::InvalidArgumentError(absl::StrCat("tokens \"", place.substr(0, 80), "\" and \"",
                                                     token.substr(0, 80), "\" both have id ", id));
    }
    place = std::move(token);
    vocabulary.present_[static_cast<size_t>(id)] = true;
    if (!vocabulary.ids_.emplace(absl::string_view(place), static_cast<int32_t>(id)).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "token \"", place.substr(0, 80), "\" appears twice, the second time as id ", id));
    }
  }
  return vocabulary;
}

}  // namespace shortlist

#include "text/tokenizer/vocabulary.h"

#include <algorithm>
#include <functional>

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

absl::Status Vocabulary::CheckComplete(std::span<const int32_t> others) const {
  std::vector<bool> missing(present_.size());
  std::transform(present_.begin(), present_.end(), missing.begin(), std::logical_not<bool>());
  for (const int32_t id : others) {
    if (id >= 0 && id < size()) missing[static_cast<size_t>(id)] = false;
  }
  const int64_t num_missing = std::count(missing.begin(), missing.end(), true);
  if (num_missing == 0) return absl::OkStatus();
  const int64_t first = std::find(missing.begin(), missing.end(), true) - missing.begin();
  return absl::InvalidArgumentError(absl::StrCat("no token has id ", first, ", although ids go to ",
                                                 size() - 1, " (", num_missing, " are missing)"));
}

}  // namespace shortlist

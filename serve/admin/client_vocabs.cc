#include "serve/admin/client_vocabs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"

namespace shortlist {

DynamicVocabularyManager* ClientVocabs::Find(const std::string& client) const {
  const std::lock_guard lock(mutex_);
  const auto found = managers_.find(client);
  return found == managers_.end() ? nullptr : found->second.get();
}

absl::Status ClientVocabs::SetBase(const std::string& client,
                                   std::shared_ptr<const VocabBase> base) {
  if (std::find(names_.begin(), names_.end(), client) == names_.end()) {
    return absl::NotFoundError(absl::StrCat("no key is named \"", Excerpt(client), "\""));
  }
  const std::lock_guard lock(mutex_);
  std::unique_ptr<DynamicVocabularyManager>& manager = managers_[client];
  if (manager != nullptr) return manager->ReplaceBase(std::move(base));
  absl::StatusOr<std::unique_ptr<DynamicVocabularyManager>> made =
      DynamicVocabularyManager::Create(std::move(base), {.dynamic_capacity = dynamic_capacity_});
  if (!made.ok()) {
    managers_.erase(client);
    return made.status();
  }
  manager = *std::move(made);
  return absl::OkStatus();
}

}  // namespace shortlist

#ifndef SHORTLIST_SERVE_ADMIN_CLIENT_VOCABS_H_
#define SHORTLIST_SERVE_ADMIN_CLIENT_VOCABS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vocab/dynamic_vocabulary_manager.h"

namespace shortlist {

/// Active vocabularies of clients that have one of their own, by the name of their key. Each has a
/// base for the client's kind of text, and a dynamic part that no other client shares. Any thread.
class ClientVocabs {
 public:
  /// `names`: the names of all keys; each may have one vocabulary. `dynamic_capacity`: of each
  /// vocabulary.
  ClientVocabs(std::vector<std::string> names, int64_t dynamic_capacity)
      : names_(std::move(names)), dynamic_capacity_(dynamic_capacity) {}

  /// Returns the vocabulary of `client`; null: it has none. Valid during the lifetime of this.
  DynamicVocabularyManager* Find(const std::string& client) const;

  /// Sets the base of `client`, from the next step on. NotFound if no key has this name; also
  /// returns the errors of DynamicVocabularyManager.
  absl::Status SetBase(const std::string& client, std::shared_ptr<const VocabBase> base);

 private:
  const std::vector<std::string> names_;
  const int64_t dynamic_capacity_;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<DynamicVocabularyManager>> managers_;  // guarded by mutex_
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_ADMIN_CLIENT_VOCABS_H_

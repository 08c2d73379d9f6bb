#ifndef SHORTLIST_C_HANDLES_H_
#define SHORTLIST_C_HANDLES_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace shortlist {

/// The objects of one kind of handle. A handle is a number used only once, not an address, so that
/// freed handles and those of another kind are recognised. Thread-safe.
template <typename Handle, typename Object>
class Handles {
 public:
  /// `what`: the kind, in errors. `kind`: number of the kind, in [1, 15], part of each handle.
  constexpr Handles(const char* what, uint64_t kind) : what_(what), kind_(kind) {}

  Handle* Add(std::shared_ptr<Object> object) {
    const std::unique_lock lock(mutex_);
    const uint64_t number = ++num_given_ << 4 | kind_;
    objects_.emplace(number, std::move(object));
    return reinterpret_cast<Handle*>(static_cast<uintptr_t>(number));
  }

  /// InvalidArgument if the handle is null, freed or of another kind.
  absl::StatusOr<std::shared_ptr<Object>> Get(const Handle* handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(NumberOf(handle));
    if (found == objects_.end()) return Unknown(handle);
    return found->second;
  }

  absl::Status Free(const Handle* handle) {
    if (handle == nullptr) return absl::OkStatus();
    std::shared_ptr<Object> object;  // destroyed after the mutex is released
    const std::unique_lock lock(mutex_);
    const auto found = objects_.find(NumberOf(handle));
    if (found == objects_.end()) return Unknown(handle);
    object = std::move(found->second);
    objects_.erase(found);
    return absl::OkStatus();
  }

 private:
  static uint64_t NumberOf(const Handle* handle) {
    return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(handle));
  }
  absl::Status Unknown(const Handle* handle) const {
    if (handle == nullptr) return absl::InvalidArgumentError(absl::StrCat(what_, " is null"));
    return absl::InvalidArgumentError(
        absl::StrCat(what_, " ", NumberOf(handle), " was freed, or is no ", what_));
  }

  const char* const what_;
  const uint64_t kind_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<Object>> objects_;
  uint64_t num_given_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_C_HANDLES_H_

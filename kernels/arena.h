#ifndef SHORTLIST_KERNELS_ARENA_H_
#define SHORTLIST_KERNELS_ARENA_H_

#include <cstdint>
#include <memory>
#include <utility>

namespace shortlist {

/// Owns one block of zeroed memory, aligned to 64 bytes, or to 2 MiB and marked for transparent
/// huge pages when it is that large. Move-only. Holds weights, KV caches and scratch.
class Arena {
 public:
  Arena() = default;
  /// bytes = 0 gives an empty arena. Throws std::bad_alloc when the system has no memory.
  explicit Arena(int64_t bytes);
  Arena(Arena&& other) noexcept { *this = std::move(other); }
  Arena& operator=(Arena&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Arena();

  void* data() { return data_; }
  const void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

/// Room for `count` floats, which are lost when it has to grow. Throws std::bad_alloc.
float* ReserveFloats(Arena& arena, int64_t count);

/// Hands out blocks of larger arenas, so that the small matrices of a model lie in huge pages too,
/// one behind the other. Not thread-safe.
class ArenaBlocks {
 public:
  /// Zeroed memory, aligned to 64 bytes, with its arena kept alive. bytes >= 1. Throws
  /// std::bad_alloc.
  std::shared_ptr<void> Take(int64_t bytes);

 private:
  std::shared_ptr<Arena> arena_;
  int64_t used_bytes_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_ARENA_H_

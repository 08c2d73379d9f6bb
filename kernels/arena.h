#ifndef SHORTLIST_KERNELS_ARENA_H_
#define SHORTLIST_KERNELS_ARENA_H_

#include <cstdint>
#include <memory>
#include <utility>

namespace shortlist {

/// Owns one block of zeroed memory, aligned to 64 bytes. A block of 2 MiB or more is aligned to 2
/// MiB and marked for transparent huge pages. Move-only. Holds weights, KV caches and scratch.
class Arena {
 public:
  Arena() = default;
  /// bytes = 0 gives an empty arena. Throws std::bad_alloc if the system has no memory.
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

/// Returns room for `count` floats in `arena`. Replaces the arena, and loses its contents, if it is
/// too small. Throws std::bad_alloc.
float* ReserveFloats(Arena& arena, int64_t count);

/// Hands out consecutive blocks of larger arenas, so that the small matrices of a model lie in huge
/// pages too. Not thread-safe.
class ArenaBlocks {
 public:
  /// Returns zeroed memory, aligned to 64 bytes. The pointer keeps its arena alive. bytes >= 1.
  /// Throws std::bad_alloc.
  std::shared_ptr<void> Take(int64_t bytes);

 private:
  std::shared_ptr<Arena> arena_;
  int64_t used_bytes_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_ARENA_H_

#include "kernels/arena.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace shortlist {
namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kHugePage = int64_t{2} << 20;

}  // namespace

Arena::Arena(int64_t bytes) {
  if (bytes == 0) return;
  const int64_t alignment = bytes >= kHugePage ? kHugePage : kLine;
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() - alignment) throw std::bad_alloc();
  const int64_t padded = (bytes + alignment - 1) / alignment * alignment;
  data_ = std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(padded));
  if (data_ == nullptr) throw std::bad_alloc();
  // Must precede the first touch, so that the pages are huge. Only a hint: kernels without huge
  // pages use small ones.
  if (alignment == kHugePage) madvise(data_, static_cast<size_t>(padded), MADV_HUGEPAGE);
  std::memset(data_, 0, static_cast<size_t>(padded));
  bytes_ = bytes;
}

Arena::~Arena() { std::free(data_); }

float* ReserveFloats(Arena& arena, int64_t count) {
  const int64_t bytes = count * static_cast<int64_t>(sizeof(float));
  if (arena.bytes() < bytes) arena = Arena(bytes);
  return static_cast<float*>(arena.data());
}

std::shared_ptr<void> ArenaBlocks::Take(int64_t bytes) {
  constexpr int64_t kArenaBytes = 2 * kHugePage;
  const auto block = [](const std::shared_ptr<Arena>& arena, int64_t offset) {
    return std::shared_ptr<void>(arena, static_cast<char*>(arena->data()) + offset);
  };
  if (bytes >= kArenaBytes) return block(std::make_shared<Arena>(bytes), 0);
  const int64_t padded = (bytes + kLine - 1) / kLine * kLine;
  if (arena_ == nullptr || used_bytes_ + padded > kArenaBytes) {
    arena_ = std::make_shared<Arena>(kArenaBytes);
    used_bytes_ = 0;
  }
  return block(arena_, std::exchange(used_bytes_, used_bytes_ + padded));
}

}  // namespace shortlist

#include "kernels/arena.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "gtest/gtest.h"

namespace shortlist {
namespace {

TEST(ArenaTest, SmallBlocksAreZeroedAndAlignedToALine) {
  for (const int64_t bytes : {1, 63, 64, 65, 100000}) {
    Arena arena(bytes);
    EXPECT_EQ(arena.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % 64, 0u);
    const char* data = static_cast<const char*>(arena.data());
    EXPECT_TRUE(std::all_of(data, data + bytes, [](char c) { return c == 0; }));
  }
}

TEST(ArenaTest, LargeBlocksAreAlignedToAHugePage) {
  constexpr int64_t kHugePage = int64_t{2} << 20;
  Arena arena(kHugePage + 5);
  EXPECT_EQ(arena.bytes(), kHugePage + 5);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % kHugePage, 0u);
}

TEST(ArenaTest, EmptyArenaHasNoMemory) {
  EXPECT_EQ(Arena(0).data(), nullptr);
  EXPECT_EQ(Arena().bytes(), 0);
}

TEST(ArenaTest, ImpossibleSizesThrow) {
  EXPECT_THROW(Arena(-1), std::bad_alloc);
  EXPECT_THROW(Arena(std::numeric_limits<int64_t>::max()), std::bad_alloc);
}

TEST(ArenaTest, MoveHandsTheBlockOver) {
  Arena from(128);
  void* data = from.data();
  Arena to(std::move(from));
  EXPECT_EQ(to.data(), data);
  to = Arena(64);
  EXPECT_EQ(to.bytes(), 64);
}

}  // namespace
}  // namespace shortlist

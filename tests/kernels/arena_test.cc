#include "kernels/arena.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace shortlist {
namespace {

TEST(ArenaTest, SmallBlocksAreZeroedAndCacheLineAligned) {
  for (const int64_t bytes : {1, 63, 64, 65, 100000}) {
    Arena arena(bytes);
    EXPECT_EQ(arena.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % 64, 0u);
    const char* data = static_cast<const char*>(arena.data());
    EXPECT_TRUE(std::all_of(data, data + bytes, [](char c) { return c == 0; }));
  }
}

TEST(ArenaTest, LargeBlocksAreHugePageAligned) {
  constexpr int64_t kHugePage = int64_t{2} << 20;
  Arena arena(kHugePage + 5);
  EXPECT_EQ(arena.bytes(), kHugePage + 5);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % kHugePage, 0u);
}

TEST(ArenaBlocksTest, BlocksAreDisjointZeroedAndOutliveSource) {
  constexpr int64_t kLargest = int64_t{5} << 20;
  std::vector<std::pair<std::shared_ptr<void>, int64_t>> blocks;
  {
    ArenaBlocks source;
    for (const int64_t bytes : {int64_t{1}, int64_t{64}, int64_t{65}, kLargest, int64_t{3} << 20,
                                int64_t{1} << 20, int64_t{100}}) {
      blocks.emplace_back(source.Take(bytes), bytes);
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto* const data = static_cast<unsigned char*>(blocks[i].first.get());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    EXPECT_TRUE(std::all_of(data, data + blocks[i].second, [](int c) { return c == 0; })) << i;
    std::fill_n(data, blocks[i].second, static_cast<unsigned char>(i + 1));
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto* data = static_cast<const unsigned char*>(blocks[i].first.get());
    EXPECT_TRUE(std::all_of(data, data + blocks[i].second,
                            [i](int c) { return c == static_cast<int>(i + 1); }))
        << "block " << i << " shares memory with another";
  }
  const auto offset = [&](size_t i) {
    return static_cast<char*>(blocks[i].first.get()) - static_cast<char*>(blocks[0].first.get());
  };
  EXPECT_EQ(offset(1), 64);
  EXPECT_EQ(offset(2), 128);
  EXPECT_EQ(offset(4), 256);  // the large block has an arena of its own
  EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks[3].first.get()) % (2 << 20), 0u);
}

TEST(ArenaTest, EmptyArenaHasNoMemory) {
  EXPECT_EQ(Arena(0).data(), nullptr);
  EXPECT_EQ(Arena().bytes(), 0);
}

TEST(ArenaTest, ImpossibleSizesThrow) {
  EXPECT_THROW(Arena(-1), std::bad_alloc);
  EXPECT_THROW(Arena(std::numeric_limits<int64_t>::max()), std::bad_alloc);
}

TEST(ArenaTest, MoveTransfersBlock) {
  Arena from(128);
  void* data = from.data();
  Arena to(std::move(from));
  EXPECT_EQ(to.data(), data);
  to = Arena(64);
  EXPECT_EQ(to.bytes(), 64);
}

}  // namespace
}  // namespace shortlist

#include "device/device_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "vocab/dynamic_vocabulary_manager.h"
#include "vocab/request_tail.h"

namespace shortlist {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr int64_t kVocab = 300;

std::vector<TokenId> Ids(const std::vector<int32_t>& raw) {
  std::vector<TokenId> ids;
  for (int32_t id : raw) ids.push_back(TokenId{id});
  return ids;
}

std::unique_ptr<DynamicVocabularyManager> Manager(const std::vector<int32_t>& base,
                                                  int64_t dynamic_capacity) {
  auto made = VocabBase::Create(Ids(base), kVocab);
  EXPECT_TRUE(made.ok()) << made.status();
  auto manager =
      DynamicVocabularyManager::Create(*made, {.dynamic_capacity = dynamic_capacity, .pinned = {}});
  EXPECT_TRUE(manager.ok()) << manager.status();
  return *std::move(manager);
}

/// Arrays that the kernels read at the addresses of an earlier captured graph.
struct Seen {
  Seen(const CudaHeadArgs& args, int64_t num_tokens)
      : rows(args.row_ids, args.row_ids + *args.num_rows) {
    for (int64_t m = 0; m < num_tokens && args.tail_capacity > 0; ++m) {
      tails.emplace_back(args.tail_ids + args.tail_indptr[m],
                         args.tail_ids + args.tail_indptr[m + 1]);
    }
  }
  std::vector<int32_t> rows;
  std::vector<std::vector<int32_t>> tails;
};

CudaHeadArgs Pointers(const DeviceSelection& selection) {
  CudaHeadArgs args;
  selection.Fill(args);
  return args;
}

TEST(DeviceSelectionTest, FixedArraysFollowManagerAndTails) {
  constexpr uint32_t kSeed = 801;
  std::mt19937 rng(kSeed);
  const auto manager = Manager({7, 3, 150, 299, 20}, /*dynamic_capacity=*/6);
  DeviceSelection selection(/*row_capacity=*/11, /*tail_capacity=*/3, at::kCPU);
  const CudaHeadArgs captured = Pointers(selection);
  std::vector<RequestTail> tails(4, RequestTail(/*capacity=*/3));
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " round " + std::to_string(round));
    if (round % 3 != 0) {  // else the set stays
      ASSERT_TRUE(manager->Add(Ids({static_cast<int32_t>(rng() % kVocab)})).ok());
    }
    if (round == 100) {
      auto base = VocabBase::Create(Ids({1, 2, 4, 8}), kVocab);
      ASSERT_TRUE(manager->ReplaceBase(*base).ok());
    }
    const std::shared_ptr<const ActiveVocab> active = manager->Active();
    const int64_t num_tokens = 1 + rng() % 4;
    std::vector<std::span<const int32_t>> of_tokens;
    for (int64_t m = 0; m < num_tokens; ++m) {
      RequestTail& tail = tails[rng() % 4];
      tail.Reconcile(*active);
      tail.Add(Ids({static_cast<int32_t>(rng() % kVocab)}), *active);
    }
    for (RequestTail& tail : tails) tail.Reconcile(*active);
    for (int64_t m = 0; m < num_tokens; ++m) of_tokens.push_back(tails[rng() % 4].ids());
    if (round % 5 == 0) of_tokens.clear();
    const absl::Status status = selection.Set(*active, of_tokens, num_tokens);
    ASSERT_TRUE(status.ok()) << status;

    const Seen seen(captured, num_tokens);
    EXPECT_THAT(seen.rows, ElementsAreArray(active->rows()));
    for (int64_t m = 0; m < num_tokens; ++m) {
      const auto expected = of_tokens.empty() ? std::span<const int32_t>() : of_tokens[m];
      EXPECT_THAT(seen.tails[m], ElementsAreArray(expected));
    }
  }
}

TEST(DeviceSelectionTest, RejectsOverflowUnwritten) {
  const auto manager = Manager({7, 3, 150}, /*dynamic_capacity=*/6);
  DeviceSelection selection(/*row_capacity=*/4, /*tail_capacity=*/2, at::kCPU);
  RequestTail two(/*capacity=*/2), three(/*capacity=*/3);
  two.Add(Ids({10, 11}), *manager->Active());
  three.Add(Ids({12, 13, 14}), *manager->Active());
  const std::vector<std::span<const int32_t>> good = {two.ids(), two.ids()},
                                              bad = {two.ids(), three.ids()};
  ASSERT_TRUE(selection.Set(*manager->Active(), good, 2).ok());
  const Seen before(Pointers(selection), 2);

  absl::Status status = selection.Set(*manager->Active(), bad, 2);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("3 rows for a capacity of 2"));
  ASSERT_TRUE(manager->Add(Ids({20, 21})).ok());
  status = selection.Set(*manager->Active(), good, 2);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("5 tokens for a capacity of 4"));

  const Seen after(Pointers(selection), 2);
  EXPECT_EQ(after.rows, before.rows);
  EXPECT_EQ(after.tails, before.tails);
}

TEST(DeviceSelectionTest, ZeroTailCapacityMeansNoTails) {
  const auto manager = Manager({7, 3}, /*dynamic_capacity=*/0);
  DeviceSelection selection(/*row_capacity=*/2, /*tail_capacity=*/0, at::kCPU);
  const RequestTail empty(/*capacity=*/0);
  const std::vector<std::span<const int32_t>> tails = {empty.ids()};
  ASSERT_TRUE(selection.Set(*manager->Active(), tails, 1).ok());
  const CudaHeadArgs args = Pointers(selection);
  EXPECT_EQ(args.tail_indptr, nullptr);
  EXPECT_THAT(Seen(args, 1).rows, ElementsAreArray({3, 7}));
}

}  // namespace
}  // namespace shortlist

// A head with rows for some tokens alone answers like one with all rows over the same tokens.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "head/pruned_head.h"
#include "tests/support/matrices.h"
#include "tests/support/normal_values.h"

namespace shortlist {
namespace {

using testing::HasSubstr;

constexpr int64_t kVocab = 157, kHidden = 40, kTokens = 3;

std::vector<TokenId> Tokens(std::span<const int32_t> ids) {
  std::vector<TokenId> tokens;
  for (const int32_t id : ids) tokens.push_back(TokenId{id});
  return tokens;
}

/// Two heads with the same rows for the same tokens; `all` has rows for the others too.
class HeadRowsTest : public testing::Test {
 protected:
  HeadRowsTest() : weight_(Bf16Of(NormalValues(1, kVocab * kHidden))) {
    std::vector<int32_t> ids;
    for (int32_t id = 2; id < kVocab; id += 3) {
      ids.push_back(id);
      const auto row = weight_.begin() + id * kHidden;
      rows_.insert(rows_.end(), row, row + kHidden);
    }
    head_rows_ = *HeadRows::Create(ids, kVocab);
    all_.emplace(
        *PrunedHead::Create({weight_.data(), DType::kBf16, kVocab, kHidden}, kVocab, pool_));
    some_.emplace(*PrunedHead::Create({rows_.data(), DType::kBf16, head_rows_->size(), kHidden},
                                      head_rows_->size(), pool_, head_rows_));
  }

  /// The vocabulary of the first 7 tokens with a row, and two dynamic ones.
  std::shared_ptr<const ActiveVocab> Active(std::shared_ptr<const HeadRows> of) const {
    const auto base = *VocabBase::Create(Tokens(head_rows_->ids().first(7)), kVocab,
                                         /*successors=*/{}, /*max_successors=*/0, std::move(of));
    return std::make_shared<ActiveVocab>(/*version=*/1, base, std::vector<int32_t>{92, 62});
  }
  HeadInput input() const { return {states_.data(), kTokens}; }

  ThreadPool pool_{2};
  const std::vector<uint16_t> weight_;
  std::vector<uint16_t> rows_;
  const std::vector<float> states_ = NormalValues(2, kTokens* kHidden);
  std::shared_ptr<const HeadRows> head_rows_;
  std::optional<PrunedHead> all_, some_;
};

void ExpectSame(const TokenLogits& a, const TokenLogits& b) {
  for (int64_t m = 0; m < kTokens; ++m) {
    ASSERT_EQ(a.ids[m].size(), b.ids[m].size());
    std::vector<int32_t> ids_a, ids_b;
    a.ids[m].CopyTo(ids_a);
    b.ids[m].CopyTo(ids_b);
    EXPECT_EQ(ids_a, ids_b);
    for (int32_t row = 0; row < a.ids[m].size(); ++row) {
      EXPECT_EQ(std::bit_cast<uint32_t>(a.of_token(m)[row]),
                std::bit_cast<uint32_t>(b.of_token(m)[row]));
      EXPECT_EQ(a.ids[m].TokenAt(DraftId{row}), b.ids[m].TokenAt(DraftId{row}));
      EXPECT_EQ(b.ids[m].Find(b.ids[m].TokenAt(DraftId{row})), DraftId{row});
    }
    for (int32_t id = -1; id <= kVocab; ++id) {
      if (id < 0 || id >= kVocab) continue;
      EXPECT_EQ(a.ids[m].Find(TokenId{id}), b.ids[m].Find(TokenId{id}));
    }
  }
}

void ExpectSame(const std::vector<PrunedHead::Best>& a, const std::vector<PrunedHead::Best>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].id, b[i].id);
    EXPECT_EQ(a[i].logit, b[i].logit);
    EXPECT_EQ(a[i].probability, b[i].probability);
  }
}

TEST_F(HeadRowsTest, ActiveVocabularyAndTailsAreScoredAlike) {
  const std::vector<int32_t> tail = {155, 32};
  const std::vector<std::span<const int32_t>> tails = {tail, {}, std::span(tail).first(1)};
  const auto of_all = Active(nullptr), of_some = Active(head_rows_);
  ExpectSame(*all_->Logits(input(), {*of_all, tails}), *some_->Logits(input(), {*of_some, tails}));
  ExpectSame(*all_->Argmax(input(), {*of_all, tails}), *some_->Argmax(input(), {*of_some, tails}));
  const std::vector<HeadDraw> noise = {{.temperature = 0.8, .seed = 5, .position = 9},
                                       {},
                                       {.temperature = 1.5, .seed = 6, .position = 2}};
  for (const std::span<const HeadDraw> draws : {std::span<const HeadDraw>(), std::span(noise)}) {
    ExpectSame(*all_->TopK(input(), {*of_all, tails}, /*k=*/4, {draws}),
               *some_->TopK(input(), {*of_some, tails}, /*k=*/4, {draws}));
  }
  EXPECT_EQ(*all_->RowLogits(input(), Tokens(std::vector<int32_t>{2, 92, 155})),
            *some_->RowLogits(input(), Tokens(std::vector<int32_t>{2, 92, 155})));
}

TEST_F(HeadRowsTest, FullHeadIsAllTokensWithRow) {
  const auto base = *VocabBase::Create(Tokens(head_rows_->ids()), kVocab);
  const ActiveVocab of_all(/*version=*/1, base, {});
  const ActiveVocab full(/*version=*/0, *VocabBase::FullHead(kVocab, head_rows_), {});
  ExpectSame(*all_->Logits(input(), {of_all}), *some_->Logits(input(), {full}));
  ExpectSame(*all_->Argmax(input(), {of_all}), *some_->Argmax(input(), {full}));
  const std::vector<HeadDraw> noise(kTokens, {.temperature = 0.9, .seed = 3, .position = 4});
  ExpectSame(*all_->TopK(input(), {of_all}, /*k=*/5, {noise}),
             *some_->TopK(input(), {full}, /*k=*/5, {noise}));
  EXPECT_TRUE(some_->Scores(TokenId{2}));
  EXPECT_FALSE(some_->Scores(TokenId{3}));
  EXPECT_FALSE(some_->Scores(TokenId{-1}));
  EXPECT_FALSE(some_->Scores(TokenId{kVocab}));
}

TEST_F(HeadRowsTest, TokensWithoutRowAreRejected) {
  const auto base = *VocabBase::Create(Tokens(std::vector<int32_t>{2, 3}), kVocab);
  const ActiveVocab foreign(/*version=*/1, base, {});
  const auto argmax = some_->Argmax(input(), {foreign});
  ASSERT_FALSE(argmax.ok());
  EXPECT_THAT(std::string(argmax.status().message()),
              HasSubstr("token id 3 has none of the 52 rows"));
  const std::vector<int32_t> tail = {4};
  const std::vector<std::span<const int32_t>> tails(kTokens, tail);
  EXPECT_FALSE(some_->Argmax(input(), {*Active(head_rows_), tails}).ok());
  EXPECT_FALSE(some_->RowLogits(input(), Tokens(std::vector<int32_t>{2, 3, 5})).ok());
  EXPECT_FALSE(PrunedHead::Create({rows_.data(), DType::kBf16, head_rows_->size() - 1, kHidden},
                                  /*num_rows=*/1, pool_, head_rows_)
                   .ok());
}

}  // namespace
}  // namespace shortlist

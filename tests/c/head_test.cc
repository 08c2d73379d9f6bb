#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "c/shortlist.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using ::testing::HasSubstr;

constexpr int64_t kVocabSize = 300, kHidden = 24, kTokens = 3;

class CHeadTest : public testing::Test {
 protected:
  CHeadTest() : weight_(kVocabSize * kHidden), hidden_(kTokens * kHidden) {
    std::mt19937 rng(1);
    std::normal_distribution<float> normal;
    for (float& value : weight_) value = normal(rng);
    for (float& value : hidden_) value = normal(rng);
    std::vector<int32_t> base;
    for (int32_t id = 0; id < kVocabSize; id += 7) base.push_back(id);
    EXPECT_EQ(shortlist_vocab_create(base.data(), std::ssize(base), kVocabSize, 10, &vocab_),
              SHORTLIST_OK);
    EXPECT_EQ(shortlist_vocab_snapshot(vocab_, &snapshot_), SHORTLIST_OK);
    EXPECT_EQ(shortlist_head_create(weight_.data(), SHORTLIST_F32, kVocabSize, kHidden,
                                    /*num_threads=*/2, &head_),
              SHORTLIST_OK);
  }
  ~CHeadTest() override {
    EXPECT_EQ(shortlist_head_free(head_), SHORTLIST_OK);
    EXPECT_EQ(shortlist_snapshot_free(snapshot_), SHORTLIST_OK);
    EXPECT_EQ(shortlist_vocab_free(vocab_), SHORTLIST_OK);
  }

  /// All tokens over the snapshot, each with its tail.
  shortlist_states States() const {
    return {hidden_.data(), kTokens, snapshot_, tail_begin_.data(), tail_ids_.data()};
  }
  /// The token ids of a token's rows.
  std::vector<int32_t> RowIds(int64_t token) const {
    const int32_t* ids = nullptr;
    int64_t num_rows = 0;
    EXPECT_EQ(shortlist_snapshot_rows(snapshot_, nullptr, &ids, &num_rows), SHORTLIST_OK);
    std::vector<int32_t> rows(ids, ids + num_rows);
    rows.insert(rows.end(), tail_ids_.begin() + tail_begin_[token],
                tail_ids_.begin() + tail_begin_[token + 1]);
    return rows;
  }
  double Logit(int64_t token, int32_t id) const {
    double sum = 0;
    for (int64_t k = 0; k < kHidden; ++k) {
      sum += double{hidden_[token * kHidden + k]} * weight_[id * kHidden + k];
    }
    return sum;
  }
  void ExpectError(shortlist_status got, shortlist_status want, const std::string& text) const {
    EXPECT_EQ(got, want);
    EXPECT_THAT(shortlist_last_error(), HasSubstr(text));
  }

  std::vector<float> weight_, hidden_;
  std::vector<int64_t> tail_begin_ = {0, 2, 2, 5};
  std::vector<int32_t> tail_ids_ = {1, 2, 8, 299, 100};
  shortlist_vocab* vocab_ = nullptr;
  shortlist_snapshot* snapshot_ = nullptr;
  shortlist_head* head_ = nullptr;
};

TEST_F(CHeadTest, LogitsArgmaxAndTopKMatchRows) {
  const shortlist_states states = States();
  constexpr int64_t kStride = 60, kK = 5;
  std::vector<float> logits(kTokens * kStride), best_logits(kTokens), top_logits(kTokens * kK),
      sums(kTokens);
  std::vector<int32_t> best(kTokens), top(kTokens * kK);
  ASSERT_EQ(shortlist_head_logits(head_, &states, logits.data(), kStride), SHORTLIST_OK);
  ASSERT_EQ(shortlist_head_argmax(head_, &states, best.data(), best_logits.data()), SHORTLIST_OK);
  ASSERT_EQ(shortlist_head_top_k(head_, &states, kK, top.data(), top_logits.data(), sums.data()),
            SHORTLIST_OK);
  for (int64_t m = 0; m < kTokens; ++m) {
    std::vector<int32_t> ids = RowIds(m);
    double sum = 0;
    for (size_t row = 0; row < ids.size(); ++row) {
      EXPECT_NEAR(logits[m * kStride + row], Logit(m, ids[row]), 1e-4) << m << " " << row;
      sum += std::exp(Logit(m, ids[row]));
    }
    for (int64_t row = std::ssize(ids); row < kStride; ++row) {
      EXPECT_EQ(logits[m * kStride + row], -std::numeric_limits<float>::infinity());
    }
    EXPECT_NEAR(sums[m], std::log(sum), 1e-4);
    std::sort(ids.begin(), ids.end(),
              [&](int32_t a, int32_t b) { return Logit(m, a) > Logit(m, b); });
    EXPECT_EQ(best[m], ids[0]);
    EXPECT_EQ(best_logits[m], top_logits[m * kK]);
    for (int64_t i = 0; i < kK; ++i) EXPECT_EQ(top[m * kK + i], ids[i]) << m << " " << i;
  }
}

TEST_F(CHeadTest, WithoutSnapshotFullHeadIsScored) {
  const shortlist_states states = {hidden_.data(), kTokens, nullptr, nullptr, nullptr};
  std::vector<float> logits(kTokens * kVocabSize);
  ASSERT_EQ(shortlist_head_logits(head_, &states, logits.data(), kVocabSize), SHORTLIST_OK);
  EXPECT_NEAR(logits[2 * kVocabSize + 17], Logit(2, 17), 1e-4);
}

TEST_F(CHeadTest, NanGivesNoToken) {
  std::fill(hidden_.begin(), hidden_.end(), std::numeric_limits<float>::quiet_NaN());
  const shortlist_states states = States();
  std::vector<int32_t> best(kTokens);
  ASSERT_EQ(shortlist_head_argmax(head_, &states, best.data(), nullptr), SHORTLIST_OK);
  EXPECT_THAT(best, testing::Each(-1));
}

TEST_F(CHeadTest, BadArgumentsAreNamed) {
  std::vector<int32_t> ids(kTokens * 40);
  std::vector<float> logits(kTokens * kVocabSize);
  shortlist_states states = States();
  ExpectError(shortlist_head_argmax(nullptr, &states, ids.data(), nullptr),
              SHORTLIST_INVALID_ARGUMENT, "head is null");
  ExpectError(shortlist_head_argmax(head_, nullptr, ids.data(), nullptr),
              SHORTLIST_INVALID_ARGUMENT, "states is null");
  ExpectError(shortlist_head_argmax(head_, &states, nullptr, nullptr), SHORTLIST_INVALID_ARGUMENT,
              "ids is null");
  for (const int64_t k : {int64_t{-1}, int64_t{0}, int64_t{33}, INT64_MAX}) {
    ExpectError(shortlist_head_top_k(head_, &states, k, ids.data(), logits.data(), nullptr),
                SHORTLIST_INVALID_ARGUMENT, std::to_string(k));
  }
  ExpectError(shortlist_head_logits(head_, &states, logits.data(), 10), SHORTLIST_OUT_OF_RANGE,
              "stride 10 < 46 rows");
  states.num_tokens = -1;
  ExpectError(shortlist_head_argmax(head_, &states, ids.data(), nullptr),
              SHORTLIST_INVALID_ARGUMENT, "num_tokens -1");
  states = States();
  states.hidden = nullptr;
  ExpectError(shortlist_head_argmax(head_, &states, ids.data(), nullptr),
              SHORTLIST_INVALID_ARGUMENT, "hidden is null");
  states = States();
  states.tail_ids = nullptr;
  ExpectError(shortlist_head_argmax(head_, &states, ids.data(), nullptr),
              SHORTLIST_INVALID_ARGUMENT, "tail_ids is null");
}

TEST_F(CHeadTest, BadTailsAreNamed) {
  std::vector<int32_t> ids(kTokens);
  shortlist_states states = States();
  const auto expect = [&](std::vector<int64_t> begin, std::vector<int32_t> tails,
                          const std::string& text) {
    states.tail_begin = begin.data();
    states.tail_ids = tails.data();
    ExpectError(shortlist_head_argmax(head_, &states, ids.data(), nullptr),
                SHORTLIST_INVALID_ARGUMENT, text);
  };
  expect({1, 2, 2, 2}, {1, 2}, "tail_begin[0] is 1");
  expect({0, 2, 1, 2}, {1, 2}, "tail_begin[2] 1");
  expect({0, INT64_MAX, INT64_MAX, INT64_MAX}, {1}, "tail_begin[1]");
  expect({0, 1, 1, 1}, {300}, "300");
  expect({0, 1, 1, 1}, {-1}, "-1");
}

TEST_F(CHeadTest, EachIdIsScoredOnce) {
  const auto argmax = [&] {
    std::vector<int32_t> ids(kTokens);
    const shortlist_states states = States();
    return shortlist_head_argmax(head_, &states, ids.data(), nullptr);
  };
  tail_begin_ = {0, 2, 2, 3};
  tail_ids_ = {1, 2, 1};  // two tokens may have the same
  EXPECT_EQ(argmax(), SHORTLIST_OK);
  tail_ids_ = {2, 2, 1};
  EXPECT_EQ(argmax(), SHORTLIST_INVALID_ARGUMENT);
  EXPECT_STREQ(shortlist_last_error(), "tail of token 0: id 2 comes twice");
  tail_ids_ = {1, 2, 14};
  EXPECT_EQ(argmax(), SHORTLIST_INVALID_ARGUMENT);
  EXPECT_STREQ(shortlist_last_error(), "tail of token 2: id 14 is in the snapshot");
}

TEST_F(CHeadTest, TailMayNameRowsBeyondSnapshotVocabulary) {
  const std::vector<int32_t> few = {0, 3};
  shortlist_vocab* vocab = nullptr;
  shortlist_snapshot* snapshot = nullptr;
  ASSERT_EQ(shortlist_vocab_create(few.data(), std::ssize(few), /*vocab_size=*/10, 0, &vocab),
            SHORTLIST_OK);
  ASSERT_EQ(shortlist_vocab_snapshot(vocab, &snapshot), SHORTLIST_OK);
  const std::vector<int64_t> begin = {0, 1};
  const std::vector<int32_t> tail = {kVocabSize - 1};
  const shortlist_states states = {hidden_.data(), 1, snapshot, begin.data(), tail.data()};
  int32_t id = 0;
  EXPECT_EQ(shortlist_head_argmax(head_, &states, &id, nullptr), SHORTLIST_OK);
  int32_t want = 0;
  for (const int32_t other : {few[1], tail[0]}) {
    if (Logit(0, other) > Logit(0, want)) want = other;
  }
  EXPECT_EQ(id, want);
  EXPECT_EQ(shortlist_snapshot_free(snapshot), SHORTLIST_OK);
  EXPECT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
}

TEST_F(CHeadTest, FullHeadHasAllRows) {
  shortlist_vocab* vocab = nullptr;
  shortlist_snapshot* full = nullptr;
  ASSERT_EQ(shortlist_vocab_open("full", kVocabSize - 1, nullptr, 0, &vocab), SHORTLIST_OK);
  ASSERT_EQ(shortlist_vocab_snapshot(vocab, &full), SHORTLIST_OK);
  const shortlist_states states = {hidden_.data(), 1, full, nullptr, nullptr};
  int32_t id = 0;
  EXPECT_EQ(shortlist_head_argmax(head_, &states, &id, nullptr), SHORTLIST_INVALID_ARGUMENT);
  EXPECT_STREQ(shortlist_last_error(),
               "the snapshot is the full head of 299 tokens, and the head has 300 rows");
  EXPECT_EQ(shortlist_snapshot_free(full), SHORTLIST_OK);
  EXPECT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
}

TEST_F(CHeadTest, FreeWaitsForConcurrentCalls) {
  constexpr int64_t kManyTokens = 2000;
  std::vector<float> weight = weight_;
  const std::vector<float> hidden(kManyTokens * kHidden, 0.5f);
  shortlist_head* head = nullptr;
  ASSERT_EQ(shortlist_head_create(weight.data(), SHORTLIST_F32, kVocabSize, kHidden, 2, &head),
            SHORTLIST_OK);
  std::atomic<bool> begun = false;
  std::thread caller([&] {
    std::vector<int32_t> ids(kManyTokens);
    const shortlist_states states = {hidden.data(), kManyTokens, nullptr, nullptr, nullptr};
    while (shortlist_head_argmax(head, &states, ids.data(), nullptr) == SHORTLIST_OK) begun = true;
    EXPECT_THAT(shortlist_last_error(), HasSubstr("freed"));
  });
  while (!begun) std::this_thread::yield();
  EXPECT_EQ(shortlist_head_free(head), SHORTLIST_OK);
  weight = {};  // AddressSanitizer reports a call that still reads it
  caller.join();
}

TEST_F(CHeadTest, ForkedProcessMayOnlyFreeHead) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int32_t id = 0;
    const shortlist_states states = {hidden_.data(), 1, nullptr, nullptr, nullptr};
    const bool refused =
        shortlist_head_argmax(head_, &states, &id, nullptr) == SHORTLIST_FAILED_PRECONDITION;
    _exit(refused && shortlist_head_free(head_) == SHORTLIST_OK ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(CHeadTest, MismatchedWeightIsNamed) {
  shortlist_head* head = nullptr;
  const auto make = [&](const void* weight, int dtype, int64_t vocab_size, int64_t hidden,
                        int32_t num_threads) {
    return shortlist_head_create(weight, static_cast<shortlist_dtype>(dtype), vocab_size, hidden,
                                 num_threads, &head);
  };
  const float* const weight = weight_.data();
  ExpectError(make(nullptr, 0, 10, 8, 1), SHORTLIST_INVALID_ARGUMENT, "null");
  ExpectError(make(weight, 3, 10, 8, 1), SHORTLIST_INVALID_ARGUMENT, "dtype 3");
  ExpectError(make(weight, 0, 0, 8, 1), SHORTLIST_INVALID_ARGUMENT, "vocab_size 0");
  ExpectError(make(weight, 0, INT64_MAX, 8, 1), SHORTLIST_INVALID_ARGUMENT, "vocab_size");
  ExpectError(make(weight, 0, 10, -8, 1), SHORTLIST_INVALID_ARGUMENT, "hidden -8");
  ExpectError(make(weight, 0, 10, 8, 0), SHORTLIST_INVALID_ARGUMENT, "num_threads 0");
  ExpectError(make(weight, 0, 10, 8, 100000), SHORTLIST_INVALID_ARGUMENT, "num_threads 100000");
  EXPECT_EQ(head, nullptr);
}

TEST_F(CHeadTest, SnapshotOfLargerVocabularyIsRejected) {
  const int32_t id = 5000;
  shortlist_vocab* vocab = nullptr;
  ASSERT_EQ(shortlist_vocab_create(&id, 1, 6000, 0, &vocab), SHORTLIST_OK);
  shortlist_states states = States();
  shortlist_snapshot* snapshot = nullptr;
  ASSERT_EQ(shortlist_vocab_snapshot(vocab, &snapshot), SHORTLIST_OK);
  states.snapshot = snapshot;
  std::vector<int32_t> ids(kTokens);
  ExpectError(shortlist_head_argmax(head_, &states, ids.data(), nullptr),
              SHORTLIST_INVALID_ARGUMENT, "5000");
  EXPECT_EQ(shortlist_snapshot_free(snapshot), SHORTLIST_OK);
  ExpectError(shortlist_head_argmax(head_, &states, ids.data(), nullptr),
              SHORTLIST_INVALID_ARGUMENT, "snapshot");
  EXPECT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
}

}  // namespace

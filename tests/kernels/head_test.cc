#include "kernels/head.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A head, hidden states, and a random choice of rows, packed rows and tails over them.
struct Fixture {
  Fixture(std::mt19937& rng, DType dtype, int64_t vocab_size, int64_t hidden, int64_t num_tokens)
      : weight(RandomFloats(rng, vocab_size * hidden), dtype, hidden),
        x(RandomFloats(rng, num_tokens * hidden)) {
    full.weight = weight.bytes.data();
    full.dtype = dtype;
    full.vocab_size = vocab_size;
    full.hidden = hidden;
    full.x = x.data();
    full.num_tokens = num_tokens;
    full.num_rows = vocab_size;

    std::vector<int32_t> shuffled(vocab_size);
    std::iota(shuffled.begin(), shuffled.end(), 0);
    std::shuffle(shuffled.begin(), shuffled.end(), rng);
    const int64_t num_shared = RandomInt(rng, 0, vocab_size);
    row_ids.assign(shuffled.begin(), shuffled.begin() + num_shared);
    packed.resize(num_shared * weight.row_bytes);
    for (int64_t s = 0; s < num_shared; ++s) {
      std::memcpy(&packed[s * weight.row_bytes], weight.row(row_ids[s]), weight.row_bytes);
    }
    tail_indptr = {0};
    for (int64_t m = 0; m < num_tokens; ++m) {
      const int64_t tail_len = RandomInt(rng, 0, vocab_size - num_shared);
      std::shuffle(shuffled.begin() + num_shared, shuffled.end(), rng);
      tail_ids.insert(tail_ids.end(), shuffled.begin() + num_shared,
                      shuffled.begin() + num_shared + tail_len);
      tail_indptr.push_back(static_cast<int32_t>(tail_ids.size()));
    }
    pruned = full;
    pruned.row_ids = row_ids.data();
    pruned.num_rows = num_shared;
    pruned.tail_indptr = tail_indptr.data();
    pruned.tail_ids = tail_ids.data();
    pruned_packed = pruned;
    pruned_packed.packed = packed.data();
    pruned_packed.num_packed = RandomInt(rng, 0, num_shared);
  }

  StoredRows weight;
  std::vector<float> x;
  std::vector<int32_t> row_ids, tail_indptr, tail_ids;
  std::vector<char> packed;
  HeadArgs full, pruned, pruned_packed;
};

int64_t NumRows(const HeadArgs& args, int64_t token) {
  const int32_t* tails = args.tail_indptr;
  return args.num_rows + (tails != nullptr ? tails[token + 1] - tails[token] : 0);
}

std::vector<float> Logits(const HeadArgs& args, int num_threads = 1, int64_t extra_stride = 0) {
  ThreadPool pool(num_threads);
  const int64_t stride = HeadMaxRows(args) + extra_stride;
  std::vector<float> logits(args.num_tokens * stride, -7.0f);
  HeadLogitsCpu(args, logits.data(), stride, pool);
  return logits;
}

struct TopK {
  std::vector<int32_t> ids;
  std::vector<float> logits, log_sum_exp;
};

TopK RunTopK(const HeadArgs& args, int64_t k, int num_threads = 1) {
  ThreadPool pool(num_threads);
  TopK top{std::vector<int32_t>(args.num_tokens * k, -9), std::vector<float>(args.num_tokens * k),
           std::vector<float>(args.num_tokens)};
  HeadTopKCpu(args, k, top.ids.data(), top.logits.data(), top.log_sum_exp.data(), pool);
  return top;
}

TopK TopKOfLogits(const HeadArgs& args, const std::vector<float>& logits, int64_t k) {
  TopK top{std::vector<int32_t>(args.num_tokens * k, -9), std::vector<float>(args.num_tokens * k),
           std::vector<float>(args.num_tokens)};
  for (int64_t m = 0; m < args.num_tokens; ++m) {
    HeadTopKOfLogitsCpu(args, m, logits.data() + m * HeadMaxRows(args), k, &top.ids[m * k],
                        &top.logits[m * k], &top.log_sum_exp[m]);
  }
  return top;
}

struct Argmax {
  std::vector<int32_t> ids;
  std::vector<float> logits;
};

Argmax RunArgmax(const HeadArgs& args, int num_threads = 1) {
  ThreadPool pool(num_threads);
  Argmax best{std::vector<int32_t>(args.num_tokens, -9), std::vector<float>(args.num_tokens)};
  HeadArgmaxCpu(args, best.ids.data(), best.logits.data(), pool);
  return best;
}

/// One token's candidates, those with a logit above -infinity, sorted by their definition. `logits`
/// are Logits(args).
std::vector<std::pair<float, int32_t>> SortedRows(const HeadArgs& args,
                                                  const std::vector<float>& logits, int64_t token) {
  const int64_t stride = HeadMaxRows(args);
  std::vector<std::pair<float, int32_t>> rows;
  for (int64_t s = 0; s < NumRows(args, token); ++s) {
    const float logit = logits[token * stride + s];
    if (logit > -kInf) rows.emplace_back(logit, HeadTokenId(args, token, s));
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  return rows;
}

/// Calls body(fixture, description) over random shapes, dtypes and every instruction set.
template <typename Body>
void ForRandomHeads(uint32_t seed, int num_rounds, Body&& body) {
  std::mt19937 rng(seed);
  for (int round = 0; round < num_rounds; ++round) {
    const int64_t hidden = RandomInt(rng, 1, 200);
    const int64_t vocab_size = round % 4 == 0 ? RandomInt(rng, 1, 9) : RandomInt(rng, 10, 700);
    const int64_t num_tokens = round % 18;
    for (const DType dtype : kWeightDTypes) {
      const Fixture fixture(rng, dtype, vocab_size, hidden, num_tokens);
      for (const Isa isa : SupportedIsas()) {
        const ScopedIsa scoped(isa);
        SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round << " "
                                        << Describe(isa, dtype) << " tokens " << num_tokens
                                        << " vocab " << vocab_size << " hidden " << hidden);
        ASSERT_NO_FATAL_FAILURE(body(fixture));
      }
    }
  }
}

TEST(HeadTest, LogitsMatchDoublePrecision) {
  ForRandomHeads(/*seed=*/1, /*num_rounds=*/36, [](const Fixture& f) {
    const std::vector<float> logits = Logits(f.full);
    for (int64_t m = 0; m < f.full.num_tokens; ++m) {
      for (int64_t n = 0; n < f.full.vocab_size; ++n) {
        const ExactDot exact =
            DotOracle(&f.x[m * f.full.hidden], &f.weight.values[n * f.full.hidden], f.full.hidden,
                      f.full.dtype);
        ASSERT_NEAR(logits[m * f.full.vocab_size + n], exact.value, exact.tolerance);
      }
    }
  });
}

/// A shape of real size: hidden 64 .. 8,192 with odd tails, 1 .. 64 tokens, 1 .. 151,936 rows, the
/// products of which a test can compute.
struct LargeShape {
  explicit LargeShape(std::mt19937& rng, bool largest_set) {
    if (largest_set) {
      hidden = 67, vocab_size = 151936, num_tokens = 2;
      return;
    }
    const auto log_uniform = [&rng](double low, double high) {
      return static_cast<int64_t>(
          std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high + 1))(rng)));
    };
    hidden = log_uniform(64, 8192);
    vocab_size = log_uniform(1, static_cast<double>((1 << 20) / hidden));
    num_tokens = RandomInt(rng, 1, 64);
  }
  int64_t hidden, vocab_size, num_tokens;
};

// Every row is compared between the ways to read it, a sample of them with the oracle.
TEST(HeadTest, LargeShapesAreExactForAnyLayoutAndThreads) {
  const uint32_t seed = 6;
  std::mt19937 rng(seed);
  for (int round = 0; round < 12; ++round) {
    const LargeShape shape(rng, /*largest_set=*/round == 0);
    for (const DType dtype : kWeightDTypes) {
      const Fixture f(rng, dtype, shape.vocab_size, shape.hidden, shape.num_tokens);
      for (const Isa isa : SupportedIsas()) {
        if (isa == Isa::kScalar) continue;  // too slow; the oracle does not need it
        const ScopedIsa scoped(isa);
        SCOPED_TRACE(testing::Message()
                     << "seed " << seed << " round " << round << " " << Describe(isa, dtype)
                     << " tokens " << shape.num_tokens << " vocab " << shape.vocab_size
                     << " hidden " << shape.hidden);
        const std::vector<float> full = Logits(f.full, /*num_threads=*/2);
        const std::vector<float> pruned = Logits(f.pruned, /*num_threads=*/3);
        ASSERT_TRUE(SameBits(full, Logits(f.full)));
        ASSERT_TRUE(SameBits(pruned, Logits(f.pruned_packed, /*num_threads=*/2)));
        const TopK top = RunTopK(f.pruned_packed, /*k=*/8, /*num_threads=*/2);
        const int64_t stride = HeadMaxRows(f.pruned);
        for (int64_t m = 0; m < shape.num_tokens; ++m) {
          for (int64_t s = 0; s < NumRows(f.pruned, m); ++s) {
            const int32_t id = HeadTokenId(f.pruned, m, s);
            ASSERT_EQ(pruned[m * stride + s], full[m * shape.vocab_size + id]);
          }
          const auto expected = SortedRows(f.pruned, pruned, m);
          for (int64_t i = 0; i < 8; ++i) {
            const bool present = i < static_cast<int64_t>(expected.size());
            ASSERT_EQ(top.ids[m * 8 + i], present ? expected[i].second : -1);
          }
        }
        for (int sample = 0; sample < 50; ++sample) {
          const int64_t m = RandomInt(rng, 0, shape.num_tokens - 1);
          const int64_t id = RandomInt(rng, 0, shape.vocab_size - 1);
          const ExactDot exact =
              DotOracle(&f.x[m * shape.hidden], &f.weight.values[id * shape.hidden], shape.hidden,
                        dtype, /*num_epsilons=*/4);
          ASSERT_NEAR(full[m * shape.vocab_size + id], exact.value, exact.tolerance);
        }
      }
    }
  }
}

// The same kernel over the unit and over loops (tests/kernels/tiles_test.cc).
TEST(HeadTest, AmxMatchesPlainTileBits) {
  if (DetectIsa() != Isa::kAmx) GTEST_SKIP() << "no AMX on this machine";
  std::mt19937 rng(9);
  for (const int64_t num_tokens : {1, 6, 16, 35}) {
    for (const int64_t hidden : {5, 64, 200}) {
      const Fixture f(rng, DType::kBf16, /*vocab_size=*/300, hidden, num_tokens);
      const std::vector<float> unit = Logits(f.full), pruned = Logits(f.pruned_packed);
      const ScopedIsa plain(Isa::kAmxPlain);
      EXPECT_TRUE(SameBits(unit, Logits(f.full))) << num_tokens << " hidden " << hidden;
      EXPECT_TRUE(SameBits(pruned, Logits(f.pruned_packed))) << num_tokens << " hidden " << hidden;
    }
  }
}

TEST(HeadTest, RowBitsAreIndependentOfLayout) {
  ForRandomHeads(/*seed=*/2, /*num_rounds=*/36, [](const Fixture& f) {
    const std::vector<float> full = Logits(f.full);
    const int64_t stride = HeadMaxRows(f.pruned);
    const std::vector<float> pruned = Logits(f.pruned);
    ASSERT_TRUE(SameBits(pruned, Logits(f.pruned_packed)));
    for (int64_t m = 0; m < f.full.num_tokens; ++m) {
      for (int64_t s = 0; s < stride; ++s) {
        const float logit = pruned[m * stride + s];
        if (s >= NumRows(f.pruned, m)) {
          ASSERT_EQ(logit, -kInf);
          continue;
        }
        const int32_t id = HeadTokenId(f.pruned, m, s);
        ASSERT_EQ(logit, full[m * f.full.vocab_size + id]);
        if (s % 7 == 0 || s >= f.pruned.num_rows) {
          ASSERT_EQ(logit, HeadDotCpu(f.weight.row(id), f.full.dtype, &f.x[m * f.full.hidden],
                                      f.full.hidden));
        }
      }
    }
  });
}

TEST(HeadTest, TokenBitsAreIndependentOfBatchAndThreads) {
  ForRandomHeads(/*seed=*/3, /*num_rounds=*/18, [](const Fixture& f) {
    const std::vector<float> all = Logits(f.pruned_packed);
    const TopK top = RunTopK(f.pruned_packed, /*k=*/5);
    for (const int num_threads : {2, 3, 5}) {
      ASSERT_TRUE(SameBits(all, Logits(f.pruned_packed, num_threads)));
      const TopK other = RunTopK(f.pruned_packed, /*k=*/5, num_threads);
      ASSERT_EQ(top.ids, other.ids);
      ASSERT_TRUE(SameBits(top.logits, other.logits));
      ASSERT_TRUE(SameBits(top.log_sum_exp, other.log_sum_exp));
      ASSERT_EQ(RunArgmax(f.pruned_packed).ids, RunArgmax(f.pruned_packed, num_threads).ids);
    }
    const int64_t stride = HeadMaxRows(f.pruned);
    for (int64_t m = 0; m < f.full.num_tokens; ++m) {
      HeadArgs one = f.pruned_packed;
      one.x += m * one.hidden;
      one.num_tokens = 1;
      const int32_t begin = f.tail_indptr[m];
      const std::vector<int32_t> indptr = {0, f.tail_indptr[m + 1] - begin};
      one.tail_indptr = indptr.data();
      one.tail_ids = f.tail_ids.data() + begin;
      const std::vector<float> alone = Logits(one);
      ASSERT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + m * stride));
      const TopK top_alone = RunTopK(one, /*k=*/5, /*num_threads=*/2);
      ASSERT_TRUE(std::equal(top_alone.ids.begin(), top_alone.ids.end(), top.ids.begin() + m * 5));
      ASSERT_EQ(top_alone.log_sum_exp[0], top.log_sum_exp[m]);
    }
  });
}

TEST(HeadTest, ArgmaxAndTopKMatchASort) {
  ForRandomHeads(/*seed=*/4, /*num_rounds=*/18, [](const Fixture& f) {
    for (const HeadArgs& args : {f.full, f.pruned, f.pruned_packed}) {
      const Argmax best = RunArgmax(args, /*num_threads=*/2);
      const std::vector<float> logits = Logits(args);
      for (const int64_t k : {1, 8, 1000}) {
        const TopK top = RunTopK(args, k, /*num_threads=*/2);
        const TopK of_logits = TopKOfLogits(args, logits, k);
        ASSERT_EQ(of_logits.ids, top.ids);
        ASSERT_EQ(of_logits.logits, top.logits);
        ASSERT_EQ(of_logits.log_sum_exp, top.log_sum_exp);
        for (int64_t m = 0; m < args.num_tokens; ++m) {
          const auto expected = SortedRows(args, logits, m);
          for (int64_t i = 0; i < k; ++i) {
            const bool present = i < static_cast<int64_t>(expected.size());
            ASSERT_EQ(top.ids[m * k + i], present ? expected[i].second : -1);
            ASSERT_EQ(top.logits[m * k + i], present ? expected[i].first : -kInf);
          }
          double sum = 0;
          for (const auto& [logit, id] : expected) sum += std::exp(static_cast<double>(logit));
          if (expected.empty()) {
            ASSERT_EQ(top.log_sum_exp[m], -kInf);
            ASSERT_EQ(best.ids[m], -1);
            ASSERT_EQ(best.logits[m], -kInf);
          } else {
            ASSERT_NEAR(top.log_sum_exp[m], std::log(sum), 1e-5 * (1 + std::abs(std::log(sum))));
            ASSERT_EQ(best.ids[m], expected[0].second);
            ASSERT_EQ(best.logits[m], expected[0].first);
          }
        }
      }
    }
  });
}

/// A head of hidden size 1 whose logits are `rows` for x = 1.
HeadArgs ScalarHead(const std::vector<float>& rows, const float& one) {
  HeadArgs args;
  args.weight = rows.data();
  args.vocab_size = static_cast<int64_t>(rows.size());
  args.hidden = 1;
  args.x = &one;
  args.num_tokens = 1;
  args.num_rows = args.vocab_size;
  return args;
}

TEST(HeadTest, TiesGoToLowerId) {
  std::vector<float> rows(1000, 0.0f);
  for (const int id : {17, 300, 301, 999}) rows[id] = 2.0f;
  const float one = 1;
  HeadArgs args = ScalarHead(rows, one);
  const std::vector<int32_t> row_ids = {999, 5, 301, 4, 300};
  const std::vector<int32_t> tail_indptr = {0, 2};
  const std::vector<int32_t> tail_ids = {1, 17};
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    args = ScalarHead(rows, one);
    EXPECT_EQ(RunArgmax(args, /*num_threads=*/3).ids[0], 17);
    EXPECT_EQ(RunTopK(args, /*k=*/6, /*num_threads=*/3).ids,
              (std::vector<int32_t>{17, 300, 301, 999, 0, 1}));
    args.row_ids = row_ids.data();
    args.num_rows = 5;
    args.tail_indptr = tail_indptr.data();
    args.tail_ids = tail_ids.data();
    EXPECT_EQ(RunArgmax(args).ids[0], 17);
    EXPECT_EQ(RunTopK(args, /*k=*/8).ids, (std::vector<int32_t>{17, 300, 301, 999, 1, 4, 5, -1}));
  }
}

TEST(HeadTest, NanAndMinusInfinityAreNeverChosen) {
  const float one = 1;
  std::vector<float> rows(600, kNan);
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    for (const float none : {kNan, -kInf}) {
      std::fill(rows.begin(), rows.end(), none);
      const HeadArgs args = ScalarHead(rows, one);
      EXPECT_EQ(RunArgmax(args).ids[0], -1);
      EXPECT_EQ(RunArgmax(args).logits[0], -kInf);
      TopK top = RunTopK(args, /*k=*/2, /*num_threads=*/2);
      EXPECT_EQ(top.ids, (std::vector<int32_t>{-1, -1}));
      EXPECT_EQ(top.logits, (std::vector<float>{-kInf, -kInf}));
      EXPECT_EQ(top.log_sum_exp[0], -kInf);

      rows[333] = -4.0f;
      EXPECT_EQ(RunArgmax(args).ids[0], 333);
      top = RunTopK(args, /*k=*/2, /*num_threads=*/2);
      EXPECT_EQ(top.ids, (std::vector<int32_t>{333, -1}));
      EXPECT_EQ(top.logits[1], -kInf);
      EXPECT_FLOAT_EQ(top.log_sum_exp[0], -4.0f);
    }
  }
}

TEST(HeadTest, NanStateChoosesNothingAndAffectsNoOther) {
  const std::vector<float> rows = {1.0f, 3.0f, 2.0f};
  const std::vector<float> states = {kNan, 1.0f, -kInf};
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    HeadArgs args = ScalarHead(rows, states[0]);
    args.num_tokens = 3;
    EXPECT_EQ(RunArgmax(args).ids, (std::vector<int32_t>{-1, 1, -1}));
    EXPECT_EQ(RunTopK(args, /*k=*/2).ids, (std::vector<int32_t>{-1, -1, 1, 2, -1, -1}));
  }
}

TEST(HeadTest, InfiniteLogitsAreOrdered) {
  const float one = 1;
  const std::vector<float> rows = {1.0f, kInf, -kInf, kInf};
  const HeadArgs args = ScalarHead(rows, one);
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    EXPECT_EQ(RunArgmax(args).ids[0], 1);
    const TopK top = RunTopK(args, /*k=*/4);
    EXPECT_EQ(top.ids, (std::vector<int32_t>{1, 3, 0, -1}));
    EXPECT_EQ(top.log_sum_exp[0], kInf);
  }
}

TEST(HeadTest, LogSumExpDoesNotOverflow) {
  const float one = 1;
  std::vector<float> rows(2000, -1000.0f);
  rows[3] = 1000.0f;
  rows[1500] = 1000.0f;
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    EXPECT_FLOAT_EQ(RunTopK(ScalarHead(rows, one), /*k=*/1).log_sum_exp[0],
                    1000.0f + std::log(2.0f));
  }
}

TEST(HeadTest, LogitsFillWholeStride) {
  std::mt19937 rng(5);
  const Fixture f(rng, DType::kBf16, /*vocab_size=*/300, /*hidden=*/16, /*num_tokens=*/3);
  const int64_t stride = HeadMaxRows(f.pruned) + 9;
  const std::vector<float> logits = Logits(f.pruned, /*num_threads=*/2, /*extra_stride=*/9);
  for (int64_t m = 0; m < 3; ++m) {
    for (int64_t s = NumRows(f.pruned, m); s < stride; ++s)
      ASSERT_EQ(logits[m * stride + s], -kInf);
  }
}

TEST(HeadTest, NoTokensTouchNothing) {
  ThreadPool pool(2);
  const HeadArgs args;
  HeadLogitsCpu(args, nullptr, /*stride=*/0, pool);
  HeadArgmaxCpu(args, nullptr, nullptr, pool);
  HeadTopKCpu(args, /*k=*/1, nullptr, nullptr, nullptr, pool);
  EXPECT_EQ(HeadMaxRows(args), 0);
}

}  // namespace
}  // namespace shortlist

#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {
namespace {

struct Shape {
  int64_t num_heads;
  int64_t num_kv_heads;
  int64_t head_dim;
};

constexpr Shape kShapes[] = {{1, 1, 1},  {4, 2, 8},   {6, 1, 24}, {14, 2, 64},
                             {3, 3, 33}, {5, 1, 130}, {8, 1, 96}, {20, 1, 32}};
constexpr int64_t kNumSlots = 700;

/// A cache of random content and the layout of a batch, built token by token.
class Batch {
 public:
  Batch(const Batch&) = delete;
  Batch(const Shape& shape, DType dtype)
      : shape_(shape),
        width_(shape.num_kv_heads * shape.head_dim),
        keys_(kNumSlots * width_ * DTypeBytes(dtype)),
        values_(keys_.size()) {
    cache_ = {keys_.data(), values_.data(), dtype, shape.num_kv_heads, shape.head_dim};
  }

  void Store(int32_t slot, const std::vector<float>& key, const std::vector<float>& value) {
    ThreadPool pool(1);
    StoreKvCpu(cache_, key.data(), value.data(), width_, &slot, /*num_tokens=*/1, pool);
  }

  void AddSequence(const std::vector<int32_t>& slots) {
    kv_slots_.insert(kv_slots_.end(), slots.begin(), slots.end());
    kv_indptr_.push_back(static_cast<int32_t>(kv_slots_.size()));
  }

  void AddToken(int32_t sequence, int32_t context_len, const std::vector<float>& q,
                const std::vector<int32_t>& tail = {}) {
    seq_of_token_.push_back(sequence);
    context_len_.push_back(context_len);
    q_.insert(q_.end(), q.begin(), q.end());
    tail_slots_.insert(tail_slots_.end(), tail.begin(), tail.end());
    tail_indptr_.push_back(static_cast<int32_t>(tail_slots_.size()));
  }

  std::vector<float> Run(int num_threads = 1, bool with_tails = true, int64_t window = 0) const {
    const AttentionLayout layout = {
        .num_tokens = static_cast<int64_t>(seq_of_token_.size()),
        .seq_of_token = seq_of_token_.data(),
        .kv_indptr = kv_indptr_.data(),
        .kv_slots = kv_slots_.data(),
        .context_len = context_len_.data(),
        .tail_indptr = with_tails ? tail_indptr_.data() : nullptr,
        .tail_slots = tail_slots_.data(),
        .window = window,
    };
    ThreadPool pool(num_threads);
    const int64_t row = shape_.num_heads * shape_.head_dim;
    std::vector<float> out(layout.num_tokens * row, -7.0f);
    AttentionCpu(cache_, layout, q_.data(), row, shape_.num_heads, Scale(), out.data(), pool);
    return out;
  }

  /// Token `t` head `h` in double precision, from what the cache holds.
  std::vector<double> Oracle(int64_t t, int64_t h) const {
    std::vector<int32_t> seen(context_len_[t]);
    std::copy_n(kv_slots_.begin() + kv_indptr_[seq_of_token_[t]], context_len_[t], seen.begin());
    seen.insert(seen.end(), tail_slots_.begin() + tail_indptr_[t],
                tail_slots_.begin() + tail_indptr_[t + 1]);
    const int64_t kv_head = h / (shape_.num_heads / shape_.num_kv_heads);
    std::vector<double> out(shape_.head_dim);
    double total = 0;
    for (const int32_t slot : seen) {
      double score = 0;
      for (int64_t i = 0; i < shape_.head_dim; ++i) {
        const int64_t at = slot * width_ + kv_head * shape_.head_dim + i;
        float q = q_[(t * shape_.num_heads + h) * shape_.head_dim + i];
        if (cache_.dtype == DType::kBf16) q = Bf16ToFloat(FloatToBf16(q));
        score += static_cast<double>(q) * LoadAsFloat(keys_.data(), cache_.dtype, at);
      }
      const double weight = std::exp(score * Scale());
      total += weight;
      for (int64_t i = 0; i < shape_.head_dim; ++i) {
        const int64_t at = slot * width_ + kv_head * shape_.head_dim + i;
        out[i] += weight * LoadAsFloat(values_.data(), cache_.dtype, at);
      }
    }
    for (double& value : out) value /= total;
    return out;
  }

  int64_t width() const { return width_; }

 private:
  float Scale() const { return 1.0f / std::sqrt(static_cast<float>(shape_.head_dim)); }

  const Shape shape_;
  const int64_t width_;
  std::vector<char> keys_, values_;
  KvLayer cache_;
  std::vector<int32_t> seq_of_token_, kv_indptr_ = {0}, kv_slots_, context_len_;
  std::vector<int32_t> tail_indptr_ = {0}, tail_slots_;
  std::vector<float> q_;
};

std::vector<int32_t> RandomSlots(std::mt19937& rng, int64_t count) {
  std::vector<int32_t> slots(kNumSlots);
  std::iota(slots.begin(), slots.end(), 0);
  std::shuffle(slots.begin(), slots.end(), rng);
  slots.resize(count);
  return slots;
}

/// The tokens of one sequence, to be laid out in different ways.
struct Sequence {
  Sequence(std::mt19937& rng, const Shape& shape, int64_t length) {
    for (int64_t i = 0; i < length; ++i) {
      queries.push_back(RandomFloats(rng, shape.num_heads * shape.head_dim));
      keys.push_back(RandomFloats(rng, shape.num_kv_heads * shape.head_dim));
      values.push_back(RandomFloats(rng, shape.num_kv_heads * shape.head_dim));
    }
  }
  int32_t length() const { return static_cast<int32_t>(queries.size()); }
  void StoreInto(Batch& batch, const std::vector<int32_t>& slots) const {
    for (int32_t i = 0; i < length(); ++i) batch.Store(slots[i], keys[i], values[i]);
  }
  std::vector<std::vector<float>> queries, keys, values;
};

template <typename Body>
void ForShapes(Body&& body) {
  for (const Shape& shape : kShapes) {
    for (const DType dtype : kAllDTypes) {
      for (const Isa isa : SupportedIsas()) {
        const ScopedIsa scoped(isa);
        SCOPED_TRACE(testing::Message() << Describe(isa, dtype) << " heads " << shape.num_heads
                                        << "/" << shape.num_kv_heads << " dim " << shape.head_dim);
        ASSERT_NO_FATAL_FAILURE(body(shape, dtype));
      }
    }
  }
}

/// All tokens of `sequence` in one chunk, at `slots`.
std::vector<float> RunWhole(const Sequence& sequence, const Shape& shape, DType dtype,
                            const std::vector<int32_t>& slots, int num_threads = 1) {
  Batch batch(shape, dtype);
  sequence.StoreInto(batch, slots);
  batch.AddSequence(slots);
  for (int32_t i = 0; i < sequence.length(); ++i) batch.AddToken(0, i + 1, sequence.queries[i]);
  return batch.Run(num_threads, /*with_tails=*/false);
}

TEST(AttentionTest, MatchesDoublePrecision) {
  std::mt19937 rng(1);
  ForShapes([&](const Shape& shape, DType dtype) {
    Batch batch(shape, dtype);
    const Sequence first(rng, shape, 139);
    const Sequence second(rng, shape, 5);
    const std::vector<int32_t> slots = RandomSlots(rng, 144);
    first.StoreInto(batch, slots);
    const std::vector<int32_t> second_slots(slots.begin() + 139, slots.end());
    second.StoreInto(batch, second_slots);
    batch.AddSequence({slots.begin(), slots.begin() + 139});
    batch.AddSequence(second_slots);
    for (const int32_t i : {0, 2, 3, 4, 16, 138}) batch.AddToken(0, i + 1, first.queries[i]);
    batch.AddToken(1, 5, second.queries[4]);
    batch.AddToken(0, 7, first.queries[9], /*tail=*/{slots[20], slots[9]});
    batch.AddToken(1, 0, second.queries[0], /*tail=*/{second_slots[3]});
    const std::vector<float> out = batch.Run(/*num_threads=*/2);
    for (int64_t t = 0; t < 9; ++t) {
      for (int64_t h = 0; h < shape.num_heads; ++h) {
        const std::vector<double> exact = batch.Oracle(t, h);
        for (int64_t i = 0; i < shape.head_dim; ++i) {
          ASSERT_NEAR(out[(t * shape.num_heads + h) * shape.head_dim + i], exact[i], 2e-5);
        }
      }
    }
  });
}

TEST(AttentionTest, ChunksAndDecodeGiveSameBits) {
  std::mt19937 rng(2);
  ForShapes([&](const Shape& shape, DType dtype) {
    const Sequence sequence(rng, shape, 87);
    const std::vector<int32_t> slots = RandomSlots(rng, 87);
    const std::vector<float> whole = RunWhole(sequence, shape, dtype, slots);
    for (const int num_threads : {2, 3, 5}) {
      ASSERT_TRUE(SameBits(whole, RunWhole(sequence, shape, dtype, slots, num_threads)));
    }
    for (const int32_t chunk : {1, 5, 16}) {
      std::vector<float> joined;
      for (int32_t begin = 0; begin < 87; begin += chunk) {
        const int32_t end = std::min(begin + chunk, 87);
        Batch step(shape, dtype);  // the slots of later tokens are still empty
        for (int32_t i = 0; i < end; ++i)
          step.Store(slots[i], sequence.keys[i], sequence.values[i]);
        step.AddSequence({slots.begin(), slots.begin() + end});
        for (int32_t i = begin; i < end; ++i) step.AddToken(0, i + 1, sequence.queries[i]);
        const std::vector<float> part = step.Run();
        joined.insert(joined.end(), part.begin(), part.end());
      }
      ASSERT_TRUE(SameBits(whole, joined)) << "chunk " << chunk;
    }
  });
}

TEST(AttentionTest, PlainTilesMatchAmxBits) {
  if (DetectIsa() != Isa::kAmx) GTEST_SKIP() << "no matrix unit";
  std::mt19937 rng(7);
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{7, 1, 64}, Shape{4, 2, 80}, Shape{2, 2, 128},
                             Shape{3, 3, 33}, Shape{17, 1, 32}}) {
    for (const int64_t length : {1, 2, 31, 32, 33, 64, 150}) {
      const Sequence sequence(rng, shape, length);
      const std::vector<int32_t> slots = RandomSlots(rng, length);
      std::vector<float> out[2];
      for (const bool plain : {false, true}) {
        const ScopedIsa scoped(plain ? Isa::kAmxPlain : Isa::kAmx);
        out[plain] = RunWhole(sequence, shape, DType::kBf16, slots, /*num_threads=*/2);
      }
      ASSERT_TRUE(SameBits(out[0], out[1])) << "dim " << shape.head_dim << ", length " << length;
    }
  }
}

TEST(AttentionTest, LaterTokensNeverCount) {
  std::mt19937 rng(8);
  ForShapes([&](const Shape& shape, DType dtype) {
    constexpr int32_t kLength = 40, kSpoiled = 35;
    Sequence sequence(rng, shape, kLength);
    const std::vector<int32_t> slots = RandomSlots(rng, kLength);
    const std::vector<float> clean = RunWhole(sequence, shape, dtype, slots);
    for (int32_t i = kSpoiled; i < kLength; ++i) {
      sequence.keys[i].assign(sequence.keys[i].size(), std::nanf(""));
      sequence.values[i].back() = -INFINITY;
      sequence.queries[i][0] = INFINITY;
    }
    const std::vector<float> spoiled = RunWhole(sequence, shape, dtype, slots);
    const int64_t seen = kSpoiled * shape.num_heads * shape.head_dim;
    ASSERT_TRUE(
        SameBits({clean.begin(), clean.begin() + seen}, {spoiled.begin(), spoiled.begin() + seen}));
    ASSERT_TRUE(std::isnan(spoiled[seen]));
  });
}

TEST(AttentionTest, UnderflowedWeightsLeaveNoSign) {
  std::mt19937 rng(9);
  const Shape shape = {1, 1, 32};
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    // The second token's exponentials of the first position are too small for bf16 products with
    // its value; all its other inputs are 0.
    Sequence sequence(rng, shape, 3);
    sequence.keys = {std::vector<float>(32, 0.0f), std::vector<float>(32, 1.9f),
                     std::vector<float>(32, 0.0f)};
    sequence.values = {std::vector<float>(32, -1e-3f), std::vector<float>(32, 0.0f),
                       std::vector<float>(32, -1.0f)};
    for (std::vector<float>& query : sequence.queries) query.assign(32, 8.0f);
    const std::vector<int32_t> slots = {0, 1, 2};
    const std::vector<float> whole = RunWhole(sequence, shape, DType::kBf16, slots);
    Batch alone(shape, DType::kBf16);
    sequence.StoreInto(alone, slots);
    alone.AddSequence({0, 1});
    alone.AddToken(0, 2, sequence.queries[1]);
    ASSERT_TRUE(SameBits({whole.begin() + 32, whole.begin() + 64}, alone.Run())) << IsaName(isa);
  }
}

TEST(AttentionTest, SlotsMayBePermuted) {
  std::mt19937 rng(3);
  ForShapes([&](const Shape& shape, DType dtype) {
    const Sequence sequence(rng, shape, 29);
    std::vector<int32_t> ordered(29);
    std::iota(ordered.begin(), ordered.end(), 0);
    ASSERT_TRUE(SameBits(RunWhole(sequence, shape, dtype, ordered),
                         RunWhole(sequence, shape, dtype, RandomSlots(rng, 29))));
  });
}

TEST(AttentionTest, TreePathEqualsPlainChain) {
  std::mt19937 rng(4);
  ForShapes([&](const Shape& shape, DType dtype) {
    constexpr int32_t kPrefix = 18;
    const Sequence sequence(rng, shape, kPrefix + 3);
    const Sequence siblings(rng, shape, 3);
    const std::vector<int32_t> slots = RandomSlots(rng, kPrefix + 6);
    const std::vector<float> whole = RunWhole(sequence, shape, dtype, slots);
    Batch batch(shape, dtype);
    sequence.StoreInto(batch, slots);
    siblings.StoreInto(batch, {slots.end() - 3, slots.end()});
    batch.AddSequence({slots.begin(), slots.begin() + kPrefix});
    std::vector<int32_t> path;
    for (int32_t depth = 0; depth < 3; ++depth) {
      std::vector<int32_t> sibling_path = path;
      sibling_path.push_back(slots[kPrefix + 3 + depth]);
      batch.AddToken(0, kPrefix, siblings.queries[depth], sibling_path);
      path.push_back(slots[kPrefix + depth]);
      batch.AddToken(0, kPrefix, sequence.queries[kPrefix + depth], path);
    }
    const std::vector<float> tree = batch.Run(/*num_threads=*/2);
    const int64_t row = shape.num_heads * shape.head_dim;
    for (int32_t depth = 0; depth < 3; ++depth) {
      const auto node = tree.begin() + (2 * depth + 1) * row;
      ASSERT_TRUE(SameBits({node, node + row}, {whole.begin() + (kPrefix + depth) * row,
                                                whole.begin() + (kPrefix + depth + 1) * row}));
    }
  });
}

TEST(AttentionTest, WindowEqualsShortenedSequence) {
  std::mt19937 rng(6);
  ForShapes([&](const Shape& shape, DType dtype) {
    constexpr int32_t kLength = 45;
    const Sequence sequence(rng, shape, kLength);
    const std::vector<int32_t> slots = RandomSlots(rng, kLength);
    // A node after 40 of the prefix sees them, its three ancestors and itself.
    const std::vector<int32_t> tail(slots.begin() + 40, slots.begin() + 44);
    for (const int32_t window : {1, 3, 4, 7, 20, 44, 45, 100}) {
      Batch windowed(shape, dtype), cut(shape, dtype);
      sequence.StoreInto(windowed, slots);
      sequence.StoreInto(cut, slots);
      windowed.AddSequence(slots);
      for (int32_t t = 0; t <= kLength; ++t) {
        const bool is_node = t == kLength;
        const int32_t num_positions = is_node ? 44 : t + 1;
        const int32_t first = std::max(num_positions - window, 0);
        cut.AddSequence({slots.begin() + first, slots.begin() + num_positions});
        cut.AddToken(t, num_positions - first, sequence.queries[is_node ? 43 : t]);
        if (is_node) {
          windowed.AddToken(0, 40, sequence.queries[43], tail);
        } else {
          windowed.AddToken(0, t + 1, sequence.queries[t]);
        }
      }
      for (const int num_threads : {1, 3}) {
        ASSERT_TRUE(SameBits(windowed.Run(num_threads, /*with_tails=*/true, window), cut.Run()))
            << "window " << window;
      }
    }
  });
}

TEST(AttentionTest, LargeScoresStayFinite) {
  const Shape shape = {1, 1, 8};
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    Batch batch(shape, DType::kF32);
    batch.Store(0, std::vector<float>(8, 1000.0f), std::vector<float>(8, 3.0f));
    batch.Store(1, std::vector<float>(8, -1000.0f), std::vector<float>(8, 5.0f));
    batch.AddSequence({0, 1});
    batch.AddToken(0, 2, std::vector<float>(8, 1000.0f));
    for (const float value : batch.Run()) EXPECT_EQ(value, 3.0f);
  }
}

TEST(AttentionTest, StoreWritesChosenSlotsOnly) {
  std::mt19937 rng(5);
  const Shape shape = {3, 3, 11};
  const int64_t width = 33;
  ThreadPool pool(2);
  for (const DType dtype : kAllDTypes) {
    for (const Isa isa : SupportedIsas()) {
      const ScopedIsa scoped(isa);
      const int64_t num_tokens = 40;
      const int64_t stride = 2 * width + 3;  // keys and values side by side in fused rows
      const std::vector<float> rows = RandomFloats(rng, num_tokens * stride);
      const std::vector<int32_t> slots = RandomSlots(rng, num_tokens);
      std::vector<char> keys(kNumSlots * width * DTypeBytes(dtype));
      std::vector<char> values(keys.size());
      const KvLayer cache = {keys.data(), values.data(), dtype, shape.num_kv_heads, shape.head_dim};
      StoreKvCpu(cache, rows.data(), rows.data() + width, stride, slots.data(), num_tokens, pool);

      std::vector<char> expected_keys(keys.size()), expected_values(keys.size());
      for (int64_t t = 0; t < num_tokens; ++t) {
        for (int64_t i = 0; i < width; ++i) {
          const int64_t at = slots[t] * width + i;
          StoreFromFloat(expected_keys.data(), dtype, at, rows[t * stride + i]);
          StoreFromFloat(expected_values.data(), dtype, at, rows[t * stride + width + i]);
        }
      }
      EXPECT_EQ(keys, expected_keys) << Describe(isa, dtype);
      EXPECT_EQ(values, expected_values) << Describe(isa, dtype);
    }
  }
}

TEST(AttentionTest, NoTokensTouchNothing) {
  ThreadPool pool(2);
  StoreKvCpu({}, nullptr, nullptr, /*row_stride=*/0, nullptr, /*num_tokens=*/0, pool);
  KvLayer cache;
  cache.num_kv_heads = 1;
  cache.head_dim = 8;
  AttentionCpu(cache, {}, nullptr, /*q_stride=*/8, /*num_heads=*/1, /*scale=*/1.0f, nullptr, pool);
}

}  // namespace
}  // namespace shortlist

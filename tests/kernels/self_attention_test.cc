#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {
namespace {

constexpr int64_t kNumSlots = 400;
constexpr int64_t kPositions = 128;
constexpr float kEpsilon = 1e-5f;

struct Shape {
  int64_t num_heads;
  int64_t num_kv_heads;
  int64_t head_dim;
};

// With 2 threads, or 3, heads are shared out from the projection on or not, by their sizes.
constexpr Shape kShapes[] = {{1, 1, 2}, {4, 2, 8}, {6, 1, 24}, {4, 4, 64}, {3, 3, 32}, {14, 2, 66}};
constexpr int64_t kHidden = 40;

/// The optional steps of a projection.
enum class Steps {
  kPlain,
  kByHead,    // biases, a norm of each head, rotation of a part
  kAllHeads,  // biases, a norm of all heads, scaled queries, no rotation
};

/// Sequences of chains (and one tree) over a cache of random content.
struct Batch {
  Batch(const Shape& shape_of_it, DType dtype, const std::vector<int64_t>& prefix_lens,
        const std::vector<int64_t>& chunk_lens, bool with_tree, std::mt19937& rng)
      : shape(shape_of_it), cache_dtype(dtype) {
    std::vector<int32_t> free(kNumSlots);
    std::iota(free.begin(), free.end(), 0);
    std::shuffle(free.begin(), free.end(), rng);
    const auto take = [&free] {
      const int32_t slot = free.back();
      free.pop_back();
      return slot;
    };
    for (size_t s = 0; s < chunk_lens.size(); ++s) {
      for (int64_t i = 0; i < prefix_lens[s]; ++i) kv_slots.push_back(take());
      const bool tree = with_tree && s == 0;
      for (int64_t i = 0; i < chunk_lens[s]; ++i) {
        const int32_t slot = take();
        if (tree) {  // every node hangs on the prefix
          tail_slots.push_back(slot);
        } else {
          kv_slots.push_back(slot);
        }
        out_slots.push_back(slot);
        seq_of_token.push_back(static_cast<int32_t>(s));
        context_len.push_back(static_cast<int32_t>(prefix_lens[s] + (tree ? 0 : i + 1)));
        positions.push_back(static_cast<int32_t>(RandomInt(rng, 0, kPositions - 1)));
        tail_indptr.push_back(static_cast<int32_t>(tail_slots.size()));
      }
      kv_indptr.push_back(static_cast<int32_t>(kv_slots.size()));
    }
    x = RandomFloats(rng, num_tokens() * kHidden);
    input_norm = RandomFloats(rng, kHidden);
    projection = RandomFloats(rng, width() * kHidden);
    rows.resize(num_tokens() * width());
    bias = RandomFloats(rng, width());
    query_norm = RandomFloats(rng, shape.num_heads * shape.head_dim);
    key_norm = RandomFloats(rng, shape.num_kv_heads * shape.head_dim);
    query_scale = RandomFloats(rng, kPositions);
    cos = RandomFloats(rng, kPositions * shape.head_dim / 2);
    sin = RandomFloats(rng, kPositions * shape.head_dim / 2);
    const int64_t elements = kNumSlots * shape.num_kv_heads * shape.head_dim;
    keys.resize(elements * DTypeBytes(dtype));
    values.resize(keys.size());
    const std::vector<float> content = RandomFloats(rng, 2 * elements);
    for (int64_t i = 0; i < elements; ++i) {
      StoreFromFloat(keys.data(), dtype, i, content[i]);
      StoreFromFloat(values.data(), dtype, i, content[elements + i]);
    }
  }

  int64_t num_tokens() const { return static_cast<int64_t>(seq_of_token.size()); }
  int64_t width() const { return (shape.num_heads + 2 * shape.num_kv_heads) * shape.head_dim; }
  /// All of a head, the even part of its first half, or nothing.
  int64_t rotary_dim(Steps steps) const {
    if (steps == Steps::kAllHeads) return 0;
    return steps == Steps::kByHead ? shape.head_dim / 4 * 2 : shape.head_dim;
  }
  KvLayer cache() {
    return {keys.data(), values.data(), cache_dtype, shape.num_kv_heads, shape.head_dim};
  }
  AttentionLayout layout(int64_t window) const {
    return {.num_tokens = num_tokens(),
            .seq_of_token = seq_of_token.data(),
            .kv_indptr = kv_indptr.data(),
            .kv_slots = kv_slots.data(),
            .context_len = context_len.data(),
            .tail_indptr = tail_slots.empty() ? nullptr : tail_indptr.data(),
            .tail_slots = tail_slots.data(),
            .window = window};
  }
  PackedLinear Weight(ThreadPool& pool) const {
    const MatrixView view = {projection.data(), DType::kF32, width()};
    return PackedLinear::Pack({&view, 1}, kHidden, cache_dtype, pool);
  }
  LinearInput input() const { return {x.data(), input_norm.data(), kEpsilon}; }
  QkvProjection qkv(const PackedLinear& weight, Steps steps) {
    const bool is_plain = steps == Steps::kPlain, norms_all = steps == Steps::kAllHeads;
    return {.weight = &weight,
            .input = input(),
            .num_heads = shape.num_heads,
            .bias = is_plain ? nullptr : bias.data(),
            .query_norm = is_plain ? nullptr : query_norm.data(),
            .key_norm = is_plain ? nullptr : key_norm.data(),
            .norms_all_heads = norms_all,
            .norm_epsilon = kEpsilon,
            .rotary_dim = rotary_dim(steps),
            .positions = positions.data(),
            .cos = cos.data(),
            .sin = sin.data(),
            .query_scale = norms_all ? query_scale.data() : nullptr,
            .slots = out_slots.data(),
            .rows = rows.data()};
  }

  Shape shape;
  DType cache_dtype;
  std::vector<int32_t> seq_of_token, kv_indptr = {0}, kv_slots, context_len, tail_indptr = {0};
  std::vector<int32_t> tail_slots, positions, out_slots;
  std::vector<float> x, input_norm, projection, rows, bias, query_norm, key_norm, cos, sin,
      query_scale;
  std::vector<char> keys, values;
};

/// Computes the same in separate steps, rows first, as QkvProjection documents.
std::vector<float> StepByStep(Batch& batch, Steps steps, int64_t window) {
  ThreadPool pool(1);
  const auto [num_heads, num_kv_heads, head_dim] = batch.shape;
  const int64_t width = batch.width(), half = batch.rotary_dim(steps) / 2,
                group = num_heads / num_kv_heads;
  LinearCpu(batch.Weight(pool), batch.input(), batch.num_tokens(), batch.rows.data(),
            /*accumulate=*/false, pool);
  std::vector<float> queries, keys, values;  // [num_tokens, heads, head_dim]
  for (int64_t t = 0; t < batch.num_tokens(); ++t) {
    float* const row = batch.rows.data() + t * width;
    const bool has_bias = steps != Steps::kPlain;
    for (int64_t i = 0; has_bias && i < width; ++i) row[i] += batch.bias[i];
    if (steps == Steps::kAllHeads) {
      // The parts of a kind in one row, and back.
      const auto norm = [&](int64_t first, int64_t count, const std::vector<float>& weight) {
        std::vector<float> joined;
        for (int64_t h = 0; h < num_kv_heads; ++h) {
          const float* const begin = row + (h * (group + 2) + first) * head_dim;
          joined.insert(joined.end(), begin, begin + count * head_dim);
        }
        RmsNormCpu(joined.data(), weight.data(), kEpsilon, /*num_tokens=*/1, std::ssize(joined),
                   joined.data(), pool);
        for (int64_t h = 0; h < num_kv_heads; ++h) {
          std::copy_n(joined.begin() + h * count * head_dim, count * head_dim,
                      row + (h * (group + 2) + first) * head_dim);
        }
      };
      norm(/*first=*/0, group, batch.query_norm);
      norm(/*first=*/group, /*count=*/1, batch.key_norm);
    }
    for (int64_t h = 0; h < num_heads + 2 * num_kv_heads; ++h) {
      float* const head = row + h * head_dim;
      const int64_t part = h % (group + 2);  // of a key/value head
      if (part == group + 1) {
        values.insert(values.end(), head, head + head_dim);
        continue;
      }
      if (steps == Steps::kByHead) {
        RmsNormCpu(head, (part < group ? batch.query_norm : batch.key_norm).data(), kEpsilon,
                   /*num_tokens=*/1, head_dim, head, pool);
      }
      for (int64_t i = 0; i < half; ++i) {
        const float a = head[i], b = head[i + half];
        const float c = batch.cos[batch.positions[t] * half + i];
        const float s = batch.sin[batch.positions[t] * half + i];
        head[i] = a * c - b * s;
        head[i + half] = b * c + a * s;
      }
      for (int64_t i = 0; steps == Steps::kAllHeads && part < group && i < head_dim; ++i) {
        head[i] *= batch.query_scale[batch.positions[t]];
      }
      std::vector<float>& heads = part < group ? queries : keys;
      heads.insert(heads.end(), head, head + head_dim);
    }
  }
  StoreKvCpu(batch.cache(), keys.data(), values.data(), num_kv_heads * head_dim,
             batch.out_slots.data(), batch.num_tokens(), pool);
  std::vector<float> out(batch.num_tokens() * num_heads * head_dim);
  AttentionCpu(batch.cache(), batch.layout(window), queries.data(), num_heads * head_dim, num_heads,
               /*scale=*/0.25f, out.data(), pool);
  return out;
}

struct Work {
  const char* name;
  std::vector<int64_t> prefix_lens, chunk_lens;
  bool with_tree = false;
  int64_t window = 0;
};

class SelfAttentionTest : public testing::TestWithParam<Work> {};

TEST_P(SelfAttentionTest, MatchesSeparateSteps) {
  const Work& work = GetParam();
  std::mt19937 rng(11);
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    for (const Shape& shape : kShapes) {
      for (const DType dtype : kAllDTypes) {
        for (const Steps steps : {Steps::kPlain, Steps::kByHead, Steps::kAllHeads}) {
          const Batch before(shape, dtype, work.prefix_lens, work.chunk_lens, work.with_tree, rng);
          Batch expected = before;
          const std::vector<float> expected_out = StepByStep(expected, steps, work.window);
          for (const int num_threads : {1, 2, 3}) {
            Batch batch = before;
            ThreadPool pool(num_threads);
            const PackedLinear weight = batch.Weight(pool);
            std::vector<float> out(expected_out.size());
            SelfAttentionCpu(batch.cache(), batch.layout(work.window), batch.qkv(weight, steps),
                             /*scale=*/0.25f, out.data(), pool);
            const std::string where = Describe(isa, dtype) + ", head_dim " +
                                      std::to_string(shape.head_dim) + ", threads " +
                                      std::to_string(num_threads);
            ASSERT_TRUE(SameBits(out, expected_out)) << where;
            ASSERT_TRUE(SameBits(batch.rows, expected.rows)) << where;
            ASSERT_EQ(batch.keys, expected.keys) << where;
            ASSERT_EQ(batch.values, expected.values) << where;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Works, SelfAttentionTest,
    testing::Values(Work{"Decode", {30}, {1}}, Work{"FirstToken", {0}, {1}},
                    Work{"Verify", {30}, {6}}, Work{"Sequences", {5, 0, 40, 17}, {4, 1, 9, 1}},
                    Work{"ManySequences", std::vector<int64_t>(20, 3), std::vector<int64_t>(20, 2)},
                    Work{"Chunk", {9}, {70}}, Work{"Tree", {12, 3}, {5, 2}, /*with_tree=*/true},
                    Work{"Window", {30, 2}, {4, 3}, /*with_tree=*/false, /*window=*/16}),
    [](const testing::TestParamInfo<Work>& info) { return std::string(info.param.name); });

TEST(SelfAttentionTest, NoTokensTouchNothing) {
  ThreadPool pool(2);
  KvLayer cache;
  cache.num_kv_heads = 1;
  cache.head_dim = 8;
  SelfAttentionCpu(cache, {}, {.num_heads = 1}, /*scale=*/1.0f, nullptr, pool);
}

}  // namespace
}  // namespace shortlist

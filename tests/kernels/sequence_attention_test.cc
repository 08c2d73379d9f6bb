#include "kernels/sequence_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "gtest/gtest.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {
namespace {

struct Shape {
  int64_t num_heads, head_dim;
};
constexpr Shape kShapes[] = {{1, 1}, {3, 12}, {2, 32}, {2, 33}, {3, 64}, {1, 130}};
constexpr int64_t kRadii[] = {-1, 0, 1, 8, 31, 64, 500};

/// Sequences of random rows, [num_heads, 3, head_dim] a token.
struct Batch {
  Batch(std::mt19937& rng, const Shape& shape_of_it, const std::vector<int64_t>& lengths)
      : shape(shape_of_it) {
    for (const int64_t length : lengths) {
      seq_begin.push_back(seq_begin.back() + static_cast<int32_t>(length));
    }
    const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    rows = RandomFloats(rng, seq_begin.back() * width());
    bias = RandomFloats(rng, width());
    cos = RandomFloats(rng, longest * (shape.head_dim / 2));
    sin = RandomFloats(rng, longest * (shape.head_dim / 2));
  }
  int64_t width() const { return 3 * shape.num_heads * shape.head_dim; }
  bool rotates() const { return shape.head_dim % 2 == 0; }

  std::vector<float> Run(int64_t radius, int num_threads, DType dtype) const {
    std::vector<float> overwritten = rows;
    std::vector<float> out(rows.size() / 3, -7.0f);
    ThreadPool pool(num_threads);
    SequenceAttentionCpu({.seq_begin = seq_begin,
                          .num_heads = shape.num_heads,
                          .head_dim = shape.head_dim,
                          .radius = radius,
                          .bias = bias.data(),
                          .cos = rotates() ? cos.data() : nullptr,
                          .sin = rotates() ? sin.data() : nullptr,
                          .scale = Scale(),
                          .dtype = dtype},
                         overwritten.data(), out.data(), pool);
    return out;
  }

  float Scale() const { return 1.0f / std::sqrt(static_cast<float>(shape.head_dim)); }

  /// Query (0), key (1) or value (2) of a head, biased and rotated, in double precision.
  std::vector<double> Head(int64_t seq, int64_t position, int64_t head, int64_t part) const {
    const int64_t dim = shape.head_dim, half = dim / 2;
    const int64_t at = (head * 3 + part) * dim;
    std::vector<double> result(dim);
    for (int64_t d = 0; d < dim; ++d) {
      result[d] =
          static_cast<double>(rows[(seq_begin[seq] + position) * width() + at + d]) + bias[at + d];
    }
    for (int64_t d = 0; rotates() && part < 2 && d < half; ++d) {
      const double a = result[d], b = result[d + half];
      const double c = cos[position * half + d], s = sin[position * half + d];
      result[d] = a * c - b * s;
      result[d + half] = b * c + a * s;
    }
    return result;
  }

  /// One head of one token in double precision.
  std::vector<double> Oracle(int64_t seq, int64_t position, int64_t head, int64_t radius) const {
    const std::vector<double> query = Head(seq, position, head, 0);
    std::vector<double> scores;
    std::vector<int64_t> seen;
    for (int64_t u = 0; u < seq_begin[seq + 1] - seq_begin[seq]; ++u) {
      if (radius >= 0 && std::abs(u - position) > radius) continue;
      const std::vector<double> key = Head(seq, u, head, 1);
      double score = 0;
      for (int64_t d = 0; d < shape.head_dim; ++d) score += query[d] * key[d];
      seen.push_back(u);
      scores.push_back(score * Scale());
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    std::vector<double> out(shape.head_dim);
    double total = 0;
    for (size_t i = 0; i < seen.size(); ++i) {
      const double weight = std::exp(scores[i] - largest);
      total += weight;
      const std::vector<double> value = Head(seq, seen[i], head, 2);
      for (int64_t d = 0; d < shape.head_dim; ++d) out[d] += weight * value[d];
    }
    for (double& value : out) value /= total;
    return out;
  }

  Shape shape;
  std::vector<int32_t> seq_begin = {0};
  std::vector<float> rows, bias, cos, sin;
};

template <typename Body>
void ForShapes(Body&& body) {
  for (const Shape& shape : kShapes) {
    for (const Isa isa : SupportedIsas()) {
      for (const DType dtype : {DType::kF32, DType::kBf16}) {
        const ScopedIsa scoped(isa);
        SCOPED_TRACE(testing::Message() << Describe(isa, dtype) << ", heads " << shape.num_heads
                                        << ", dim " << shape.head_dim);
        ASSERT_NO_FATAL_FAILURE(body(shape, dtype));
      }
    }
  }
}

TEST(SequenceAttentionTest, MatchesDoublePrecision) {
  std::mt19937 rng(1);
  const std::vector<int64_t> lengths = {1, 139, 7, 32};
  ForShapes([&](const Shape& shape, DType dtype) {
    const Batch batch(rng, shape, lengths);
    // Two bf16 keep 17 digits of a number, and scores are tens.
    const double tolerance = dtype == DType::kF32 ? 1e-4 : 1e-3;
    for (const int64_t radius : kRadii) {
      const std::vector<float> out = batch.Run(radius, /*num_threads=*/2, dtype);
      for (int64_t s = 0; s < 4; ++s) {
        for (int64_t t = 0; t < lengths[s]; t += t < 3 || t > 130 ? 1 : 17) {
          for (int64_t h = 0; h < shape.num_heads; ++h) {
            const std::vector<double> exact = batch.Oracle(s, t, h, radius);
            const int64_t at = ((batch.seq_begin[s] + t) * shape.num_heads + h) * shape.head_dim;
            for (int64_t d = 0; d < shape.head_dim; ++d) {
              ASSERT_NEAR(out[at + d], exact[d], tolerance)
                  << "radius " << radius << ", token " << t;
            }
          }
        }
      }
    }
  });
}

TEST(SequenceAttentionTest, SequenceBitsAreIndependentOfBatchAndThreads) {
  std::mt19937 rng(2);
  ForShapes([&](const Shape& shape, DType dtype) {
    const Batch batch(rng, shape, {3, 139, 57});
    for (const int64_t radius : kRadii) {
      const std::vector<float> whole = batch.Run(radius, /*num_threads=*/1, dtype);
      for (const int num_threads : {2, 3, 5}) {
        ASSERT_TRUE(SameBits(batch.Run(radius, num_threads, dtype), whole)) << "radius " << radius;
      }
      for (size_t s = 0; s < 3; ++s) {
        Batch alone = batch;
        const int32_t begin = batch.seq_begin[s], end = batch.seq_begin[s + 1];
        alone.seq_begin = {0, end - begin};
        alone.rows.assign(batch.rows.begin() + begin * batch.width(),
                          batch.rows.begin() + end * batch.width());
        const int64_t width = shape.num_heads * shape.head_dim;
        ASSERT_TRUE(SameBits(alone.Run(radius, /*num_threads=*/2, dtype),
                             {whole.begin() + begin * width, whole.begin() + end * width}));
      }
    }
    ASSERT_TRUE(SameBits(batch.Run(/*radius=*/-1, 2, dtype), batch.Run(/*radius=*/500, 2, dtype)));
  });
}

TEST(SequenceAttentionTest, PlainTilesMatchAmxBits) {
  if (DetectIsa() != Isa::kAmx) GTEST_SKIP() << "no matrix unit";
  std::mt19937 rng(3);
  for (const Shape& shape : kShapes) {
    const Batch batch(rng, shape, {1, 33, 139});
    for (const int64_t radius : kRadii) {
      std::vector<float> out[2];
      for (const bool plain : {false, true}) {
        const ScopedIsa scoped(plain ? Isa::kAmxPlain : Isa::kAmx);
        out[plain] = batch.Run(radius, /*num_threads=*/2, DType::kBf16);
      }
      ASSERT_TRUE(SameBits(out[0], out[1])) << "dim " << shape.head_dim << ", radius " << radius;
    }
  }
}

TEST(SequenceAttentionTest, LargeScoresStayFinite) {
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    const std::vector<int32_t> begin = {0, 2};
    std::vector<float> rows = {1000, 1000, 3, 1000, -1000, 5};  // query, key, value of two tokens
    std::vector<float> out(2);
    ThreadPool pool(1);
    SequenceAttentionCpu({.seq_begin = begin, .num_heads = 1, .head_dim = 1}, rows.data(),
                         out.data(), pool);
    EXPECT_EQ(out, std::vector<float>({3, 3}));
  }
}

TEST(SequenceAttentionTest, NoTokensTouchNothing) {
  ThreadPool pool(2);
  const std::vector<int32_t> begin = {0};
  SequenceAttentionCpu({.seq_begin = begin, .num_heads = 1, .head_dim = 8}, nullptr, nullptr, pool);
}

}  // namespace
}  // namespace shortlist

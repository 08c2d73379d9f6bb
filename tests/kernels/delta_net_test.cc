#include "kernels/delta_net.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/isa.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {
namespace {

constexpr DeltaNetShape kShapes[] = {
    {.num_key_heads = 2, .num_value_heads = 4, .key_dim = 16, .value_dim = 16, .conv_len = 4},
    {.num_key_heads = 1, .num_value_heads = 3, .key_dim = 7, .value_dim = 21, .conv_len = 1},
    {.num_key_heads = 2,
     .num_value_heads = 6,
     .key_dim = 8,
     .value_dim = 20,
     .conv_len = 3,
     .is_tiled = true},
    {.num_key_heads = 3, .num_value_heads = 3, .key_dim = 128, .value_dim = 128, .conv_len = 4},
};

/// A layer of random weights, and random inputs of one sequence.
struct Layer {
  Layer(const DeltaNetShape& shape_of_it, int64_t num_tokens, std::mt19937& rng)
      : shape(shape_of_it), len(num_tokens) {
    conv = RandomFloats(rng, shape.conv_len * shape.num_channels());
    decay_rate = RandomFloats(rng, shape.num_value_heads);
    for (float& rate : decay_rate) rate = std::exp(rate);
    dt_bias = RandomFloats(rng, shape.num_value_heads);
    norm = RandomFloats(rng, shape.value_dim);
    channels = RandomFloats(rng, (shape.conv_len - 1 + len) * shape.num_channels());
    std::fill_n(channels.begin(), (shape.conv_len - 1) * shape.num_channels(), 0.0f);
    gates = RandomFloats(rng, len * 2 * shape.num_value_heads);
    output_gates = RandomFloats(rng, len * shape.value_width());
    state.assign(shape.state_floats(), 0.0f);
  }

  DeltaNetWeights weights() const {
    return {conv.data(), decay_rate.data(), dt_bias.data(), norm.data(), /*norm_epsilon=*/1e-6f};
  }

  /// Runs tokens [begin, end) on the state after `begin` tokens, of which the first num_final stay
  /// and the first num_replayed give no results. Returns the results of the others.
  std::vector<float> Run(int64_t begin, int64_t end, int64_t num_final, int64_t num_replayed,
                         ThreadPool& pool) {
    std::vector<const float*> rows, gate_rows;
    for (int64_t t = begin; t < end + shape.conv_len - 1; ++t) {
      rows.push_back(channels.data() + t * shape.num_channels());
    }
    for (int64_t t = begin; t < end; ++t) {
      gate_rows.push_back(gates.data() + t * 2 * shape.num_value_heads);
    }
    const int64_t first = begin + num_replayed;
    std::vector<float> out((end - first) * shape.value_width());
    const DeltaNetChain chain = {.state = state.data(),
                                 .rows = rows,
                                 .gates = gate_rows,
                                 .num_final = num_final,
                                 .num_replayed = num_replayed,
                                 .output_gates = output_gates.data() + first * shape.value_width(),
                                 .out = out.data()};
    DeltaNetCpu(shape, weights(), {&chain, 1}, pool);
    return out;
  }

  DeltaNetShape shape;
  int64_t len;
  std::vector<float> conv, decay_rate, dt_bias, norm, channels, gates, output_gates, state;
};

/// The formulas of delta_net.h in double precision.
std::vector<double> Exact(const Layer& layer) {
  const DeltaNetShape& shape = layer.shape;
  const int64_t width = shape.num_channels(), keys = shape.num_key_heads * shape.key_dim;
  std::vector<double> out;
  std::vector<std::vector<double>> states(
      shape.num_value_heads, std::vector<double>(shape.key_dim * shape.value_dim, 0.0));
  for (int64_t t = 0; t < layer.len; ++t) {
    std::vector<double> u(width, 0.0);
    for (int64_t c = 0; c < width; ++c) {
      for (int64_t j = 0; j < shape.conv_len; ++j) {
        u[c] +=
            static_cast<double>(layer.conv[j * width + c]) * layer.channels[(t + j) * width + c];
      }
      u[c] /= 1.0 + std::exp(-u[c]);
    }
    for (int64_t j = 0; j < shape.num_value_heads; ++j) {
      const int64_t head = shape.is_tiled ? j % shape.num_key_heads
                                          : j * shape.num_key_heads / shape.num_value_heads;
      std::vector<double> q(u.begin() + head * shape.key_dim,
                            u.begin() + (head + 1) * shape.key_dim);
      std::vector<double> k(u.begin() + keys + head * shape.key_dim,
                            u.begin() + keys + (head + 1) * shape.key_dim);
      const auto norm = [](const std::vector<double>& x) {
        double sum = 1e-6;
        for (const double value : x) sum += value * value;
        return std::sqrt(sum);
      };
      const double q_norm = norm(q) * std::sqrt(static_cast<double>(shape.key_dim));
      const double k_norm = norm(k);
      for (double& value : q) value /= q_norm;
      for (double& value : k) value /= k_norm;
      const float* const gates = layer.gates.data() + t * 2 * shape.num_value_heads;
      const double a = static_cast<double>(gates[j]) + layer.dt_bias[j];
      const double decay = std::exp(-layer.decay_rate[j] * std::log1p(std::exp(a)));
      const double beta =
          1.0 / (1.0 + std::exp(-static_cast<double>(gates[shape.num_value_heads + j])));
      std::vector<double> o(shape.value_dim, 0.0);
      double squares = 0.0;
      for (int64_t c = 0; c < shape.value_dim; ++c) {
        double* const state = states[j].data() + c;
        double product = 0.0;
        for (int64_t r = 0; r < shape.key_dim; ++r) {
          state[r * shape.value_dim] *= decay;
          product += k[r] * state[r * shape.value_dim];
        }
        const double d = beta * (u[2 * keys + j * shape.value_dim + c] - product);
        for (int64_t r = 0; r < shape.key_dim; ++r) {
          state[r * shape.value_dim] += k[r] * d;
          o[c] += q[r] * state[r * shape.value_dim];
        }
        squares += o[c] * o[c];
      }
      const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(shape.value_dim) + 1e-6);
      for (int64_t c = 0; c < shape.value_dim; ++c) {
        const double z = layer.output_gates[t * shape.value_width() + j * shape.value_dim + c];
        out.push_back(o[c] * inverse * layer.norm[c] * z / (1.0 + std::exp(-z)));
      }
    }
  }
  return out;
}

class DeltaNetTest : public testing::TestWithParam<DeltaNetShape> {
 protected:
  static constexpr int64_t kLen = 75;
};

TEST_P(DeltaNetTest, MatchesFormulas) {
  std::mt19937 rng(3);
  const Layer fresh(GetParam(), kLen, rng);
  const std::vector<double> exact = Exact(fresh);
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    ThreadPool pool(2);
    Layer layer = fresh;
    const std::vector<float> out = layer.Run(0, kLen, kLen, /*num_replayed=*/0, pool);
    double largest = 0.0;
    for (const double value : exact) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < exact.size(); ++i) {
      ASSERT_NEAR(out[i], exact[i], 2e-5 * largest) << IsaName(isa) << " " << i;
    }
  }
}

TEST_P(DeltaNetTest, SameBitsForEveryCut) {
  std::mt19937 rng(4);
  const Layer fresh(GetParam(), kLen, rng);
  const int64_t width = GetParam().value_width();
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    ThreadPool one(1), three(3);
    Layer whole = fresh;
    const std::vector<float> expected = whole.Run(0, kLen, kLen, /*num_replayed=*/0, one);
    for (int round = 0; round < 20; ++round) {
      Layer layer = fresh;
      // Tokens before `done` are in the state; those before `end` are computed, the last of them
      // perhaps in vain.
      int64_t done = 0, end = 0;
      while (end < kLen) {
        const int64_t first = RandomInt(rng, done, end);  // what follows was rejected
        end = std::min<int64_t>(kLen, first + RandomInt(rng, 1, round < 10 ? 4 : 40));
        const int64_t num_final = RandomInt(rng, 0, end - done);
        const std::vector<float> out =
            layer.Run(done, end, num_final, first - done, round % 2 == 0 ? one : three);
        const std::vector<float> wanted(expected.begin() + first * width,
                                        expected.begin() + end * width);
        ASSERT_TRUE(SameBits(out, wanted)) << IsaName(isa) << " round " << round;
        done += num_final;
      }
      layer.Run(done, kLen, kLen - done, kLen - done, one);
      ASSERT_TRUE(SameBits(layer.state, whole.state)) << IsaName(isa) << " round " << round;
    }
  }
}

TEST_P(DeltaNetTest, ChainsOfABatchAreIndependent) {
  std::mt19937 rng(5);
  ThreadPool pool(3);
  std::vector<Layer> layers;
  std::vector<std::vector<float>> expected, out;
  Layer first(GetParam(), /*num_tokens=*/9, rng);
  for (int i = 0; i < 4; ++i) {
    Layer next = first;  // the same weights
    next.channels = Layer(GetParam(), 9, rng).channels;
    layers.push_back(next);
    expected.push_back(next.Run(0, 9, 9, /*num_replayed=*/0, pool));
    out.emplace_back(expected.back().size());
  }
  std::vector<std::vector<const float*>> rows(4), gates(4);
  std::vector<DeltaNetChain> chains;
  for (int i = 0; i < 4; ++i) {
    Layer& layer = layers[i];
    for (int64_t t = 0; t < 9 + GetParam().conv_len - 1; ++t) {
      rows[i].push_back(layer.channels.data() + t * GetParam().num_channels());
    }
    for (int64_t t = 0; t < 9; ++t) {
      gates[i].push_back(layer.gates.data() + t * 2 * GetParam().num_value_heads);
    }
    chains.push_back({.state = layer.state.data(),
                      .rows = rows[i],
                      .gates = gates[i],
                      .num_final = 9,
                      .output_gates = layer.output_gates.data(),
                      .out = out[i].data()});
  }
  DeltaNetCpu(GetParam(), first.weights(), chains, pool);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(SameBits(out[i], expected[i])) << i;
  DeltaNetCpu(GetParam(), first.weights(), {}, pool);  // does nothing
}

INSTANTIATE_TEST_SUITE_P(Shapes, DeltaNetTest, testing::ValuesIn(kShapes), [](const auto& info) {
  return "key" + std::to_string(info.param.key_dim);
});

}  // namespace
}  // namespace shortlist

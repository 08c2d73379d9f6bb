#include "kernels/delta_net.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/cpu/delta_job.h"
#include "kernels/cpu/input.h"
#include "kernels/cpu/kernel_table.h"

namespace shortlist {
namespace {

/// Tokens whose heads are computed at a time: what they need stays in the second-level cache.
constexpr int64_t kBlockTokens = 32;

/// One key head of one chain, with its value heads.
class HeadRun {
 public:
  /// query_scale, key_scale: [key_dim], see Prepare.
  HeadRun(const DeltaNetShape& shape, const DeltaNetWeights& weights, const DeltaNetChain& chain,
          int64_t key_head, const float* query_scale, const float* key_scale)
      : shape_(shape),
        weights_(weights),
        chain_(chain),
        key_head_(key_head),
        group_(shape.num_value_heads / shape.num_key_heads),
        query_scale_(query_scale),
        key_scale_(key_scale) {}

  void Run() {
    const int64_t state_floats = group_ * shape_.head_state_floats();
    float* state = chain_.state + key_head_ * state_floats;
    for (int64_t begin = 0; begin < chain_.num_final; begin += kBlockTokens) {
      RunBlock(begin, std::min(begin + kBlockTokens, chain_.num_final), state);
    }
    if (chain_.num_final == chain_.num_tokens()) return;
    // What follows may be taken back.
    thread_local Scratch copy;
    float* const guess = static_cast<float*>(copy.Get(state_floats * sizeof(float)));
    std::copy_n(state, state_floats, guess);
    for (int64_t begin = chain_.num_final; begin < chain_.num_tokens(); begin += kBlockTokens) {
      RunBlock(begin, std::min(begin + kBlockTokens, chain_.num_tokens()), guess);
    }
  }

 private:
  struct Block {
    float* queries;  // [kBlockTokens, key_dim]
    float* keys;     // [kBlockTokens, key_dim]
    float* values;   // [kBlockTokens, group, value_dim]
    float* decay;    // [group, kBlockTokens]
    float* beta;     // [group, kBlockTokens]
  };

  int64_t ValueHead(int64_t g) const {
    return shape_.is_tiled ? key_head_ + g * shape_.num_key_heads : key_head_ * group_ + g;
  }

  Block Reserve() const {
    thread_local Scratch scratch;
    const int64_t keys = kBlockTokens * shape_.key_dim;
    const int64_t values = kBlockTokens * group_ * shape_.value_dim;
    const int64_t gates = kBlockTokens * group_;
    float* next = static_cast<float*>(scratch.Get((2 * keys + values + 2 * gates) * sizeof(float)));
    const auto take = [&next](int64_t count) { return (next += count) - count; };
    Block block;
    block.queries = take(keys);
    block.keys = take(keys);
    block.values = take(values);
    block.decay = take(gates);
    block.beta = take(gates);
    return block;
  }

  /// Computes what tokens [begin, end) put into the recurrence.
  void Prepare(int64_t begin, int64_t end, const Block& block) const {
    const int64_t key_dim = shape_.key_dim, values = group_ * shape_.value_dim;
    const int64_t num_keys = shape_.num_key_heads * key_dim;
    // The reference adds its epsilon to the sum of squares, RmsNorm to their mean.
    const float epsilon = 1e-6f / static_cast<float>(key_dim);
    CausalConvJob conv = {
        .weights = weights_.conv, .num_taps = shape_.conv_len, .stride = shape_.num_channels()};
    for (int64_t t = begin; t < end; ++t) {
      const int64_t i = t - begin;
      conv.rows = chain_.rows.data() + t;
      const auto run = [&](int64_t first, int64_t count, float* out) {
        conv.first = first;
        conv.count = count;
        conv.out = out;
        table_.causal_conv(conv);
      };
      float* const query = block.queries + i * key_dim;
      float* const key = block.keys + i * key_dim;
      run(key_head_ * key_dim, key_dim, query);
      run(num_keys + key_head_ * key_dim, key_dim, key);
      for (int64_t g = 0; g < group_; ++g) {
        run(2 * num_keys + ValueHead(g) * shape_.value_dim, shape_.value_dim,
            block.values + i * values + g * shape_.value_dim);
      }
      table_.rms_norm(query, query_scale_, epsilon, key_dim, query);
      table_.rms_norm(key, key_scale_, epsilon, key_dim, key);
      for (int64_t g = 0; g < group_; ++g) {
        const int64_t head = ValueHead(g);
        const double a = chain_.gates[t][head] + weights_.dt_bias[head];
        const double b = chain_.gates[t][shape_.num_value_heads + head];
        const double softplus = a > 20.0 ? a : std::log1p(std::exp(a));
        block.decay[g * kBlockTokens + i] =
            static_cast<float>(std::exp(-weights_.decay_rate[head] * softplus));
        block.beta[g * kBlockTokens + i] = static_cast<float>(1.0 / (1.0 + std::exp(-b)));
      }
    }
  }

  /// Runs tokens [begin, end), at most kBlockTokens, on the states of the key head's value heads.
  void RunBlock(int64_t begin, int64_t end, float* state) const {
    const Block block = Reserve();
    Prepare(begin, end, block);
    const int64_t first_out = std::max(begin, chain_.num_replayed);
    const int64_t width = shape_.value_width();
    for (int64_t g = 0; g < group_; ++g) {
      const int64_t column = ValueHead(g) * shape_.value_dim;
      DeltaRuleJob job = {.state = state + g * shape_.head_state_floats(),
                          .key_dim = shape_.key_dim,
                          .value_dim = shape_.value_dim,
                          .num_tokens = std::min(end, first_out) - begin,
                          .queries = block.queries,
                          .keys = block.keys,
                          .values = block.values + g * shape_.value_dim,
                          .value_stride = group_ * shape_.value_dim,
                          .decay = block.decay + g * kBlockTokens,
                          .beta = block.beta + g * kBlockTokens,
                          .out_stride = width};
      if (job.num_tokens > 0) table_.delta_rule(job);
      if (end <= first_out) continue;
      const int64_t skipped = first_out - begin;
      job.num_tokens = end - first_out;
      job.queries += skipped * shape_.key_dim;
      job.keys += skipped * shape_.key_dim;
      job.values += skipped * job.value_stride;
      job.decay += skipped;
      job.beta += skipped;
      const int64_t at = (first_out - chain_.num_replayed) * width + column;
      job.out = chain_.out + at;
      table_.delta_rule(job);
      for (int64_t t = 0; t < job.num_tokens; ++t) {
        float* const row = job.out + t * width;
        table_.rms_norm(row, weights_.norm, weights_.norm_epsilon, shape_.value_dim, row);
        table_.activate_mul(Activation::kSilu, chain_.output_gates + at + t * width, row,
                            shape_.value_dim, row);
      }
    }
  }

  const KernelTable& table_ = CurrentKernels();
  const DeltaNetShape& shape_;
  const DeltaNetWeights& weights_;
  const DeltaNetChain& chain_;
  const int64_t key_head_, group_;
  const float* const query_scale_;
  const float* const key_scale_;
};

}  // namespace

void DeltaNetCpu(const DeltaNetShape& shape, const DeltaNetWeights& weights,
                 std::span<const DeltaNetChain> chains, ThreadPool& pool) {
  const float root = std::sqrt(static_cast<float>(shape.key_dim));
  const std::vector<float> key_scale(shape.key_dim, 1.0f / root);
  const std::vector<float> query_scale(shape.key_dim, 1.0f / static_cast<float>(shape.key_dim));
  const auto run = [&](int64_t task) {
    const DeltaNetChain& chain = chains[task / shape.num_key_heads];
    HeadRun(shape, weights, chain, task % shape.num_key_heads, query_scale.data(), key_scale.data())
        .Run();
  };
  pool.Run(
      static_cast<int64_t>(chains.size()) * shape.num_key_heads,
      [](void* context, int64_t task) { (*static_cast<const decltype(run)*>(context))(task); },
      const_cast<void*>(static_cast<const void*>(&run)));
}

}  // namespace shortlist

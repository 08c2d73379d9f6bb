// The kernels as plain loops: the oracle of the tests, and the implementation for processors
// without AVX2.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "kernels/cpu/block_kernels.h"
#include "kernels/cpu/delta_job.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/quant_layout.h"
#include "kernels/cpu/sketch_job.h"
#include "kernels/delta_net.h"

namespace shortlist {
namespace {

void ToF32(const void* source, DType dtype, int64_t count, float* target) {
  for (int64_t i = 0; i < count; ++i) target[i] = LoadAsFloat(source, dtype, i);
}

void FromF32(const float* source, DType dtype, int64_t count, void* target) {
  for (int64_t i = 0; i < count; ++i) StoreFromFloat(target, dtype, i, source[i]);
}

void QuantizeInput(const float* x, DType dtype, const QuantShape& shape, void* row) {
  const QuantInput input = QuantInput::At(row, shape);
  std::memset(row, 0, static_cast<size_t>(QuantInput::Bytes(shape)));
  for (int64_t g = 0; g < shape.num_groups; ++g) {
    const int64_t begin = g * shape.group_len;
    const int64_t end = std::min(shape.width, begin + shape.group_len);
    float largest = 0;
    for (int64_t k = begin; k < end; ++k) {
      if (!std::isfinite(x[k])) largest = std::numeric_limits<float>::quiet_NaN();
      if (std::abs(x[k]) > largest) largest = std::abs(x[k]);
    }
    if (std::isnan(largest)) input.scales[g] = largest;
    if (!(largest >= kLeastInput)) continue;
    const float inverse = 127.0f / largest;
    int8_t* steps = input.group_steps(g, shape);
    int32_t sum = 0;
    for (int64_t k = begin; k < end; ++k) {
      const auto code = static_cast<int8_t>(std::nearbyint(x[k] * inverse));
      steps[(k - begin) / 4 * 4 * shape.block_groups + (k - begin) % 4] = code;
      sum += code;
    }
    input.scales[g] = largest / 127.0f;
    input.offsets[g] = -QuantZeroPoint(dtype) * sum;
  }
}

/// Returns the dot product of one group: its stored codes, as QuantCodeAt reads them, times the
/// input's codes.
int32_t GroupDot(const void* steps, int64_t step_stride, DType dtype, const QuantShape& shape,
                 const QuantInput& input, int64_t group) {
  const int8_t* x = input.group_steps(group, shape);
  int32_t dot = 0;
  for (int64_t k = 0; k < shape.group_len; ++k) {
    dot += QuantCodeAt(static_cast<const uint8_t*>(steps), step_stride, dtype, shape, k) *
           x[k / 4 * 4 * shape.block_groups + k % 4];
  }
  return dot;
}

void QuantLinear(const LinearJob& job, int64_t panel_begin, int64_t panel_end) {
  const QuantShape shape = QuantShape::Of(job.dtype, job.in_features, QuantLayout::kPanel);
  const int64_t code_bytes = kPanelRows * shape.code_bytes(job.dtype);
  const int64_t group_bytes = code_bytes + kPanelRows * kQuantScaleBytes;
  for (int64_t n = panel_begin * kPanelRows; n < panel_end * kPanelRows && n < job.out_features;
       ++n) {
    const char* panel =
        static_cast<const char*>(job.panels) + n / kPanelRows * shape.num_groups * group_bytes;
    for (int64_t t = 0; t < job.x.num_tokens; ++t) {
      const QuantInput input =
          QuantInput::At(static_cast<const char*>(job.x.data) + t * job.x.row_bytes, shape);
      float sum = 0;
      for (int64_t g = 0; g < shape.num_groups; ++g) {
        const char* group = panel + g * group_bytes;
        const int64_t row = n % kPanelRows;
        const int32_t dot = GroupDot(group + 4 * row, 4 * kPanelRows, job.dtype, shape, input, g);
        const float scale = LoadAsFloat(group + code_bytes, DType::kBf16, row);
        sum += static_cast<float>(dot) * (scale * input.scales[g]);
      }
      float& y = job.y[t * job.y_stride + n - job.y_begin];
      y = job.accumulate ? y + sum : sum;
    }
  }
}

void QuantHead(const CpuHeadJob& job) {
  const QuantShape shape = QuantShape::Of(job.dtype, job.hidden, QuantLayout::kHeadRow);
  const int64_t code_bytes = shape.code_bytes(job.dtype);
  for (int64_t t = 0; t < job.x.num_tokens; ++t) {
    const QuantInput input =
        QuantInput::At(static_cast<const char*>(job.x.data) + t * job.x.row_bytes, shape);
    for (int64_t r = 0; r < job.num_rows; ++r) {
      const char* row = static_cast<const char*>(job.rows[r]);
      float sum = 0;
      for (int64_t g = 0; g < shape.num_groups; ++g) {
        const int64_t block = g / shape.block_groups * shape.block_groups;
        const int64_t block_groups = std::min(shape.block_groups, shape.num_groups - block);
        const int32_t dot = GroupDot(row + block * code_bytes + (g - block) * 4, 4 * block_groups,
                                     job.dtype, shape, input, g);
        const float scale = LoadAsFloat(row + shape.num_groups * code_bytes, DType::kBf16, g);
        sum += static_cast<float>(dot) * (scale * input.scales[g]);
      }
      job.out[t * job.out_stride + r] = sum;
    }
  }
}

void Linear(const LinearJob& job, int64_t panel_begin, int64_t panel_end) {
  if (IsQuantized(job.dtype)) return QuantLinear(job, panel_begin, panel_end);
  const float* x = static_cast<const float*>(job.x.data);
  const int64_t interleave = job.dtype == DType::kBf16 ? 2 : 1;
  const int64_t num_groups = (job.in_features + interleave - 1) / interleave;
  for (int64_t n = panel_begin * kPanelRows; n < panel_end * kPanelRows && n < job.out_features;
       ++n) {
    const int64_t first = n / kPanelRows * kPanelRows * num_groups * interleave;
    const int64_t lane = n % kPanelRows * interleave;
    for (int64_t t = 0; t < job.x.num_tokens; ++t) {
      float sum = 0;
      for (int64_t k = 0; k < job.in_features; ++k) {
        const int64_t at = first + k / interleave * interleave * kPanelRows + lane + k % interleave;
        sum += x[t * job.x.stride + k] * LoadAsFloat(job.panels, job.dtype, at);
      }
      float& y = job.y[t * job.y_stride + n - job.y_begin];
      y = job.accumulate ? y + sum : sum;
    }
  }
}

void Head(const CpuHeadJob& job) {
  if (IsQuantized(job.dtype)) return QuantHead(job);
  const float* x = static_cast<const float*>(job.x.data);
  for (int64_t t = 0; t < job.x.num_tokens; ++t) {
    for (int64_t r = 0; r < job.num_rows; ++r) {
      float sum = 0;
      for (int64_t k = 0; k < job.hidden; ++k) {
        sum += x[t * job.x.stride + k] * LoadAsFloat(job.rows[r], job.dtype, k);
      }
      job.out[t * job.out_stride + r] = sum;
    }
  }
}

float Max(const float* x, int64_t count) {
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

float SumExp(const float* x, int64_t count, float shift) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::isnan(x[i]) ? 0.0f : std::exp(x[i] - shift);
  return sum;
}

float Exponentiate(float* weights, int64_t count) {
  const float largest = Max(weights, count);
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    weights[i] = std::exp(weights[i] - largest);
    sum += weights[i];
  }
  return sum;
}

void Attend(const AttendJob& job) {
  for (int64_t i = 0; i < job.num_tokens * job.group; ++i) {
    const AttendToken& token = job.tokens[i / job.group];
    const float* q = static_cast<const float*>(job.queries.data) + i * job.queries.stride;
    float* out = token.out + i % job.group * job.head_dim;
    float* weights = job.weights + i * job.weights_stride;
    const int64_t num_positions = job.num_shared + token.num_own;
    const auto slot_offset = [&](int64_t p) {
      const int64_t slot =
          p < job.num_shared ? job.shared_slots[p] : token.own_slots[p - job.num_shared];
      return slot * job.slot_bytes;
    };
    for (int64_t p = 0; p < num_positions; ++p) {
      const void* key = job.keys + slot_offset(p);
      float dot = 0;
      for (int64_t d = 0; d < job.head_dim; ++d) dot += q[d] * LoadAsFloat(key, job.dtype, d);
      weights[p] = dot * job.scale;
    }
    const float sum = Exponentiate(weights, num_positions);
    for (int64_t d = 0; d < job.head_dim; ++d) {
      float mixed = 0;
      for (int64_t p = 0; p < num_positions; ++p) {
        mixed += weights[p] * LoadAsFloat(job.values + slot_offset(p), job.dtype, d);
      }
      out[d] = mixed / sum;
    }
  }
}

void RmsNorm(const float* x, const float* weight, float epsilon, int64_t hidden, float* y) {
  float sum = 0;
  for (int64_t i = 0; i < hidden; ++i) sum += x[i] * x[i];
  const float inverse = 1.0f / std::sqrt(sum / static_cast<float>(hidden) + epsilon);
  for (int64_t i = 0; i < hidden; ++i) y[i] = x[i] * inverse * weight[i];
}

void LayerNormRow(const float* x, const float* addend, const LayerNorm& norm, int64_t hidden,
                  float* y) {
  float sum = 0;
  for (int64_t i = 0; i < hidden; ++i) {
    y[i] = addend == nullptr ? x[i] : x[i] + addend[i];
    sum += y[i];
  }
  const float mean = sum / static_cast<float>(hidden);
  float squares = 0;
  for (int64_t i = 0; i < hidden; ++i) squares += (y[i] - mean) * (y[i] - mean);
  const float inverse = 1.0f / std::sqrt(squares / static_cast<float>(hidden) + norm.epsilon);
  for (int64_t i = 0; i < hidden; ++i) {
    const float weighted = (y[i] - mean) * inverse * norm.weight[i];
    y[i] = norm.bias == nullptr ? weighted : weighted + norm.bias[i];
  }
}

void Add(const void* source, DType dtype, int64_t count, float* target) {
  for (int64_t i = 0; i < count; ++i) target[i] += LoadAsFloat(source, dtype, i);
}

void Rope(float* row, const float* cos, const float* sin, int64_t half) {
  for (int64_t i = 0; i < half; ++i) {
    const float a = row[i];
    const float b = row[half + i];
    row[i] = a * cos[i] - b * sin[i];
    row[half + i] = b * cos[i] + a * sin[i];
  }
}

float ActivationOf(Activation activation, float x) {
  switch (activation) {
    case Activation::kSilu:
      return x / (1.0f + std::exp(-x));
    case Activation::kGeluErf:
      return 0.5f * x * (1.0f + std::erf(x * 0.707106781f));
    case Activation::kGeluTanh:
      return x / (1.0f + std::exp(-1.59576912f * (x + 0.044715f * x * x * x)));
    case Activation::kGeluQuick:
      return x / (1.0f + std::exp(-1.702f * x));
    case Activation::kSigmoid:
      return 1.0f / (1.0f + std::exp(-x));
  }
  SHORTLIST_CHECK(false);
}

void Activate(Activation activation, const float* x, const float* bias, int64_t size, float* out) {
  for (int64_t i = 0; i < size; ++i) {
    out[i] = ActivationOf(activation, bias == nullptr ? x[i] : x[i] + bias[i]);
  }
}

void ActivateMul(Activation activation, const float* gate, const float* up, int64_t size,
                 float* out) {
  for (int64_t i = 0; i < size; ++i) out[i] = ActivationOf(activation, gate[i]) * up[i];
}

void CausalConv(const CausalConvJob& job) {
  for (int64_t i = job.first; i < job.first + job.count; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < job.num_taps; ++j) {
      sum += job.weights[j * job.stride + i] * job.rows[j][i];
    }
    job.out[i - job.first] = ActivationOf(Activation::kSilu, sum);
  }
}

void DeltaRule(const DeltaRuleJob& job) {
  constexpr int64_t kPanel = DeltaNetShape::kPanelColumns;
  for (int64_t column = 0; column < job.value_dim; ++column) {
    float* const state = job.state + column / kPanel * kPanel * job.key_dim + column % kPanel;
    for (int64_t t = 0; t < job.num_tokens; ++t) {
      const float* const key = job.keys + t * job.key_dim;
      const float* const query = job.queries + t * job.key_dim;
      float product = 0;
      for (int64_t row = 0; row < job.key_dim; ++row) {
        state[row * kPanel] *= job.decay[t];
        product += key[row] * state[row * kPanel];
      }
      const float delta = job.beta[t] * (job.values[t * job.value_stride + column] - product);
      float out = 0;
      for (int64_t row = 0; row < job.key_dim; ++row) {
        state[row * kPanel] += key[row] * delta;
        out += query[row] * state[row * kPanel];
      }
      if (job.out != nullptr) job.out[t * job.out_stride + column] = out;
    }
  }
}

int64_t Sketch(const SketchJob& job) {
  const SketchQuery& query = *job.query;
  const int64_t rank = job.rows.rank;
  int64_t count = 0;
  for (int64_t row = job.first_row; row < job.end_row; ++row) {
    const uint8_t* panel = job.rows.codes + row / kSketchPanelRows * kSketchPanelRows * rank / 2;
    int32_t dot = query.offset;
    for (int64_t k = 0; k < rank; ++k) {
      const int64_t word = k / kSketchStep * kSketchPanelRows + row % kSketchPanelRows;
      const int byte = panel[word * 4 + k % 4];
      dot += (k % kSketchStep < 4 ? byte & 15 : byte >> 4) * query.codes[k];
    }
    float key = static_cast<float>(dot) * Bf16ToFloat(job.rows.scales[row]) * query.factor;
    if (query.races) key += SketchNoise(query.noise_key, static_cast<int32_t>(row));
    if (!(key > job.bound)) continue;
    job.keys[count] = key;
    job.ids[count++] = static_cast<int32_t>(row);
  }
  return count;
}

void SketchFineRows(const SketchFineJob& job) {
  constexpr int kRowBytes = kSketchFineRank / 2;
  for (int64_t i = 0; i < job.count; ++i) {
    const int64_t row = job.ids[i];
    int32_t dot = job.offset;
    for (int k = 0; k < kRowBytes; ++k) {
      const int byte = job.fine.codes[row * kRowBytes + k];
      dot += (byte & 15) * job.query[0][k] + (byte >> 4) * job.query[1][k];
    }
    job.keys[i] += static_cast<float>(dot) * Bf16ToFloat(job.fine.scales[row]) * job.factor;
  }
}

}  // namespace

const KernelTable kReferenceKernels = {
    .native_bf16 = false,
    .blocks = &kReferenceBlocks,
    .to_f32 = ToF32,
    .from_f32 = FromF32,
    .quantize_input = QuantizeInput,
    .linear = Linear,
    .head = Head,
    .attend = Attend,
    .exponentiate = Exponentiate,
    .max = Max,
    .sum_exp = SumExp,
    .rms_norm = RmsNorm,
    .layer_norm = LayerNormRow,
    .add = Add,
    .rope = Rope,
    .activate = Activate,
    .activate_mul = ActivateMul,
    .causal_conv = CausalConv,
    .delta_rule = DeltaRule,
    .sketch = Sketch,
    .sketch_fine = SketchFineRows,
};

}  // namespace shortlist

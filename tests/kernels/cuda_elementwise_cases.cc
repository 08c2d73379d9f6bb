#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/cuda_cases.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {
namespace {

bool Near(float value, double expected, double tolerance) {
  return std::abs(value - expected) <= tolerance * (1e-6 + std::abs(expected));
}

std::vector<int32_t> RandomIds(std::mt19937& rng, int64_t count, int64_t bound) {
  std::vector<int32_t> ids(count);
  for (int32_t& id : ids) id = static_cast<int32_t>(RandomInt(rng, 0, bound - 1));
  return ids;
}

void CheckEmbedding(CudaMachine& machine, std::mt19937& rng, const std::string& trace,
                    Failures& failures) {
  const int64_t num_tokens = RandomInt(rng, 1, 9), width = RandomInt(rng, 1, 600);
  const int64_t num_ids = RandomInt(rng, 1, 50);
  const bool spoilt = RandomInt(rng, 0, 1) == 1;
  for (const DType dtype : kAllDTypes) {
    const Stored table(RandomFloats(rng, num_ids * width), dtype);
    std::vector<int32_t> ids = RandomIds(rng, num_tokens, num_ids);
    if (spoilt) ids[0] = RandomInt(rng, 0, 1) == 1 ? static_cast<int32_t>(num_ids) : -1;
    const MachineArray<char> table_array(machine, table.bytes);
    const MachineArray<int32_t> id_array(machine, ids), error(machine, std::vector<int32_t>{0});
    const MachineArray<float> y(machine, num_tokens * width);
    ElementwiseJob job{.op = ElementwiseOp::kEmbedding, .num_tokens = num_tokens, .width = width};
    job.y = y.data();
    job.ids = id_array.data();
    job.num_ids = num_ids;
    job.table = table_array.data();
    job.table_dtype = dtype;
    job.error = error.data();
    failures.Expect(machine.Elementwise(job), trace + ": embedding runs");
    const std::vector<float> got = y.Get();
    for (int64_t i = 0; i < num_tokens * width; ++i) {
      const int32_t id = ids[i / width];
      const bool inside = id >= 0 && id < num_ids;
      failures.Expect(got[i] == (inside ? table.values[id * width + i % width] : 0.0f),
                      trace + ": embedding " + DTypeName(dtype));
    }
    failures.Expect(error.Get()[0] == (spoilt ? kEmbeddingIdError : 0),
                    trace + ": embedding flags ids out of range");
  }
}

void CheckRmsNorm(CudaMachine& machine, std::mt19937& rng, const std::string& trace,
                  Failures& failures) {
  const int64_t num_tokens = RandomInt(rng, 1, 9), width = RandomInt(rng, 1, 1000);
  const std::vector<float> x = RandomFloats(rng, num_tokens * width);
  const std::vector<float> weight = RandomFloats(rng, width);
  const MachineArray<float> x_array(machine, x), weight_array(machine, weight);
  const MachineArray<uint16_t> y_bf16(machine, num_tokens * width);
  ElementwiseJob job{.op = ElementwiseOp::kRmsNorm, .num_tokens = num_tokens, .width = width};
  job.x = x_array.data();
  job.weight = weight_array.data();
  job.epsilon = 1e-5f;
  job.y = reinterpret_cast<float*>(y_bf16.data());
  job.y_dtype = DType::kBf16;
  failures.Expect(machine.Elementwise(job), trace + ": norm to bf16 runs");
  job.y = x_array.data();  // in place
  job.y_dtype = DType::kF32;
  failures.Expect(machine.Elementwise(job), trace + ": norm runs");
  const std::vector<float> y = x_array.Get();
  const std::vector<uint16_t> rounded = y_bf16.Get();
  for (int64_t t = 0; t < num_tokens; ++t) {
    double squares = 0;
    for (int64_t i = 0; i < width; ++i) squares += double{x[t * width + i]} * x[t * width + i];
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-5);
    for (int64_t i = 0; i < width; ++i) {
      const int64_t at = t * width + i;
      failures.Expect(Near(y[at], x[at] * inverse * weight[i], 1e-5), trace + ": norm");
      failures.Expect(rounded[at] == FloatToBf16(y[at]), trace + ": norm rounded to bf16");
    }
  }
}

void CheckRope(CudaMachine& machine, std::mt19937& rng, const std::string& trace,
               Failures& failures) {
  const int64_t num_tokens = RandomInt(rng, 1, 5), num_heads = RandomInt(rng, 1, 4);
  const int64_t half = RandomInt(rng, 1, 70), num_positions = RandomInt(rng, 1, 20);
  const int64_t stride = num_heads * half * 2 + RandomInt(rng, 0, 5);
  const std::vector<float> x = RandomFloats(rng, num_tokens * stride);
  const std::vector<float> cos = RandomFloats(rng, num_positions * half);
  const std::vector<float> sin = RandomFloats(rng, num_positions * half);
  std::vector<int32_t> positions = RandomIds(rng, num_tokens, num_positions);
  const bool spoilt = RandomInt(rng, 0, 1) == 1;
  if (spoilt) positions[0] = RandomInt(rng, 0, 1) == 1 ? static_cast<int32_t>(num_positions) : -1;
  const MachineArray<float> y(machine, x), cos_array(machine, cos), sin_array(machine, sin);
  const MachineArray<int32_t> position_array(machine, positions);
  const MachineArray<int32_t> error(machine, std::vector<int32_t>{0});
  ElementwiseJob job{.op = ElementwiseOp::kRope, .num_tokens = num_tokens};
  job.y = y.data();
  job.row_stride = stride;
  job.num_heads = num_heads;
  job.head_dim = 2 * half;
  job.positions = position_array.data();
  job.num_positions = num_positions;
  job.cos = cos_array.data();
  job.sin = sin_array.data();
  job.error = error.data();
  failures.Expect(machine.Elementwise(job), trace + ": rope runs");
  const std::vector<float> got = y.Get();
  for (int64_t t = 0; t < num_tokens; ++t) {
    const bool inside = positions[t] >= 0 && positions[t] < num_positions;
    for (int64_t i = 0; i < stride; ++i) {
      const int64_t k = i % (2 * half);
      double expected = x[t * stride + i];
      if (inside && i < num_heads * half * 2) {
        const int64_t angle = positions[t] * half + k % half;
        const double other = x[t * stride + i + (k < half ? half : -half)];
        expected = expected * cos[angle] + (k < half ? -other : other) * sin[angle];
      }
      failures.Expect(std::abs(got[t * stride + i] - expected) < 1e-5, trace + ": rope");
    }
  }
  failures.Expect(error.Get()[0] == (spoilt ? kPositionError : 0),
                  trace + ": rope flags positions out of range");
}

void CheckSiluMulAndMap(CudaMachine& machine, std::mt19937& rng, const std::string& trace,
                        Failures& failures) {
  const int64_t num_tokens = RandomInt(rng, 1, 5), width = RandomInt(rng, 1, 700);
  std::vector<float> gate = RandomFloats(rng, num_tokens * width);
  gate[0] = -200.0f;
  const std::vector<float> up = RandomFloats(rng, num_tokens * width);
  const MachineArray<float> gate_array(machine, gate), up_array(machine, up);
  const MachineArray<float> y(machine, num_tokens * width);
  ElementwiseJob job{.op = ElementwiseOp::kSiluMul, .num_tokens = num_tokens, .width = width};
  job.x = gate_array.data();
  job.up = up_array.data();
  job.y = y.data();
  failures.Expect(machine.Elementwise(job), trace + ": silu runs");
  const std::vector<float> got = y.Get();
  for (size_t i = 0; i < gate.size(); ++i) {
    const double expected = gate[i] / (1 + std::exp(-double{gate[i]})) * up[i];
    failures.Expect(Near(got[i], expected, 1e-5), trace + ": silu");
  }

  const int64_t num_ids = RandomInt(rng, 1, 40), count = RandomInt(rng, 1, 600);
  const std::vector<int32_t> map = RandomIds(rng, num_ids, 1 << 20);
  std::vector<int32_t> ids = RandomIds(rng, count, num_ids + 1);  // num_ids is out of range
  const MachineArray<int32_t> map_array(machine, map), id_array(machine, ids);
  const MachineArray<int32_t> mapped(machine, count), error(machine, std::vector<int32_t>{0});
  ElementwiseJob mapping{.op = ElementwiseOp::kMapIds, .num_tokens = count};
  mapping.ids = id_array.data();
  mapping.num_ids = num_ids;
  mapping.map = map_array.data();
  mapping.mapped = mapped.data();
  mapping.error = error.data();
  failures.Expect(machine.Elementwise(mapping), trace + ": mapping runs");
  const std::vector<int32_t> got_ids = mapped.Get();
  for (int64_t t = 0; t < count; ++t) {
    failures.Expect(got_ids[t] == (ids[t] < num_ids ? map[ids[t]] : -1), trace + ": mapping");
  }
  const bool spoilt = *std::max_element(ids.begin(), ids.end()) == num_ids;
  failures.Expect(error.Get()[0] == (spoilt ? kEmbeddingIdError : 0),
                  trace + ": mapping flags ids out of range");
}

}  // namespace

void CheckElementwise(CudaMachine& machine, uint32_t seed, const CaseSizes& sizes,
                      Failures& failures) {
  std::mt19937 rng(seed);
  for (int round = 0; round < sizes.num_rounds; ++round) {
    const std::string trace = "seed " + std::to_string(seed) + " round " + std::to_string(round);
    CheckEmbedding(machine, rng, trace, failures);
    CheckRmsNorm(machine, rng, trace, failures);
    CheckRope(machine, rng, trace, failures);
    CheckSiluMulAndMap(machine, rng, trace, failures);
  }
  // A job with no tokens does nothing, a job with nothing else is refused.
  for (const ElementwiseOp op :
       {ElementwiseOp::kEmbedding, ElementwiseOp::kRmsNorm, ElementwiseOp::kRope,
        ElementwiseOp::kSiluMul, ElementwiseOp::kMapIds}) {
    failures.Expect(machine.Elementwise({.op = op}), "no tokens are no error");
    failures.Expect(!machine.Elementwise({.op = op, .num_tokens = 1}), "null pointers are refused");
    failures.Expect(!machine.Elementwise({.op = op, .num_tokens = -1}),
                    "negative tokens are refused");
  }
}

}  // namespace shortlist

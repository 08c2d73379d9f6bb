// Cost of a pass over a few rows, compared with a pass over one row and with prefill: the linear
// layers of one decoder layer, weights from memory, all row counts alternating in one run.
//
// With A the time of one row and P the time per row of a 512-row pass, R rows should take at most
// max(A, R * P): the weights are read once, and the arithmetic is that of prefill. The table shows
// the time relative to that bound and to A.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "base/weight_block.h"
#include "bench/machine.h"
#include "kernels/arena.h"
#include "kernels/blocks.h"
#include "kernels/head.h"
#include "kernels/isa.h"
#include "kernels/linear.h"
#include "kernels/quant.h"

namespace shortlist {
namespace {

constexpr int64_t kPrefillRows = 512;
/// Weights of all layers together, more than any cache holds.
constexpr int64_t kColdBytes = int64_t{256} << 20;

struct Shape {
  const char* name;
  int64_t hidden, q_features, kv_features, intermediate;

  int64_t elements() const {
    return hidden * (2 * q_features + 2 * kv_features + 3 * intermediate);
  }
};

constexpr Shape kShapes[] = {
    {"Llama-3.2-1B", 2048, 2048, 512, 8192},
    {"Qwen2.5-1.5B", 1536, 1536, 256, 8960},
    {"Qwen2.5-0.5B", 896, 896, 128, 4864},
};

struct Flags {
  std::string shape = kShapes[0].name;
  std::string what = "both";
  std::vector<std::string> dtypes = {"int8", "int4", "bf16"};
  std::vector<int64_t> rows = {1, 2, 3, 4, 6, 8, 12, 16};
  int num_threads = static_cast<int>(std::thread::hardware_concurrency());
  int num_rounds = 15;
};

/// Stored blocks [num_rows, width] with any codes.
std::vector<uint8_t> RandomBlocks(DType dtype, int64_t num_rows, int64_t width) {
  const BlockType& type = BlockTypeOf(dtype);
  std::mt19937 random(1);
  std::vector<uint8_t> blocks(static_cast<size_t>(num_rows * StoredRowBytes(dtype, width)));
  for (uint8_t& byte : blocks) byte = static_cast<uint8_t>(random());
  const uint16_t scale = FloatToF16(0.001f);
  for (size_t at = 0; at < blocks.size(); at += static_cast<size_t>(type.num_bytes)) {
    std::memcpy(blocks.data() + at + type.scale_offset, &scale, sizeof(scale));
    if (type.has_mins) std::memcpy(blocks.data() + at + 2, &scale, sizeof(scale));
  }
  return blocks;
}

constexpr std::pair<const char*, DType> kDTypes[] = {
    {"f32", DType::kF32},   {"f16", DType::kF16},     {"bf16", DType::kBf16},
    {"int8", DType::kInt8}, {"int4", DType::kInt4},   {"q4_0", DType::kQ40},
    {"q4_1", DType::kQ41},  {"q5_0", DType::kQ50},    {"q5_1", DType::kQ51},
    {"q8_0", DType::kQ80},  {"q4_k", DType::kQ4K},    {"q5_k", DType::kQ5K},
    {"q6_k", DType::kQ6K},  {"iq4_nl", DType::kIq4Nl}};

/// The linear layers of one decoder layer, with random weights.
struct Layer {
  PackedLinear qkv, output, gate, up, down;

  Layer(const Shape& s, DType dtype, ThreadPool& pool) {
    std::mt19937 random(1);
    const auto pack = [&](int64_t out, int64_t in) {
      if (IsBlocked(dtype)) {
        const std::vector<uint8_t> blocks = RandomBlocks(dtype, out, in);
        const MatrixView view{blocks.data(), dtype, out};
        return PackedLinear::PackBlocks({&view, 1}, in, pool);
      }
      std::vector<uint16_t> weight(static_cast<size_t>(out * in));
      for (uint16_t& bits : weight) {
        bits = static_cast<uint16_t>((random() & 0x807f) | 0x3c00);  // +-[0.0078, 0.031)
      }
      const MatrixView view{weight.data(), DType::kBf16, out};
      return PackedLinear::Pack({&view, 1}, in, dtype, pool);
    };
    qkv = pack(s.q_features + 2 * s.kv_features, s.hidden);
    output = pack(s.hidden, s.q_features);
    gate = pack(s.intermediate, s.hidden);
    up = pack(s.intermediate, s.hidden);
    down = pack(s.hidden, s.intermediate);
  }

  void Run(const float* x, int64_t num_rows, float* y, ThreadPool& pool) const {
    LinearCpu(qkv, {x}, num_rows, y, /*accumulate=*/false, pool);
    LinearCpu(output, {x}, num_rows, y, /*accumulate=*/true, pool);
    GatedLinearCpu(gate, up, {x}, num_rows, Activation::kSilu, y, pool);
    LinearCpu(down, {x}, num_rows, y, /*accumulate=*/true, pool);
  }
};

std::vector<std::string> DTypeNames() {
  std::vector<std::string> names;
  for (const auto& [name, dtype] : kDTypes) names.emplace_back(name);
  return names;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// A pass over `num_rows` rows of x into y, on the next copy of the weights.
using Pass = std::function<void(const float* x, int64_t num_rows, float* y)>;

void MeasureRows(const std::string& name, int64_t pass_bytes, int64_t width, const Flags& flags,
                 ThreadPool& pool, const Pass& pass) {
  std::vector<int64_t> rows = flags.rows;
  if (rows.empty() || rows.front() != 1) rows.insert(rows.begin(), 1);
  rows.push_back(kPrefillRows);
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(kPrefillRows * width));
  for (float& value : x) value = normal(random);
  std::vector<float> y(x.size());

  PlainRead read(pool);
  std::vector<std::vector<double>> seconds(rows.size());
  std::vector<double> read_seconds;
  for (int round = 0; round < flags.num_rounds; ++round) {
    read_seconds.push_back(read.Seconds(pass_bytes));
    for (size_t i = 0; i < rows.size(); ++i) {
      const double begin = SteadySeconds();
      pass(x.data(), rows[i], y.data());
      seconds[i].push_back(SteadySeconds() - begin);
    }
  }
  const double one = Median(seconds.front());
  const double prefill = Median(seconds.back()) / static_cast<double>(kPrefillRows);
  std::printf("\n%s, %s, %d threads: plain read %.2f ms, one row %.2f ms, prefill %.3f ms a row\n",
              name.c_str(), IsaName(CurrentIsa()), pool.num_threads(), 1e3 * Median(read_seconds),
              1e3 * one, 1e3 * prefill);
  std::printf("%6s %9s %9s %11s\n", "rows", "ms", "x bound", "x one row");
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    const double time = Median(seconds[i]);
    const double bound = std::max(one, static_cast<double>(rows[i]) * prefill);
    std::printf("%6lld %9.3f %9.2f %11.2f\n", static_cast<long long>(rows[i]), 1e3 * time,
                time / bound, time / one);
  }
  std::fflush(stdout);
}

void MeasureLayer(const Shape& shape, DType dtype, const Flags& flags, ThreadPool& pool) {
  std::vector<std::unique_ptr<Layer>> layers;
  const int64_t bytes = shape.elements() / shape.hidden * RowBytes(dtype, shape.hidden);
  do {
    layers.push_back(std::make_unique<Layer>(shape, dtype, pool));
  } while (static_cast<int64_t>(layers.size()) * bytes < kColdBytes);
  size_t next = 0;
  MeasureRows(std::string("layer of ") + shape.name + ", " + DTypeName(dtype), bytes,
              shape.intermediate, flags, pool, [&](const float* x, int64_t num_rows, float* y) {
                layers[next++ % layers.size()]->Run(x, num_rows, y, pool);
              });
}

/// Measures as many rows of a head as a layer has weights.
void MeasureHead(const Shape& shape, DType dtype, const Flags& flags, ThreadPool& pool) {
  const int64_t row_bytes = RowBytes(dtype, shape.hidden);
  const int64_t num_rows = shape.elements() / shape.hidden / 1024 * 1024;
  const int64_t num_copies = kColdBytes / (num_rows * row_bytes) + 1;
  Arena weight(num_copies * num_rows * row_bytes);
  std::mt19937 random(3);
  auto* const bits = static_cast<uint16_t*>(weight.data());
  for (int64_t i = 0; i < weight.bytes() / 2; ++i) {
    bits[i] = static_cast<uint16_t>((random() & 0x807f) | 0x3c00);  // any bytes are valid codes
  }
  std::vector<int32_t> best(kPrefillRows);
  int64_t next = 0;
  MeasureRows(std::string("head of ") + shape.name + ", " + DTypeName(dtype), num_rows * row_bytes,
              shape.hidden, flags, pool, [&](const float* x, int64_t num_tokens, float*) {
                HeadArgs args;
                args.weight = static_cast<const char*>(weight.data()) +
                              next++ % num_copies * num_rows * row_bytes;
                args.vocab_size = args.num_rows = num_rows;
                args.dtype = dtype;
                args.hidden = shape.hidden;
                args.x = x;
                args.num_tokens = num_tokens;
                HeadArgmaxCpu(args, best.data(), nullptr, pool);
              });
}

}  // namespace
}  // namespace shortlist

int main(int argc, char** argv) {
  using namespace shortlist;
  if (!ChooseIsaOfEnvironment()) return 2;
  CLI::App app("Passes over few rows next to one row and to prefill");
  Flags flags;
  app.add_option("--shape", flags.shape, "Shape of the layer")
      ->check(CLI::IsMember({"Llama-3.2-1B", "Qwen2.5-1.5B", "Qwen2.5-0.5B"}));
  app.add_option("--what", flags.what, "The layer, the head, or both")
      ->check(CLI::IsMember({"layer", "head", "both"}));
  app.add_option("--dtypes", flags.dtypes, "Weights")
      ->delimiter(',')
      ->check(CLI::IsMember(DTypeNames()));
  app.add_option("--rows", flags.rows, "Rows of a pass")->delimiter(',')->check(CLI::Range(1, 512));
  app.add_option("--threads", flags.num_threads, "CPU threads")->check(CLI::Range(1, 1024));
  app.add_option("--rounds", flags.num_rounds, "Passes of each kind")->check(CLI::Range(1, 100000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "rows_bench: %s\n", error.what());
    return 2;
  }
  ThreadPool pool(flags.num_threads);
  for (const Shape& shape : kShapes) {
    if (flags.shape != shape.name) continue;
    for (const std::string& name : flags.dtypes) {
      for (const auto& [known, dtype] : kDTypes) {
        if (name != known) continue;
        if (flags.what != "head") MeasureLayer(shape, dtype, flags, pool);
        if (flags.what != "layer") MeasureHead(shape, dtype, flags, pool);
      }
    }
  }
  return 0;
}

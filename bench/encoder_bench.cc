// The forward pass of encoders, with the shapes of real models and random weights, and its two main
// parts separately. Each is compared with the machine's arithmetic peak, measured in the same
// iteration. Counters:
//   of_peak   time at the peak of the weights' type / time taken, counting the operations of the
//             linear layers and of attention
// items_per_second are tokens. The last argument is the number of tokens of the one sequence.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "bench/machine.h"
#include "kernels/linear.h"
#include "kernels/sequence_attention.h"
#include "model/encoder.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

struct Shape {
  const char* name;
  int64_t hidden, intermediate, num_layers, num_heads;

  int64_t head_dim() const { return hidden / num_heads; }
  /// Multiplications and additions of the linear layers and of attention, over one sequence.
  double LinearFlops(int64_t num_tokens) const {
    const int64_t weights = num_layers * hidden * (4 * hidden + 2 * intermediate);
    return 2.0 * static_cast<double>(weights * num_tokens);
  }
  double AttentionFlops(int64_t num_tokens) const {
    return 4.0 * static_cast<double>(num_layers * hidden * num_tokens * num_tokens);
  }
};

constexpr Shape kShapes[] = {{"MiniLM-L6", 384, 1536, 6, 12}, {"bge-base", 768, 3072, 12, 12}};
constexpr int64_t kVocabSize = 1024;

ThreadPool& Pool() {
  static ThreadPool pool(static_cast<int>(std::thread::hardware_concurrency()));
  return pool;
}

/// Random bf16 bits of small finite numbers.
std::vector<uint16_t> RandomBf16(int64_t count) {
  std::mt19937 random(1);
  std::vector<uint16_t> values(static_cast<size_t>(count));
  for (uint16_t& value : values) {
    value = static_cast<uint16_t>((random() & 0x807f) | 0x3c80);  // +-[0.0156, 0.031)
  }
  return values;
}

/// Writes a BERT with random weights to `dir`.
void WriteModel(const Shape& shape, const std::string& dir) {
  const int64_t h = shape.hidden;
  nlohmann::json header;
  int64_t offset = 0;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& extents) {
    int64_t bytes = 2;
    for (const int64_t extent : extents) bytes *= extent;
    header[name] = {
        {"dtype", "BF16"}, {"shape", extents}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  };
  const auto add_linear = [&](const std::string& name, int64_t out, int64_t in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  };
  const auto add_norm = [&](const std::string& name) {
    add(name + ".weight", {h});
    add(name + ".bias", {h});
  };
  add("embeddings.word_embeddings.weight", {kVocabSize, h});
  add("embeddings.position_embeddings.weight", {512, h});
  add("embeddings.token_type_embeddings.weight", {2, h});
  add_norm("embeddings.LayerNorm");
  for (int64_t i = 0; i < shape.num_layers; ++i) {
    const std::string layer = "encoder.layer." + std::to_string(i) + ".";
    for (const char* name : {"query", "key", "value"}) {
      add_linear(layer + "attention.self." + name, h, h);
    }
    add_linear(layer + "attention.output.dense", h, h);
    add_norm(layer + "attention.output.LayerNorm");
    add_linear(layer + "intermediate.dense", shape.intermediate, h);
    add_linear(layer + "output.dense", h, shape.intermediate);
    add_norm(layer + "output.LayerNorm");
  }
  const std::string text = header.dump();
  const uint64_t text_bytes = text.size();
  std::ofstream weights(dir + "/model.safetensors", std::ios::binary);
  weights.write(reinterpret_cast<const char*>(&text_bytes), sizeof(text_bytes));
  weights << text;
  const std::vector<uint16_t> data = RandomBf16(offset / 2);
  weights.write(reinterpret_cast<const char*>(data.data()), offset);
  std::ofstream(dir + "/config.json") << nlohmann::json{{"architectures", {"BertModel"}},
                                                        {"vocab_size", kVocabSize},
                                                        {"hidden_size", h},
                                                        {"intermediate_size", shape.intermediate},
                                                        {"num_hidden_layers", shape.num_layers},
                                                        {"num_attention_heads", shape.num_heads},
                                                        {"max_position_embeddings", 512}};
}

std::unique_ptr<Encoder> MakeEncoder(const Shape& shape, DType dtype) {
  const std::string dir = std::filesystem::temp_directory_path() / "shortlist_encoder_bench";
  std::filesystem::create_directories(dir);
  WriteModel(shape, dir);
  const bool is_quantized = IsQuantized(dtype);
  auto encoder = Encoder::Load(ModelSource::OfDirectory(dir), is_quantized ? DType::kF32 : dtype,
                               Pool(), is_quantized ? std::optional(dtype) : std::nullopt);
  std::filesystem::remove_all(dir);
  if (!encoder.ok()) std::fprintf(stderr, "%s\n", encoder.status().ToString().c_str());
  SHORTLIST_CHECK(encoder.ok());
  return std::move(encoder).value();
}

/// In each iteration, runs `body` once and measures the time of `flops` at the peak.
template <typename Body>
void Measure(benchmark::State& state, DType dtype, double flops, Body&& body) {
  double taken = 0.0, limit = 0.0;
  for (auto _ : state) {
    const double begin = SteadySeconds();
    body();
    const double seconds = SteadySeconds() - begin;
    state.SetIterationTime(seconds);
    taken += seconds;
    limit += PeakDotSeconds(flops, dtype, Pool());
  }
  state.counters["of_peak"] = limit / taken;
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void Forward(benchmark::State& state, const Shape& shape, DType dtype) {
  const int64_t num_tokens = state.range(0);
  // Google Benchmark calls this several times for one shape.
  static std::unique_ptr<Encoder> encoder;
  static std::string loaded;
  const std::string name = std::string(shape.name) + DTypeName(dtype);
  if (loaded != name) encoder = MakeEncoder(shape, dtype);
  loaded = name;
  std::vector<int32_t> ids(static_cast<size_t>(num_tokens));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i * 37 % kVocabSize);
  const std::vector<int32_t> begin = {0, static_cast<int32_t>(num_tokens)};
  Measure(state, dtype, shape.LinearFlops(num_tokens) + shape.AttentionFlops(num_tokens), [&] {
    benchmark::DoNotOptimize(encoder->Forward({ids, {}, begin}).value().data());
  });
}

/// The linear layers alone, over all layers.
void Linear(benchmark::State& state, const Shape& shape, DType dtype) {
  const int64_t num_tokens = state.range(0), h = shape.hidden;
  const std::vector<uint16_t> weights = RandomBf16(3 * h * std::max(h, shape.intermediate));
  std::vector<PackedLinear> linears;
  for (int64_t i = 0; i < shape.num_layers; ++i) {
    for (const auto& [out, in] :
         {std::pair(3 * h, h), std::pair(h, h), std::pair(shape.intermediate, h),
          std::pair(h, shape.intermediate)}) {
      const MatrixView view = {weights.data(), DType::kBf16, out};
      linears.push_back(PackedLinear::Pack({&view, 1}, in, dtype, Pool()));
    }
  }
  const std::vector<float> x(static_cast<size_t>(num_tokens * shape.intermediate), 0.5f);
  std::vector<float> y(static_cast<size_t>(num_tokens * std::max(3 * h, shape.intermediate)));
  Measure(state, dtype, shape.LinearFlops(num_tokens), [&] {
    for (const PackedLinear& linear : linears) {
      LinearCpu(linear, {x.data()}, num_tokens, y.data(), /*accumulate=*/false, Pool());
    }
  });
}

/// Attention alone, over all layers, without the projections.
void Attention(benchmark::State& state, const Shape& shape, DType) {
  const int64_t num_tokens = state.range(0), h = shape.hidden;
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> q(static_cast<size_t>(3 * num_tokens * h));
  for (float& value : q) value = normal(random);
  std::vector<float> out(q.size() / 3);
  const std::vector<int32_t> begin = {0, static_cast<int32_t>(num_tokens)};
  const SequenceAttention attention = {.seq_begin = begin,
                                       .num_heads = shape.num_heads,
                                       .head_dim = shape.head_dim(),
                                       .scale = 1.0f};  // rows are overwritten
  Measure(state, DType::kF32, shape.AttentionFlops(num_tokens), [&] {
    for (int64_t i = 0; i < shape.num_layers; ++i) {
      SequenceAttentionCpu(attention, q.data(), out.data(), Pool());
    }
  });
}

void RegisterAll() {
  const auto add = [](const char* what, const Shape& shape, DType dtype, auto function) {
    const std::string name = std::string(what) + "/" + shape.name + "/" + DTypeName(dtype);
    benchmark::RegisterBenchmark(
        name.c_str(),
        [&shape, dtype, function](benchmark::State& state) { function(state, shape, dtype); })
        ->ArgName("tokens")
        ->Arg(16)
        ->Arg(128)
        ->Arg(512)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  };
  for (const Shape& shape : kShapes) {
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kInt8}) {
      add("Forward", shape, dtype, Forward);
      add("Linear", shape, dtype, Linear);
      if (dtype == DType::kF32) add("Attention", shape, dtype, Attention);
    }
  }
}

}  // namespace
}  // namespace shortlist

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  shortlist::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
}

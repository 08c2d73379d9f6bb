// The kernels of a decode step and of prefill, with the shapes of real models, each compared with
// the machine's limits. In every iteration the kernel runs once, then the plain read of as many
// bytes (or the dot-product peak of as many operations), so that both see the same machine state.
// Counters:
//   of_read   time of the plain read / time of the kernel: 1 is the memory's limit
//   of_head   time of the kernel / time of the full head for one token
//   of_peak   time at the arithmetic peak (of bf16, or of bytes for quantised weights) / time of
//             the kernel
// There are enough copies of the weights that no cache holds them from one use to the next, except
// in CachedPass.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "bench/machine.h"
#include "kernels/attention.h"
#include "kernels/head.h"
#include "kernels/isa.h"
#include "kernels/linear.h"
#include "kernels/quant.h"
#include "kernels/sampling.h"
#include "kernels/sketch_rank.h"

namespace shortlist {
namespace {

struct Shape {
  const char* name;
  int64_t hidden, intermediate, q_features, kv_features, vocab_size;
};

constexpr Shape kDemo = {"Demo", 256, 704, 256, 256, 16384};

constexpr Shape kShapes[] = {
    {"Qwen2.5-0.5B", 896, 4864, 896, 128, 151936},
    {"Llama-3.2-1B", 2048, 8192, 2048, 512, 128256},
    {"Llama-3-8B-draft", 4096, 14336, 4096, 1024, 128256},
    kDemo,
};

constexpr int64_t kColdBytes = int64_t{256} << 20;

ThreadPool& Pool() {
  static ThreadPool pool(static_cast<int>(std::thread::hardware_concurrency()));
  return pool;
}

PlainRead& Read() {
  static PlainRead read(Pool());
  return read;
}

/// Random bf16 bits of small finite numbers.
void FillBf16(void* data, int64_t count) {
  std::mt19937 random(1);
  auto* elements = static_cast<uint16_t*>(data);
  for (int64_t i = 0; i < count; ++i) {
    elements[i] = static_cast<uint16_t>((random() & 0x807f) | 0x3c00);  // +-[0.0078, 0.031)
  }
}

/// Fills rows of a head. Any bytes are valid codes; only scales must be small.
void FillRows(void* data, DType dtype, int64_t num_rows, int64_t hidden) {
  const int64_t row_bytes = RowBytes(dtype, hidden);
  FillBf16(data, num_rows * row_bytes / 2);
}

std::vector<float> Activations(int64_t count) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

/// The linear layers of one decoder layer.
struct Layer {
  PackedLinear qkv, output, gate_up, down;

  Layer(const Shape& s, DType dtype) {
    const auto pack = [dtype](int64_t out, int64_t in) {
      Arena weight(out * in * 2);
      FillBf16(weight.data(), out * in);
      const MatrixView view{weight.data(), DType::kBf16, out};
      return PackedLinear::Pack({&view, 1}, in, dtype, Pool());
    };
    qkv = pack(s.q_features + 2 * s.kv_features, s.hidden);
    output = pack(s.hidden, s.q_features);
    gate_up = pack(2 * s.intermediate, s.hidden);
    down = pack(s.hidden, s.intermediate);
  }

  static int64_t Elements(const Shape& s) {
    return s.hidden * (2 * s.q_features + 2 * s.kv_features + 3 * s.intermediate);
  }
  static int64_t Bytes(const Shape& s, DType dtype) {
    return (s.q_features + 2 * s.kv_features + 2 * s.intermediate) * RowBytes(dtype, s.hidden) +
           s.hidden * (RowBytes(dtype, s.q_features) + RowBytes(dtype, s.intermediate));
  }

  void Run(const float* x, int64_t num_tokens, float* y) const {
    for (const PackedLinear* linear : {&qkv, &output, &gate_up, &down}) {
      LinearCpu(*linear, {x}, num_tokens, y, /*accumulate=*/false, Pool());
    }
  }
};

void LayerStep(benchmark::State& state, const Shape& shape, DType dtype, bool prefill) {
  const int64_t num_tokens = state.range(0);
  const int64_t bytes = Layer::Bytes(shape, dtype);
  std::vector<std::unique_ptr<Layer>> layers;
  do {
    layers.push_back(std::make_unique<Layer>(shape, dtype));
  } while (static_cast<int64_t>(layers.size()) * bytes < kColdBytes);
  const std::vector<float> x = Activations(num_tokens * shape.intermediate);
  std::vector<float> y(num_tokens * 2 * shape.intermediate);
  size_t next = 0;
  double kernel = 0.0, limit = 0.0;
  for (auto _ : state) {
    const double begin = SteadySeconds();
    layers[next++ % layers.size()]->Run(x.data(), num_tokens, y.data());
    const double seconds = SteadySeconds() - begin;
    state.SetIterationTime(seconds);
    kernel += seconds;
    limit += prefill ? PeakDotSeconds(2.0 * Layer::Elements(shape) * num_tokens, dtype, Pool())
                     : Read().Seconds(bytes);
  }
  state.counters[prefill ? "of_peak" : "of_read"] = limit / kernel;
  state.SetBytesProcessed(state.iterations() * bytes);
  state.SetItemsProcessed(state.iterations() * num_tokens);
}

/// Repeated passes over all weights of a small model, which come from the last-level cache as far
/// as they fit. The plain read repeatedly reads one buffer of as many bytes. Each runs several
/// times in a row, since it evicts the other's data.
void CachedPass(benchmark::State& state, const Shape& shape, int64_t num_layers) {
  constexpr int kRun = 16;
  const int64_t num_tokens = state.range(0);
  const int64_t head_bytes = shape.vocab_size * RowBytes(DType::kBf16, shape.hidden);
  const int64_t bytes = num_layers * Layer::Bytes(shape, DType::kBf16) + head_bytes;
  std::vector<std::unique_ptr<Layer>> layers;
  for (int64_t i = 0; i < num_layers; ++i) {
    layers.push_back(std::make_unique<Layer>(shape, DType::kBf16));
  }
  Arena weight(head_bytes);
  FillRows(weight.data(), DType::kBf16, shape.vocab_size, shape.hidden);
  PlainRead read(Pool(), bytes);
  const std::vector<float> x = Activations(num_tokens * shape.intermediate);
  std::vector<float> y(num_tokens * 2 * shape.intermediate);
  std::vector<int32_t> best(num_tokens);
  HeadArgs head;
  head.weight = weight.data();
  head.vocab_size = head.num_rows = shape.vocab_size;
  head.dtype = DType::kBf16;
  head.hidden = shape.hidden;
  head.x = x.data();
  head.num_tokens = num_tokens;
  const auto pass = [&] {
    for (const auto& layer : layers) layer->Run(x.data(), num_tokens, y.data());
    HeadArgmaxCpu(head, best.data(), nullptr, Pool());
  };
  double kernel = 0.0, limit = 0.0;
  for (auto _ : state) {
    pass();
    const double begin = SteadySeconds();
    for (int i = 0; i < kRun; ++i) pass();
    const double seconds = (SteadySeconds() - begin) / kRun;
    state.SetIterationTime(seconds);
    kernel += seconds;
    read.Seconds(bytes);
    for (int i = 0; i < kRun; ++i) limit += read.Seconds(bytes) / kRun;
  }
  state.counters["of_read"] = limit / kernel;
  state.SetBytesProcessed(state.iterations() * bytes);
  state.SetItemsProcessed(state.iterations() * num_tokens);
}

enum class Rows { kFull, kPacked, kInPlace };

void Head(benchmark::State& state, const Shape& shape, DType dtype, Rows rows) {
  const int64_t num_tokens = state.range(0);
  const int64_t num_rows = rows == Rows::kFull ? shape.vocab_size : state.range(1);
  const int64_t row_bytes = RowBytes(dtype, shape.hidden);
  static Arena weight;
  if (weight.bytes() != shape.vocab_size * row_bytes) {
    weight = Arena(shape.vocab_size * row_bytes);
    FillRows(weight.data(), dtype, shape.vocab_size, shape.hidden);
  }
  // Sorted ids spread over the vocabulary; a different set in each iteration.
  std::mt19937 random(3);
  std::vector<int32_t> all(shape.vocab_size);
  for (int64_t i = 0; i < shape.vocab_size; ++i) all[i] = static_cast<int32_t>(i);
  std::vector<std::vector<int32_t>> sets(4);
  for (auto& set : sets) {
    std::shuffle(all.begin(), all.end(), random);
    set.assign(all.begin(), all.begin() + num_rows);
    std::sort(set.begin(), set.end());
  }
  const int64_t num_copies = rows == Rows::kPacked ? kColdBytes / (num_rows * row_bytes) + 1 : 0;
  Arena packed(num_copies * num_rows * row_bytes);
  if (rows == Rows::kPacked) FillRows(packed.data(), dtype, num_copies * num_rows, shape.hidden);
  const std::vector<float> x = Activations(num_tokens * shape.hidden);
  std::vector<int32_t> best(num_tokens);

  HeadArgs args;
  args.weight = weight.data();
  args.dtype = dtype;
  args.vocab_size = shape.vocab_size;
  args.hidden = shape.hidden;
  args.x = x.data();
  args.num_tokens = num_tokens;
  args.num_rows = num_rows;
  int64_t iteration = 0;
  double kernel = 0.0, limit = 0.0;
  for (auto _ : state) {
    if (rows != Rows::kFull) args.row_ids = sets[iteration % sets.size()].data();
    if (rows == Rows::kPacked) {
      args.packed =
          static_cast<char*>(packed.data()) + iteration % num_copies * num_rows * row_bytes;
      args.num_packed = num_rows;
    }
    ++iteration;
    const double begin = SteadySeconds();
    HeadArgmaxCpu(args, best.data(), nullptr, Pool());
    const double seconds = SteadySeconds() - begin;
    state.SetIterationTime(seconds);
    kernel += seconds;
    limit += Read().Seconds(num_rows * row_bytes);
  }
  state.counters["of_read"] = limit / kernel;
  state.SetBytesProcessed(state.iterations() * num_rows * row_bytes);
  state.SetItemsProcessed(state.iterations() * num_tokens);
}

/// A sketch in two steps: 40 dimensions of all rows choose an eighth of the rows, then 128 more
/// dimensions of these choose 1,024. Runs with or without noise, between two uses of the full head
/// in int4 for one token. of_head is the time relative to that head, and should be small.
void SketchChoice(benchmark::State& state, const Shape& shape) {
  constexpr int64_t kRank = 40, kNumChosen = 1024;
  const int64_t num_tokens = state.range(0);
  const int64_t padded =
      (shape.vocab_size + kSketchPanelRows - 1) / kSketchPanelRows * kSketchPanelRows;
  const int64_t num_candidates = shape.vocab_size / 8;
  const int64_t bytes = padded * (kRank / 2 + 2) + num_candidates * (kSketchFineRank / 2 + 2);
  const int64_t num_copies = kColdBytes / bytes + 1;
  Arena codes(num_copies * padded * kRank / 2), scales(num_copies * padded * 2);
  Arena fine_codes(num_copies * padded * kSketchFineRank / 2);
  std::mt19937 random(4);
  for (Arena* arena : {&codes, &fine_codes}) {
    constexpr int64_t kRandomBytes = 1 << 20;
    auto* const code = static_cast<uint8_t*>(arena->data());
    for (int64_t i = 0; i < arena->bytes(); ++i) {
      code[i] = i < kRandomBytes
                    ? static_cast<uint8_t>((1 + random() % 15) << 4 | (1 + random() % 15))
                    : code[i - kRandomBytes + 1];
    }
  }
  std::fill_n(static_cast<uint16_t*>(scales.data()), scales.bytes() / 2, uint16_t{0x3c00});
  Arena weight(shape.vocab_size * RowBytes(DType::kInt4, shape.hidden));
  FillRows(weight.data(), DType::kInt4, shape.vocab_size, shape.hidden);
  const std::vector<float> x = Activations(shape.hidden), query = Activations(num_tokens * kRank),
                           fine_query = Activations(num_tokens * kSketchFineRank);
  HeadArgs head;
  head.weight = weight.data();
  head.dtype = DType::kInt4;
  head.vocab_size = head.num_rows = shape.vocab_size;
  head.hidden = shape.hidden;
  head.x = x.data();
  head.num_tokens = 1;
  std::vector<SketchRace> races(num_tokens);
  if (state.range(1) != 0) std::fill(races.begin(), races.end(), SketchRace{1.25f, 1, 1});
  std::vector<int32_t> candidates(num_tokens * num_candidates), ids(num_tokens * kNumChosen);
  std::vector<uint32_t> candidate_keys(candidates.size()), keys(ids.size());
  int32_t best = 0;
  int64_t iteration = 0;
  double kernel = 0.0, first_step = 0.0, limit = 0.0, of_head = 0.0;
  for (auto _ : state) {
    const int64_t copy = iteration++ % num_copies;
    auto* const scale = static_cast<uint16_t*>(scales.data()) + copy * padded;
    const SketchRows rows = {static_cast<uint8_t*>(codes.data()) + copy * padded * kRank / 2, scale,
                             shape.vocab_size, kRank};
    const SketchFine fine = {
        static_cast<uint8_t*>(fine_codes.data()) + copy * padded * kSketchFineRank / 2, scale};
    const double begin = SteadySeconds();
    SketchRankCpu(rows, query.data(), races.data(), num_tokens, num_candidates, candidates.data(),
                  candidate_keys.data(), Pool());
    first_step += SteadySeconds() - begin;
    SketchRefineCpu(rows, fine, query.data(), fine_query.data(), races.data(), num_tokens,
                    num_candidates, candidates.data(), candidate_keys.data(), kNumChosen,
                    ids.data(), keys.data(), Pool());
    const double seconds = SteadySeconds() - begin;
    state.SetIterationTime(seconds);
    kernel += seconds;
    limit += Read().Seconds(bytes);
    const double head_begin = SteadySeconds();
    HeadArgmaxCpu(head, &best, nullptr, Pool());
    of_head += SteadySeconds() - head_begin;
  }
  state.counters["of_read"] = limit / kernel;
  state.counters["of_head"] = kernel / of_head;
  state.counters["first_step"] = first_step / kernel;
  state.SetBytesProcessed(state.iterations() * bytes);
  state.SetItemsProcessed(state.iterations() * num_tokens);
}

/// Reads the weights of one EAGLE draft step: the join of embedding and feature, a layer, and the
/// head, alternately all of it or packed rows. Counter: speed-up of the step by the pruned head.
void DraftStep(benchmark::State& state, const Shape& shape, DType dtype) {
  const int64_t num_rows = state.range(0);
  const int64_t row_bytes = RowBytes(dtype, shape.hidden);
  const Layer layer(shape, dtype);
  Arena join_weight(shape.hidden * 2 * shape.hidden * 2);
  FillBf16(join_weight.data(), shape.hidden * 2 * shape.hidden);
  const MatrixView view{join_weight.data(), DType::kBf16, shape.hidden};
  const PackedLinear join = PackedLinear::Pack({&view, 1}, 2 * shape.hidden, dtype, Pool());
  Arena weight(shape.vocab_size * row_bytes), packed(num_rows * row_bytes);
  FillRows(weight.data(), dtype, shape.vocab_size, shape.hidden);
  FillRows(packed.data(), dtype, num_rows, shape.hidden);
  std::vector<int32_t> rows(num_rows);
  for (int64_t i = 0; i < num_rows; ++i) {
    rows[i] = static_cast<int32_t>(i * shape.vocab_size / num_rows);
  }
  const std::vector<float> x = Activations(std::max(2 * shape.hidden, shape.intermediate));
  std::vector<float> y(2 * shape.intermediate);
  int32_t best = 0;
  HeadArgs full;
  full.weight = weight.data();
  full.dtype = dtype;
  full.vocab_size = shape.vocab_size;
  full.hidden = shape.hidden;
  full.x = x.data();
  full.num_tokens = 1;
  full.num_rows = shape.vocab_size;
  HeadArgs pruned = full;
  pruned.row_ids = rows.data();
  pruned.num_rows = pruned.num_packed = num_rows;
  pruned.packed = packed.data();
  const auto seconds_with = [&](const HeadArgs& head) {
    const double begin = SteadySeconds();
    LinearCpu(join, {x.data()}, /*num_tokens=*/1, y.data(), /*accumulate=*/false, Pool());
    layer.Run(x.data(), /*num_tokens=*/1, y.data());
    HeadArgmaxCpu(head, &best, nullptr, Pool());
    return SteadySeconds() - begin;
  };
  double with_all = 0.0, with_active = 0.0;
  for (auto _ : state) {
    with_all += seconds_with(full);
    const double seconds = seconds_with(pruned);
    state.SetIterationTime(seconds);
    with_active += seconds;
  }
  state.counters["faster_than_full_head"] = with_all / with_active;
}

void Attention(benchmark::State& state, const Shape& shape) {
  constexpr int64_t kHeadDim = 64;
  const int64_t num_tokens = state.range(0), context = state.range(1);
  const int64_t slot_bytes = shape.kv_features * 2;
  const int64_t num_slots = std::max(context, kColdBytes / slot_bytes / 2);
  Arena keys(num_slots * slot_bytes), values(num_slots * slot_bytes);
  FillBf16(keys.data(), num_slots * shape.kv_features);
  FillBf16(values.data(), num_slots * shape.kv_features);
  const KvLayer cache{keys.data(), values.data(), DType::kBf16, shape.kv_features / kHeadDim,
                      kHeadDim};
  std::vector<int32_t> seq_of_token(num_tokens, 0), slots(context), context_len(num_tokens);
  for (int64_t t = 0; t < num_tokens; ++t) {
    context_len[t] = static_cast<int32_t>(context - num_tokens + t + 1);
  }
  const std::vector<int32_t> indptr = {0, static_cast<int32_t>(context)};
  const std::vector<float> q = Activations(num_tokens * shape.q_features);
  std::vector<float> out(num_tokens * shape.q_features);
  AttentionLayout layout;
  layout.num_tokens = num_tokens;
  layout.seq_of_token = seq_of_token.data();
  layout.kv_indptr = indptr.data();
  layout.kv_slots = slots.data();
  layout.context_len = context_len.data();
  int64_t first = 0;
  double kernel = 0.0, limit = 0.0;
  for (auto _ : state) {
    for (int64_t i = 0; i < context; ++i) slots[i] = static_cast<int32_t>((first + i) % num_slots);
    first = (first + context) % num_slots;
    const double begin = SteadySeconds();
    AttentionCpu(cache, layout, q.data(), shape.q_features, shape.q_features / kHeadDim, 0.125f,
                 out.data(), Pool());
    const double seconds = SteadySeconds() - begin;
    state.SetIterationTime(seconds);
    kernel += seconds;
    limit += Read().Seconds(2 * context * slot_bytes);
  }
  state.counters["of_read"] = limit / kernel;
  state.SetItemsProcessed(state.iterations() * num_tokens);
}

/// A draw from a row of logits, on one thread: the cost of sampling in a step.
void Race(benchmark::State& state) {
  const int64_t count = state.range(0);
  std::vector<float> logits = Activations(count);
  for (float& logit : logits) logit *= 4.0f;
  int64_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        SampleRaceCpu({.logits = logits.data(), .count = count, .inverse_temperature = 1.25f},
                      {.seed = 1, .position = position++}));
  }
  state.SetItemsProcessed(state.iterations() * count);
}

void RegisterShape(const Shape& shape, DType dtype) {
  const std::string suffix = "/" + std::string(shape.name) + (dtype == DType::kBf16 ? "" : "/") +
                             (dtype == DType::kBf16 ? "" : DTypeName(dtype));
  const auto add = [&](const std::string& what, auto run) {
    return benchmark::RegisterBenchmark((what + suffix).c_str(), run)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  };
  auto* decode = add("Layer", [&shape, dtype](benchmark::State& s) {
    LayerStep(s, shape, dtype, /*prefill=*/false);
  });
  decode->ArgName("tokens");
  for (int64_t tokens : {1, 2, 4, 5, 8}) decode->Arg(tokens);
  add("LayerPrefill",
      [&shape, dtype](benchmark::State& s) { LayerStep(s, shape, dtype, /*prefill=*/true); })
      ->ArgName("tokens")
      ->Arg(512);
  auto* full =
      add("HeadFull", [&shape, dtype](benchmark::State& s) { Head(s, shape, dtype, Rows::kFull); });
  full->ArgName("tokens");
  for (int64_t tokens : {1, 2, 3, 4, 5, 6, 8}) full->Arg(tokens);
  auto* packed = add(
      "HeadPacked", [&shape, dtype](benchmark::State& s) { Head(s, shape, dtype, Rows::kPacked); });
  auto* in_place = add("HeadInPlace", [&shape, dtype](benchmark::State& s) {
    Head(s, shape, dtype, Rows::kInPlace);
  });
  for (auto* head : {packed, in_place}) {
    head->ArgNames({"tokens", "rows"});
    for (int64_t rows : {8192, 32768}) {
      if (rows > shape.vocab_size / 2) continue;
      for (int64_t tokens : {1, 8}) head->Args({tokens, rows});
    }
  }
  if (shape.vocab_size > 2 * 8192) {
    add("DraftStep", [&shape, dtype](benchmark::State& s) { DraftStep(s, shape, dtype); })
        ->ArgName("rows")
        ->Arg(8192);
  }
  if (dtype != DType::kBf16) return;
  add("Sketch", [&shape](benchmark::State& s) { SketchChoice(s, shape); })
      ->ArgNames({"tokens", "noise"})
      ->Args({1, 0})
      ->Args({1, 1})
      ->Args({8, 0})
      ->Args({8, 1});
  if (shape.vocab_size == kDemo.vocab_size) {
    auto* cached = add("CachedPass",
                       [&shape](benchmark::State& s) { CachedPass(s, shape, /*num_layers=*/11); });
    cached->ArgName("tokens");
    for (int64_t tokens : {1, 2, 4, 5, 8, 12}) cached->Arg(tokens);
  }
  add("Attention", [&shape](benchmark::State& s) { Attention(s, shape); })
      ->ArgNames({"tokens", "context"})
      ->Args({1, 128})
      ->Args({8, 128})
      ->Args({1, 4096})
      ->Args({8, 4096});
}

void Register() {
  auto* race = benchmark::RegisterBenchmark("Race", Race)->Unit(benchmark::kMicrosecond);
  for (int64_t rows : {4096, 16384, 151936}) race->ArgName("rows")->Arg(rows);
  for (const Shape& shape : kShapes) {
    for (const DType dtype : {DType::kBf16, DType::kInt8, DType::kInt4}) {
      RegisterShape(shape, dtype);
    }
  }
}

}  // namespace
}  // namespace shortlist

int main(int argc, char** argv) {
  if (!shortlist::ChooseIsaOfEnvironment()) return 2;
  benchmark::AddCustomContext("isa", shortlist::IsaName(shortlist::CurrentIsa()));
  shortlist::Register();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

// The whole engine with one model, without a draft, in three kinds of work:
//   decode   one sequence, one token per step
//   eight    eight sequences, eight rows per step
//   prefill  one prompt of 512 tokens in one pass
// Prints a line of JSON about the run, then one for each slice of work. Every slice also measures
// the machine's limits at that moment. of_read is the time of a plain parallel read of the weights'
// bytes over the time of a pass. of_peak is the time of its operations at the dot-product peak
// (bench/machine.h) over the time of a pass. Token ids are generated, so a model directory needs no
// tokenizer.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/check.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "bench/machine.h"
#include "draft/engine.h"
#include "kernels/isa.h"
#include "kernels/quant.h"
#include "model/decoder.h"
#include "nlohmann/json.hpp"
#include "request/sequence.h"

namespace shortlist {
namespace {

struct Work {
  const char* name;
  int64_t num_sequences;
  int64_t prompt_len;
  int64_t num_steps;  // 0: measure the prompt's own pass
};

constexpr Work kWorks[] = {
    {"decode", 1, 32, 32},
    {"eight", 8, 32, 16},
    {"prefill", 1, 512, 0},
};

struct Flags {
  std::string model;
  std::optional<DType> quantize;
  int num_threads = static_cast<int>(std::thread::hardware_concurrency());
  int num_rounds = 5;
  bool wait = false;
};

constexpr int kPeakRuns = 20;  // each takes a fraction of a millisecond; the fastest counts

/// Number of weight elements of all linear layers, which every row of a pass is multiplied with.
int64_t LayerElements(const ModelConfig& c) {
  const int64_t attention = 2 * (c.num_heads + c.num_kv_heads) * c.head_dim;
  return c.num_layers * c.hidden * (attention + 3 * c.intermediate);
}

/// Operations of one pass over `num_rows` rows, `num_scored` of which are scored. Each row attends
/// to about `context` positions.
double Flops(const ModelConfig& c, double num_rows, double num_scored, double context) {
  const double attention =
      4.0 * context * static_cast<double>(c.num_layers * c.num_heads * c.head_dim);
  return num_rows * (2.0 * static_cast<double>(LayerElements(c)) + attention) +
         num_scored * 2.0 * static_cast<double>(c.vocab_size * c.hidden);
}

bool IsInBlocks(const Decoder& decoder) { return IsBlocked(decoder.head_weight().dtype); }

/// Bytes of the weights that one pass reads.
absl::StatusOr<int64_t> PassBytes(const ModelSource& source, const Decoder& decoder) {
  const ModelConfig& c = decoder.config();
  if (IsInBlocks(decoder)) {
    SHORTLIST_ASSIGN_OR_RETURN(const WeightFiles files, source.OpenWeights());
    int64_t bytes = 0;
    for (const auto& [name, location] : files.tensors()) {
      const TensorEntry& entry = *location.entry;
      const bool is_lookup = name == "model.embed_tokens.weight" && !c.tie_word_embeddings;
      if (is_lookup || !entry.block_type()) continue;
      const int64_t width = entry.shape.back();
      bytes += entry.num_elements / width * RowBytes(*entry.block_type(), width);
    }
    return bytes;
  }
  const DType dtype = decoder.weight_dtype();
  const int64_t q_features = c.num_heads * c.head_dim;
  const int64_t hidden_rows =
      q_features + 2 * c.num_kv_heads * c.head_dim + 2 * c.intermediate;  // of [hidden]
  const int64_t layer_bytes =
      hidden_rows * RowBytes(dtype, c.hidden) +
      c.hidden * (RowBytes(dtype, q_features) + RowBytes(dtype, c.intermediate));
  return c.num_layers * layer_bytes + c.vocab_size * RowBytes(dtype, c.hidden);
}

/// A model and an engine that decodes without a draft. Used by one thread.
class Bench {
 public:
  static absl::StatusOr<std::unique_ptr<Bench>> Create(const Flags& flags);

  nlohmann::json Describe() const;
  absl::StatusOr<nlohmann::json> Measure(const Work& work);

 private:
  explicit Bench(int num_threads) : pool_(num_threads), read_(pool_) {}

  absl::StatusOr<std::vector<std::unique_ptr<Sequence>>> NewSequences(const Work& work) const;

  ThreadPool pool_;
  int64_t pass_bytes_ = 0;
  PlainRead read_;
  std::unique_ptr<Decoder> target_;
  std::unique_ptr<SpeculativeEngine> engine_;
};

absl::StatusOr<std::unique_ptr<Bench>> Bench::Create(const Flags& flags) {
  std::unique_ptr<Bench> bench(new Bench(flags.num_threads));
  SHORTLIST_ASSIGN_OR_RETURN(const ModelSource source, ModelSource::Open(flags.model));
  SHORTLIST_ASSIGN_OR_RETURN(
      bench->target_, Decoder::Load(source, /*dtype=*/std::nullopt, bench->pool_, flags.quantize));
  SHORTLIST_ASSIGN_OR_RETURN(bench->pass_bytes_, PassBytes(source, *bench->target_));
  int64_t num_slots = 0;
  for (const Work& work : kWorks) {
    num_slots = std::max(num_slots, work.num_sequences * (work.prompt_len + work.num_steps));
  }
  const SpeculativeEngine::Options options{.num_draft_tokens = 0,
                                           .num_slots = num_slots,
                                           .emit_size = bench->target_->config().vocab_size};
  SHORTLIST_ASSIGN_OR_RETURN(bench->engine_,
                             SpeculativeEngine::Create(*bench->target_, /*drafter=*/nullptr,
                                                       /*vocab=*/nullptr, options, bench->pool_));
  return bench;
}

nlohmann::json Bench::Describe() const {
  return {{"engine", "shortlist"},
          {"isa", IsaName(CurrentIsa())},
          {"threads", pool_.num_threads()},
          {"weights", target_->weight_types()},
          {"pass_bytes", pass_bytes_}};
}

absl::StatusOr<std::vector<std::unique_ptr<Sequence>>> Bench::NewSequences(const Work& work) const {
  const int64_t vocab_size = target_->config().vocab_size;
  std::vector<std::unique_ptr<Sequence>> sequences;
  for (int64_t s = 0; s < work.num_sequences; ++s) {
    std::vector<TokenId> prompt;
    for (int64_t i = 0; i < work.prompt_len; ++i) {  // same ids as in bench/peers/run.py
      prompt.push_back(TokenId{static_cast<int32_t>((104729 * s + 7919 * i) % vocab_size)});
    }
    Sequence::Options options;
    options.sampling.max_new_tokens = work.num_steps + 2;  // does not finish within the slice
    SHORTLIST_ASSIGN_OR_RETURN(sequences.emplace_back(),
                               Sequence::Create(std::move(prompt), std::move(options), vocab_size));
  }
  return sequences;
}

absl::StatusOr<nlohmann::json> Bench::Measure(const Work& work) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<std::unique_ptr<Sequence>> owned,
                             NewSequences(work));
  const int64_t num_slots = work.prompt_len + work.num_steps;
  std::vector<int32_t> slots(work.num_sequences * num_slots);
  std::iota(slots.begin(), slots.end(), 0);
  std::vector<StepWork> batch;
  for (size_t s = 0; s < owned.size(); ++s) {
    batch.push_back({owned[s].get(), std::span(slots).subspan(s * num_slots, num_slots)});
  }
  const bool prefill = work.num_steps == 0;

  double begin = SteadySeconds();
  SHORTLIST_RETURN_IF_ERROR(
      engine_->Prefill(batch, /*max_tokens=*/work.num_sequences * work.prompt_len).status());
  if (!prefill) begin = SteadySeconds();
  for (int64_t step = 0; step < work.num_steps; ++step) {
    SHORTLIST_RETURN_IF_ERROR(engine_->Step(batch).status());
  }
  const double num_passes = prefill ? 1.0 : static_cast<double>(work.num_steps);
  const double seconds = (SteadySeconds() - begin) / num_passes;

  const auto num_sequences = static_cast<double>(work.num_sequences);
  const double num_rows = prefill ? static_cast<double>(work.prompt_len) : num_sequences;
  const double context =
      static_cast<double>(prefill ? work.prompt_len / 2 : work.prompt_len + work.num_steps / 2);
  const double flops = Flops(target_->config(), num_rows, num_sequences, context);
  const double read_seconds = read_.Seconds(pass_bytes_);
  const DType dtype = IsInBlocks(*target_) ? DType::kInt8 : target_->weight_dtype();
  double peak_seconds = PeakDotSeconds(flops, dtype, pool_);
  for (int i = 1; i < kPeakRuns; ++i) {
    peak_seconds = std::min(peak_seconds, PeakDotSeconds(flops, dtype, pool_));
  }
  return nlohmann::json{{"work", work.name},
                        {"ms", 1e3 * seconds},
                        {"tokens_per_s", num_rows / seconds},
                        {"of_read", read_seconds / seconds},
                        {"of_peak", peak_seconds / seconds},
                        {"read_gb_per_s", 1e-9 * static_cast<double>(pass_bytes_) / read_seconds},
                        {"peak_gflop_per_s", 1e-9 * flops / peak_seconds},
                        {"first_output", Raw(owned[0]->output().front())}};
}

absl::Status Run(const Flags& flags) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Bench> bench, Bench::Create(flags));
  std::cout << bench->Describe().dump() << std::endl;
  for (int round = 0; round < flags.num_rounds; ++round) {
    for (const Work& work : kWorks) {
      std::string line;
      if (flags.wait && !std::getline(std::cin, line)) return absl::OkStatus();
      SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json slice, bench->Measure(work));
      std::cout << slice.dump() << std::endl;
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace shortlist

int main(int argc, char** argv) {
  if (!shortlist::ChooseIsaOfEnvironment()) return 2;
  CLI::App app("Decoding and prefill of a whole model, compared with the machine's limits");
  shortlist::Flags flags;
  app.add_option("--model", flags.model, "A Hugging Face model directory or a GGUF file")
      ->required();
  std::string quantize;
  app.add_option("--quantize", quantize, "Linear layers and head, on load")
      ->check(CLI::IsMember({"int8", "int4"}));
  app.add_option("--threads", flags.num_threads, "CPU threads")->check(CLI::Range(1, 1024));
  app.add_option("--rounds", flags.num_rounds, "Slices of each kind of work")
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--wait", flags.wait,
               "Each slice waits for a line on standard input, so that others measure in between");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::cerr << "engine_bench: " << error.what() << "\n";
    return 2;
  }
  if (quantize == "int8") flags.quantize = shortlist::DType::kInt8;
  if (quantize == "int4") flags.quantize = shortlist::DType::kInt4;
  const absl::Status status = shortlist::Run(flags);
  if (!status.ok()) std::cerr << "engine_bench: " << status.message() << "\n";
  return status.ok() ? 0 : 2;
}

#include "tests/draft/pair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "base/status_macros.h"
#include "draft/eagle_drafter.h"
#include "draft/model_drafter.h"
#include "nlohmann/json.hpp"
#include "tests/support/tiny_llama.h"
#include "text/tokenizer.h"
#include "vocab/vocab_list.h"
#include "vocab/vocab_options.h"

namespace shortlist {
namespace {

/// At most `count` prompts of a JSONL file, `prompt` or the first of `turns`, cut to `max_len`
/// tokens.
std::vector<std::vector<TokenId>> ReadPrompts(const std::string& path, int64_t count,
                                              int64_t max_len) {
  auto tokenizer = OpenTokenizer(ModelSource::OfDirectory(SourcePath("models/demo/target")));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  std::vector<std::vector<TokenId>> prompts;
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  for (std::string line; static_cast<int64_t>(prompts.size()) < count && std::getline(in, line);) {
    const nlohmann::json row = nlohmann::json::parse(line);
    const std::string text = row.contains("prompt") ? row["prompt"] : row["turns"][0];
    auto ids = (*tokenizer)->Encode(text);
    EXPECT_TRUE(ids.ok()) << ids.status();
    if (static_cast<int64_t>(ids->size()) > max_len) ids->resize(max_len);
    prompts.push_back(std::move(*ids));
  }
  return prompts;
}

}  // namespace

const char* Name(DrafterKind kind) {
  switch (kind) {
    case DrafterKind::kNone:
      return "plain";
    case DrafterKind::kSuffix:
      return "suffix";
    case DrafterKind::kEagle:
      return "eagle";
    case DrafterKind::kEagle3:
      return "eagle3";
    case DrafterKind::kModel:
      return "model";
    case DrafterKind::kSelf:
      return "self";
  }
  return "?";
}

const char* Name(VocabKind kind) {
  switch (kind) {
    case VocabKind::kFullHead:
      return "full";
    case VocabKind::kRatioQuarter:
      return "ratio:0.25";
    case VocabKind::kListTop2048:
      return "list:top=2048";
    case VocabKind::kListAndDynamic:
      return "list:top=1024+dynamic";
    case VocabKind::kSuccessors:
      return "list:top=256:successors=256+dynamic";
    case VocabKind::kSketch:
      return "empty+sketch";
  }
  return "?";
}

std::string RunConfig::ToString() const {
  return std::string(Name(drafter)) + " " + Name(vocab) + " K=" + std::to_string(num_draft_tokens) +
         " p_min=" + (draft_p_min ? std::to_string(*draft_p_min) : "by costs") +
         " batch=" + std::to_string(batch) + " chunk=" + std::to_string(prefill_chunk) +
         " T=" + std::to_string(sampling.temperature) + " seed=" + std::to_string(sampling.seed);
}

int64_t TailRows(VocabKind kind) { return kind == VocabKind::kListAndDynamic ? 256 : 0; }

absl::StatusOr<std::unique_ptr<Eagle3Model>> LoadEagle3(const std::string& dir,
                                                        const Decoder& target, ThreadPool& pool,
                                                        std::optional<DType> quantize,
                                                        std::optional<std::vector<int64_t>> taps) {
  const ModelSource source = ModelSource::OfDirectory(dir);
  SHORTLIST_ASSIGN_OR_RETURN(Eagle3Config config, ReadEagle3Config(source));
  SHORTLIST_RETURN_IF_ERROR(config.FitTarget(target.config(), std::move(taps), dir));
  return Eagle3Model::Load(source, config, target, pool, quantize);
}

std::unique_ptr<DemoPair> DemoPair::Load(int num_threads, std::optional<DType> dtype,
                                         std::optional<DType> quantize,
                                         std::optional<DType> quantize_draft) {
  std::unique_ptr<DemoPair> pair(new DemoPair(num_threads));
  const std::string target_dir = SourcePath("models/demo/target");
  auto target = Decoder::Load(ModelSource::OfDirectory(target_dir), dtype, pair->pool_, quantize);
  EXPECT_TRUE(target.ok()) << target.status();
  if (!target.ok()) return nullptr;
  pair->target_ = std::move(*target);
  auto eagle = EagleModel::Load(ModelSource::OfDirectory(SourcePath("models/demo/draft")),
                                *pair->target_, pair->pool_, quantize_draft);
  EXPECT_TRUE(eagle.ok()) << eagle.status();
  if (!eagle.ok()) return nullptr;
  pair->eagle_ = std::move(*eagle);
  auto eagle3 =
      LoadEagle3(SourcePath("models/demo/eagle3"), *pair->target_, pair->pool_, quantize_draft);
  EXPECT_TRUE(eagle3.ok()) << eagle3.status();
  if (!eagle3.ok()) return nullptr;
  pair->eagle3_ = std::move(*eagle3);
  TempDir dir;
  const absl::Status cut = TruncateLayers(target_dir, dir.Join("small"), /*num_layers=*/2);
  EXPECT_TRUE(cut.ok()) << cut;
  auto small = Decoder::Load(ModelSource::OfDirectory(dir.Join("small")), dtype, pair->pool_,
                             quantize_draft);
  EXPECT_TRUE(small.ok()) << small.status();
  if (!small.ok()) return nullptr;
  pair->small_ = std::move(*small);
  return pair;
}

std::shared_ptr<const HeadOnDevice> DemoPair::CopyHead(DrafterKind kind, const HeadDevice& device) {
  auto copied = device.Copy(HeadOf(kind));
  EXPECT_TRUE(copied.ok()) << copied.status();
  return *std::move(copied);
}

std::unique_ptr<ChainDrafter> DemoPair::NewDrafter(DrafterKind kind, int64_t num_slots,
                                                   std::shared_ptr<const HeadOnDevice> device) {
  if (kind == DrafterKind::kNone || kind == DrafterKind::kSuffix) return nullptr;
  Decoder& model = kind == DrafterKind::kModel ? *small_ : *target_;
  if (kind == DrafterKind::kEagle || kind == DrafterKind::kEagle3) {
    EagleNetwork& network =
        kind == DrafterKind::kEagle ? static_cast<EagleNetwork&>(*eagle_) : *eagle3_;
    auto drafter = EagleDrafter::Create(network, num_slots, emit_size(), pool_, device);
    EXPECT_TRUE(drafter.ok()) << drafter.status();
    return std::move(*drafter);
  }
  auto drafter = ModelDrafter::Create(model, num_slots, emit_size(), pool_, device);
  EXPECT_TRUE(drafter.ok()) << drafter.status();
  return std::move(*drafter);
}

HeadWeight DemoPair::HeadOf(DrafterKind kind) const {
  return kind == DrafterKind::kEagle    ? eagle_->head_weight()
         : kind == DrafterKind::kEagle3 ? eagle3_->head_weight()
         : kind == DrafterKind::kModel  ? small_->head_weight()
                                        : target_->head_weight();
}

std::shared_ptr<const Sketch> DemoPair::NewSketch(DrafterKind kind) {
  const HeadWeight head = HeadOf(kind);
  const auto basis = SketchBasis::Fit(head, emit_size(), SketchBasis::DefaultRank(head.hidden),
                                      /*moments=*/nullptr, pool_);
  EXPECT_TRUE(basis.ok()) << basis.status();
  auto sketch = Sketch::Create(*basis, head, emit_size(), pool_);
  EXPECT_TRUE(sketch.ok()) << sketch.status();
  return *std::move(sketch);
}

std::unique_ptr<DynamicVocabularyManager> DemoPair::NewVocab(VocabKind kind, DrafterKind drafter) {
  if (kind == VocabKind::kFullHead) return nullptr;
  VocabOptions options;
  options.use_static_vocab = true;
  if (kind == VocabKind::kSketch) {
    options.empty = true;
  } else if (kind == VocabKind::kRatioQuarter) {
    options.static_vocab_ratio = 0.25;
  } else {
    options.custom_vocab_path = SourcePath("vocab_lists/demo.vocab.json");
    options.top_n = kind == VocabKind::kListTop2048 ? 2048 : 1024;
  }
  if (kind == VocabKind::kSuccessors) options.top_n = options.successors = 256;
  VocabTarget target{emit_size(), /*fingerprint=*/""};
  if (drafter == DrafterKind::kEagle3) target.head_rows = eagle3_->head_rows();
  auto base =
      options.names_list()
          ? SelectVocabBase(options, *ReadVocabList(options.custom_vocab_path, target), target)
          : SelectVocabBase(options, target);
  EXPECT_TRUE(base.ok()) << base.status();
  const bool has_dynamic = kind == VocabKind::kListAndDynamic || kind == VocabKind::kSuccessors;
  auto manager = DynamicVocabularyManager::Create(
      *base, {.dynamic_capacity = has_dynamic ? 32 : 0, .pinned = {}});
  EXPECT_TRUE(manager.ok()) << manager.status();
  return std::move(*manager);
}

RunResult DemoPair::Run(const std::vector<std::vector<TokenId>>& prompts, const RunConfig& config) {
  const int64_t num_slots = config.batch * kLaneSlots;
  std::shared_ptr<const HeadOnDevice> device;
  if (config.device != nullptr) device = CopyHead(config.drafter, *config.device);
  std::unique_ptr<ChainDrafter> own_drafter;
  if (config.eagle3 != nullptr) {
    auto drafter = EagleDrafter::Create(*config.eagle3, num_slots, emit_size(), pool_);
    EXPECT_TRUE(drafter.ok()) << drafter.status();
    own_drafter = std::move(*drafter);
  } else if (config.kept_drafter == nullptr) {
    own_drafter = NewDrafter(config.drafter, num_slots, device);
  }
  ChainDrafter* const drafter =
      config.kept_drafter != nullptr ? config.kept_drafter : own_drafter.get();
  if (drafter != nullptr && config.vocab == VocabKind::kSketch) {
    drafter->UseSketch(NewSketch(config.drafter), kSketchRows, pool_, device);
  }
  std::unique_ptr<DynamicVocabularyManager> vocab = NewVocab(config.vocab, config.drafter);
  DynamicVocabularyManager* const used = config.sizer != nullptr ? config.sizer_vocab : vocab.get();
  auto engine = SpeculativeEngine::Create(*target_, drafter, used,
                                          {.num_draft_tokens = config.num_draft_tokens,
                                           .draft_p_min = config.draft_p_min,
                                           .now_ms = config.now_ms,
                                           .suffix_drafts = config.suffix_drafts,
                                           .copies_alone = config.drafter == DrafterKind::kSuffix,
                                           .past_output_bytes = config.past_output_bytes,
                                           .verify = config.verify,
                                           .sizer = config.sizer,
                                           .num_slots = num_slots,
                                           .emit_size = emit_size()},
                                          pool_);
  EXPECT_TRUE(engine.ok()) << engine.status();
  std::vector<int32_t> slots(num_slots);
  std::iota(slots.begin(), slots.end(), 0);
  std::shuffle(slots.begin(), slots.end(), std::mt19937(17));  // order in memory must not matter

  RunResult result;
  for (size_t first = 0; first < prompts.size(); first += config.batch) {
    std::vector<std::unique_ptr<Sequence>> owned;
    for (int64_t lane = 0; lane < config.batch && first + lane < prompts.size(); ++lane) {
      Sequence::Options options;
      options.sampling = config.sampling;
      if (config.count_up_seeds) options.sampling.seed += first + lane;
      options.max_tail_rows = TailRows(config.vocab);
      auto sequence = Sequence::Create(prompts[first + lane], options, emit_size());
      EXPECT_TRUE(sequence.ok()) << sequence.status();
      owned.push_back(std::move(*sequence));
    }
    std::vector<StepWork> running;
    for (const auto& sequence : owned) {
      running.push_back(
          {sequence.get(), std::span(slots).subspan(running.size() * kLaneSlots, kLaneSlots)});
    }
    const auto prefilled = [](const StepWork& work) { return work.sequence->prefilled(); };
    while (!std::all_of(running.begin(), running.end(), prefilled)) {
      std::vector<StepWork> waiting;
      std::copy_if(running.begin(), running.end(), std::back_inserter(waiting),
                   [&](const StepWork& work) { return !prefilled(work); });
      const absl::Status status = (*engine)->Prefill(waiting, config.prefill_chunk).status();
      EXPECT_TRUE(status.ok()) << status;
      if (!status.ok()) return result;
    }
    while (true) {
      std::erase_if(running, [](const StepWork& work) { return work.sequence->finished(); });
      if (running.empty()) break;
      const absl::Status status = (*engine)->Step(running).status();
      EXPECT_TRUE(status.ok()) << status;
      if (!status.ok()) return result;
    }
    for (const auto& sequence : owned) {
      result.outputs.emplace_back(sequence->output().begin(), sequence->output().end());
      result.total.Add(sequence->stats);
    }
  }
  result.engine = (*engine)->stats();
  return result;
}

std::vector<std::vector<TokenId>> TestPrompts(int64_t count, int64_t max_len) {
  return ReadPrompts(SourcePath("examples/prompts.jsonl"), count, max_len);
}

std::vector<std::vector<TokenId>> EqualityPrompts(int64_t max_len) {
  const char* path = std::getenv("SHORTLIST_EQUALITY_PROMPTS");
  if (path == nullptr) return TestPrompts(/*count=*/kShortSuites ? 2 : 5, max_len);
  return ReadPrompts(path, std::numeric_limits<int64_t>::max(), max_len);
}

}  // namespace shortlist

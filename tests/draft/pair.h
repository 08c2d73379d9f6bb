#ifndef SHORTLIST_TESTS_DRAFT_PAIR_H_
#define SHORTLIST_TESTS_DRAFT_PAIR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "draft/chain_drafter.h"
#include "draft/engine.h"
#include "head/head_on_device.h"
#include "model/decoder.h"
#include "model/eagle3_model.h"
#include "model/eagle_model.h"
#include "request/sampling_params.h"
#include "sketch/sketch.h"
#include "tests/support/temp_dir.h"

namespace shortlist {

/// Sanitizer builds run short suites: the plain build tests long outputs of many prompts.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kShortSuites = true;
#else
inline constexpr bool kShortSuites = false;
#endif

// kSuffix: no drafter, copies of earlier text alone.
enum class DrafterKind { kNone, kSuffix, kEagle, kEagle3, kModel, kSelf };
enum class VocabKind {
  kFullHead,
  kRatioQuarter,
  kListTop2048,
  kListAndDynamic,
  kSuccessors,
  kSketch,  // kSketchRows rows by a sketch of the drafter's head alone, and nothing else
};
inline constexpr int64_t kSketchRows = 128;
/// KV slots of one request; max_new_tokens cuts longer sequences.
inline constexpr int64_t kLaneSlots = 384;

const char* Name(DrafterKind kind);
const char* Name(VocabKind kind);

/// How to generate: everything that must not change the output, and the sampling that decides it.
struct RunConfig {
  DrafterKind drafter = DrafterKind::kNone;
  VocabKind vocab = VocabKind::kFullHead;
  int64_t num_draft_tokens = 4;
  std::optional<double> draft_p_min = 0.0;  // 0: chains of num_draft_tokens; null: by costs
  std::function<double()> now_ms;           // null: the clock
  bool suffix_drafts = true;
  int64_t past_output_bytes = 0;  // 0: requests copy from their own text only
  int64_t batch = 1;
  int64_t prefill_chunk = 512;
  VerifyMode verify = VerifyMode::kCoupled;
  SamplingParams sampling;
  const HeadDevice* device = nullptr;  // of the drafter's head; null: the CPU
  bool count_up_seeds = true;          // request i uses sampling.seed + i
  VocabSizer* sizer = nullptr;         // of sizer_vocab, which is used in place of `vocab`
  DynamicVocabularyManager* sizer_vocab = nullptr;
  ChainDrafter* kept_drafter = nullptr;  // of kind `drafter`, used in place of a new one
  Eagle3Model* eagle3 = nullptr;         // the head of kEagle3, in place of the shipped one

  std::string ToString() const;
};

struct RunResult {
  std::vector<std::vector<TokenId>> outputs;  // [prompts.size()]
  SequenceStats total;
  EngineStats engine;
};

/// Reads and loads an EAGLE-3 head for `target`; an error of any step. `taps`: as FitTarget takes
/// them.
absl::StatusOr<std::unique_ptr<Eagle3Model>> LoadEagle3(
    const std::string& dir, const Decoder& target, ThreadPool& pool,
    std::optional<DType> quantize = std::nullopt,
    std::optional<std::vector<int64_t>> taps = std::nullopt);

/// The shipped demo pair, its EAGLE-1 and EAGLE-3 drafts, and as model draft the target's own first
/// two layers.
class DemoPair {
 public:
  /// Null with a failed expectation when the models cannot be loaded.
  /// `dtype` is that of all models, `quantize` the target's and `quantize_draft` the drafts',
  /// as Decoder::Load takes them.
  static std::unique_ptr<DemoPair> Load(int num_threads, std::optional<DType> dtype = std::nullopt,
                                        std::optional<DType> quantize = std::nullopt,
                                        std::optional<DType> quantize_draft = std::nullopt);

  /// Generates for every prompt; requests run in batches of config.batch on shuffled KV slots.
  RunResult Run(const std::vector<std::vector<TokenId>>& prompts, const RunConfig& config);

  Decoder& target() { return *target_; }
  EagleModel& eagle() { return *eagle_; }
  Eagle3Model& eagle3() { return *eagle3_; }
  ThreadPool& pool() { return pool_; }
  int64_t emit_size() const { return target_->config().vocab_size; }

  /// A copy of the head of such a drafter on `device`; not for kNone.
  std::shared_ptr<const HeadOnDevice> CopyHead(DrafterKind kind, const HeadDevice& device);
  /// A drafter of the kind wanted, null for kNone and kSuffix. `device`: CopyHead's; null: the CPU.
  std::unique_ptr<ChainDrafter> NewDrafter(DrafterKind kind, int64_t num_slots,
                                           std::shared_ptr<const HeadOnDevice> device = nullptr);
  /// Returns a sketch of the head that such a drafter has; not for kNone, nor for kEagle3, whose
  /// head lacks rows.
  std::shared_ptr<const Sketch> NewSketch(DrafterKind kind);
  HeadWeight HeadOf(DrafterKind kind) const;
  /// The vocabulary of the kind wanted for such a drafter, null for the full head.
  std::unique_ptr<DynamicVocabularyManager> NewVocab(VocabKind kind,
                                                     DrafterKind drafter = DrafterKind::kNone);

 private:
  explicit DemoPair(int num_threads) : pool_(num_threads) {}

  ThreadPool pool_;
  std::unique_ptr<Decoder> target_;
  std::unique_ptr<EagleModel> eagle_;
  std::unique_ptr<Eagle3Model> eagle3_;
  std::unique_ptr<Decoder> small_;
};

/// Tail rows that requests of this kind of vocabulary may add.
int64_t TailRows(VocabKind kind);

/// The first `count` prompts of examples/prompts.jsonl (there are seven), cut to `max_len` tokens.
std::vector<std::vector<TokenId>> TestPrompts(int64_t count, int64_t max_len);

/// The prompts that equality is proven over: all of the JSONL file that the environment variable
/// SHORTLIST_EQUALITY_PROMPTS names (rows as `shortlist generate --prompts` takes them), else five
/// of examples/.
std::vector<std::vector<TokenId>> EqualityPrompts(int64_t max_len);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_DRAFT_PAIR_H_

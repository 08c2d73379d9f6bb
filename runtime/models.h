#ifndef SHORTLIST_RUNTIME_MODELS_H_
#define SHORTLIST_RUNTIME_MODELS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "draft/chain_drafter.h"
#include "head/device_rows.h"
#include "head/head_kernels.h"
#include "head/sketch.h"
#include "io/model_source.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/generation_config.h"
#include "model/decoder.h"
#include "model/eagle_model.h"
#include "text/tokenizer.h"
#include "vocab/active_vocab.h"
#include "vocab/base_ladder.h"
#include "vocab/vocab_list.h"
#include "vocab/vocab_options.h"

namespace shortlist {

/// Where the draft's head is scored; everything else runs on the CPU.
enum class Device { kCpu, kCuda };

struct ModelOptions {
  std::string model;  // a Hugging Face directory, or org/name[@revision] of the local cache
  std::string draft;  // likewise; empty: plain decoding
  Device device = Device::kCpu;
  std::optional<DType> dtype;           // nullopt: the checkpoint's
  std::optional<DType> quantize;        // of linear layers and heads; nullopt: not at all
  std::optional<DType> quantize_draft;  // of the draft's; nullopt: as `quantize`
};

/// A target, its draft and their tokenizer, all checked against each other. Used by one thread.
class Models {
 public:
  /// Reads all but the weights, so that what is wrong shows early. Errors name what does not fit: a
  /// directory, a target that is a draft's head, a device that cannot be used
  /// (OpenCudaHeadKernels). `pool` must outlive this.
  static absl::StatusOr<std::unique_ptr<Models>> Open(const ModelOptions& options,
                                                      ThreadPool& pool);
  /// Reads the weights, once. InvalidArgument or FailedPrecondition for a draft with another
  /// tokenizer (both fingerprints); errors of Decoder::Load, EagleModel::Load and CheckUnchanged.
  absl::Status Load();
  /// Unavailable names a file of the directories that changed since Open: what was read before and
  /// after may be of two models.
  absl::Status CheckUnchanged() const;

  const ModelSource& model() const { return model_; }
  const ModelSource& draft() const { return draft_; }  // without files: there is no draft
  bool has_draft() const { return !options_.draft.empty(); }
  const ModelConfig& config() const { return config_; }  // the target's
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  /// How the target's generation_config.json wants it to be sampled.
  const SamplingDefaults& sampling() const { return generation_.sampling; }
  /// The target's end of text: eos_token_id of its generation_config.json, else of its config.json,
  /// and its tokenizer's EOS, as vLLM and SGLang stop at both.
  std::vector<TokenId> stop_token_ids() const;
  /// Ids from this on are neither read nor emitted: the tokenizer or the target has no such id.
  int64_t num_ids() const { return std::min(tokenizer_->size(), config_.vocab_size); }

  /// What a vocabulary list must fit.
  VocabTarget vocab_target() const;
  /// The base that `options` describe for this target. Errors begin with "--vocab", as its flag.
  absl::StatusOr<std::shared_ptr<const VocabBase>> SelectBase(const VocabOptions& options) const;
  /// The bases among which a size is found (VocabOptions::auto_size); null: `options` choose one.
  /// Errors as SelectBase's.
  absl::StatusOr<std::shared_ptr<const BaseLadder>> SelectLadder(const VocabOptions& options) const;

  // After Load.

  Decoder& target() { return *target_; }
  ThreadPool& pool() { return pool_; }
  /// Those of the device where the draft's head lies; null: the CPU.
  const std::shared_ptr<HeadKernels>& head_kernels() const { return head_kernels_; }
  /// What a user should know of the pair though it works; empty: nothing.
  std::string warning() const;
  /// Memory of one KV slot, in the target's cache and in the draft's.
  int64_t kv_slot_bytes() const;
  /// A drafter with a cache of `num_slots` of its own. Precondition: has_draft().
  absl::StatusOr<std::unique_ptr<ChainDrafter>> NewDrafter(int64_t num_slots);
  /// The head that the draft is scored by, its own or the target's. Precondition: has_draft().
  HeadWeight draft_head() const;
  /// Rows of it that a sketch stands for: those of tokens.
  int64_t num_sketched_rows() const { return std::min(num_ids(), draft_head().vocab_size); }
  /// A sketch of it, by the basis in the file at `path`; empty: by the best one for the head alone,
  /// whatever hidden states it meets. Errors of ReadSketchFile, SketchBasis::Fit and
  /// Sketch::Create, which begin with the path, or "--sketch-rows". Precondition: has_draft().
  absl::StatusOr<std::shared_ptr<const Sketch>> OpenSketch(const std::string& path);

 private:
  Models(const ModelOptions& options, ThreadPool& pool) : options_(options), pool_(pool) {}

  absl::Status LoadDraft();
  absl::Status MoveHead();

  const ModelOptions options_;
  ThreadPool& pool_;
  ModelSource model_, draft_;
  ModelConfig config_;
  ModelConfig draft_config_;  // with a draft only
  GenerationConfig generation_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Decoder> target_;
  std::unique_ptr<Decoder> draft_decoder_;  // at most one of the two drafts is set
  std::unique_ptr<EagleModel> draft_eagle_;
  std::shared_ptr<HeadKernels> head_kernels_;      // null: the CPU's
  std::shared_ptr<const DeviceRows> device_rows_;  // the draft's head there; null without a draft
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_MODELS_H_

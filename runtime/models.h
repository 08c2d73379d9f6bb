#ifndef SHORTLIST_RUNTIME_MODELS_H_
#define SHORTLIST_RUNTIME_MODELS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "kernels/head.h"
#include "runtime/model_options.h"
#include "vocab/vocab_list.h"
#include "vocab/vocab_options.h"

namespace shortlist {

class BaseLadder;
class ChainDrafter;
class Decoder;
class EagleNetwork;
class HeadDevice;
class HeadOnDevice;
class HeadRows;
class ModelSource;
class Sketch;
class ThreadPool;
class Tokenizer;
class VocabBase;
struct Eagle3Config;
struct GenerationConfig;
struct ModelConfig;
struct SamplingDefaults;

/// A target, its draft and their tokenizer, checked against each other. Used by one thread.
class Models {
 public:
  /// Reads everything except the weights, so that errors appear early. Returns an error that names
  /// the directory or file, or the device that cannot be used (OpenCuda). `pool` must
  /// outlive the result.
  static absl::StatusOr<std::unique_ptr<Models>> Open(const ModelOptions& options,
                                                      ThreadPool& pool);
  ~Models();

  /// Reads the weights; call once. Returns InvalidArgument for a target that is a draft head, or a
  /// model without LM head. Returns FailedPrecondition for a draft with another tokenizer (with
  /// both fingerprints) or too few ids. Also returns errors of OpenTokenizer, Decoder::Load,
  /// EagleModel::Load, Eagle3Model::Load, HeadDevice::Copy and CheckUnchanged.
  absl::Status Load();
  /// Returns Unavailable with a file of the directories that changed since Open(): data read before
  /// and after the change may belong to two models.
  absl::Status CheckUnchanged() const;

  const ModelSource& model() const { return *model_; }
  const ModelSource& draft() const { return *draft_; }  // without files: there is no draft
  bool has_draft() const { return !options_.draft.empty(); }
  /// The EAGLE-3 head that the draft is; null: it is none.
  const Eagle3Config* eagle3() const { return draft_eagle3_.get(); }
  const ModelConfig& config() const { return *config_; }  // the target's
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  /// Sampling defaults of the target's generation_config.json.
  const SamplingDefaults& sampling() const;
  /// End-of-text tokens of the target: eos_token_id of its generation_config.json, else of its
  /// config.json, and its tokenizer's EOS; vLLM and SGLang also stop at both.
  std::vector<TokenId> stop_token_ids() const;
  /// Ids from this on do not exist in the tokenizer or the target; they are neither read nor
  /// emitted.
  int64_t num_ids() const;

  /// The tokens that have a row in the draft's head; null: all of them.
  std::shared_ptr<const HeadRows> head_rows() const;
  /// The properties that a vocabulary list must match.
  VocabTarget vocab_target() const;
  /// Returns the base that `options` describe for this target. Errors begin with "--vocab".
  absl::StatusOr<std::shared_ptr<const VocabBase>> SelectBase(const VocabOptions& options) const;
  /// Returns the bases from which a size is chosen (VocabOptions::auto_size); null if `options`
  /// choose a fixed size. Errors begin with "--vocab".
  absl::StatusOr<std::shared_ptr<const BaseLadder>> SelectLadder(const VocabOptions& options) const;

  // The following members require Load().

  Decoder& target() { return *target_; }
  ThreadPool& pool() { return pool_; }
  /// The draft's head on its device; null: the CPU.
  const std::shared_ptr<const HeadOnDevice>& device_head() const { return device_head_; }
  /// Warnings about models that were loaded, for the user.
  std::vector<std::string> warnings() const;
  /// Bytes of one KV slot in the target's and the draft's caches together.
  int64_t kv_slot_bytes() const;
  /// Bytes of a running sequence's state in the target's recurrent layers; 0 without such.
  int64_t state_bytes() const;
  /// Creates a drafter with its own cache of `num_slots`. Precondition: has_draft().
  absl::StatusOr<std::unique_ptr<ChainDrafter>> NewDrafter(int64_t num_slots);
  /// The head that scores the draft, its own or the target's. Precondition: has_draft().
  HeadWeight draft_head() const;
  /// Rows of the draft's head that a sketch represents: those of tokens. Precondition: head_rows()
  /// is null.
  int64_t num_sketched_rows() const;
  /// Returns Unimplemented if the draft's head has no rows for some tokens: no sketch is made of
  /// such a head. Precondition: has_draft().
  absl::Status CheckSketch() const;
  /// Opens a sketch of the draft's head with the basis in the file at `path`. Empty `path`: the
  /// best basis for the head alone, independent of hidden states. Returns errors of ReadSketchFile,
  /// SketchBasis::Fit and Sketch::Create, prefixed with the path or "--sketch-rows", and of
  /// CheckSketch. Precondition: has_draft().
  absl::StatusOr<std::shared_ptr<const Sketch>> OpenSketch(const std::string& path);

 private:
  Models(const ModelOptions& options, ThreadPool& pool);

  absl::Status OpenDraft();
  absl::Status LoadDraft();
  absl::Status CheckTaps() const;
  /// True if the draft is the MTP layer in the target's own files (--draft mtp).
  bool drafts_by_mtp() const;
  /// True if the draft is an EAGLE head or an MTP layer, which runs with this target only.
  bool drafts_by_head() const;
  absl::Status MoveHead();

  const ModelOptions options_;
  ThreadPool& pool_;
  // Never null.
  const std::unique_ptr<ModelSource> model_, draft_;
  const std::unique_ptr<ModelConfig> config_;
  const std::unique_ptr<ModelConfig> draft_config_;  // valid only with a draft, not an EAGLE-3 head
  std::unique_ptr<Eagle3Config> draft_eagle3_;       // null: the draft is no EAGLE-3 head
  const std::unique_ptr<GenerationConfig> generation_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Decoder> target_;
  std::unique_ptr<Decoder> draft_decoder_;  // at most one of the two drafts is set
  std::unique_ptr<EagleNetwork> draft_eagle_;
  std::shared_ptr<const HeadDevice> device_;         // null: the CPU
  std::shared_ptr<const HeadOnDevice> device_head_;  // the draft's head on it; null: none
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_MODELS_H_

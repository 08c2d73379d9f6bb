#ifndef SHORTLIST_CLI_SESSION_H_
#define SHORTLIST_CLI_SESSION_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "cli/flags.h"
#include "draft/drafter.h"
#include "head/device_rows.h"
#include "head/head_kernels.h"
#include "model/checkpoint/generation_config.h"
#include "model/decoder.h"
#include "model/eagle_model.h"
#include "request/sampling_params.h"
#include "text/tokenizer.h"
#include "vocab/active_vocab.h"
#include "vocab/vocab_list.h"

namespace shortlist {

/// What one run of a subcommand works with: models, tokenizer, vocabulary base and encoded prompts,
/// all checked against each other before anything is decoded. Used by one thread.
class Session {
 public:
  struct Request {
    std::string origin;              // as PromptRow::origin
    std::string source;              // as PromptRow::source
    std::vector<TokenId> token_ids;  // not empty, shorter than the target's context
  };

  /// Opens everything that `flags` name; the cheap checks come before the weights are read. Errors
  /// name what does not fit: a prompt longer than the context (both lengths) or with an id that the
  /// target has no row for, a draft or list of another tokenizer (both fingerprints), more dynamic
  /// rows than the vocabulary has, a device that cannot be used (OpenCudaHeadKernels). Flags
  /// without effect are noted on stderr.
  static absl::StatusOr<std::unique_ptr<Session>> Open(const RunFlags& flags);

  const RunFlags& flags() const { return flags_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  /// Those of --prompt or --prompts; none where neither was given.
  const std::vector<Request>& requests() const { return requests_; }
  ThreadPool& pool() { return pool_; }
  Decoder& target() { return *target_; }
  bool has_draft() const { return draft_decoder_ != nullptr || draft_eagle_ != nullptr; }
  /// Ids from this on are neither read nor emitted: the tokenizer or the target has no such id.
  int64_t num_ids() const { return std::min(tokenizer_->size(), config_.vocab_size); }
  const std::shared_ptr<const VocabBase>& base() const { return base_; }
  /// The flags' sampling, what they leave open as the target's generation_config.json wants it, and
  /// its end-of-text tokens as stops.
  const SamplingParams& sampling() const { return sampling_; }
  /// What that file wants.
  const SamplingDefaults& sampling_defaults() const { return generation_.sampling; }

  /// KV slots one sequence needs at most: the longest prompt, its output and the draft tokens
  /// behind.
  int64_t max_sequence_slots() const;

  /// What a vocabulary list must fit.
  VocabTarget vocab_target() const;
  /// Memory of one KV slot, in the target's cache and in the draft's.
  int64_t kv_slot_bytes() const;

  /// The base that `options` describe for this target.
  absl::StatusOr<std::shared_ptr<const VocabBase>> SelectBase(const VocabOptions& options) const;

  /// A drafter with a cache of `num_slots` of its own. Precondition: has_draft().
  absl::StatusOr<std::unique_ptr<Drafter>> NewDrafter(int64_t num_slots);

 private:
  explicit Session(const RunFlags& flags)
      : flags_(flags), pool_(static_cast<int>(flags.num_threads)), sampling_(flags.sampling) {}

  void TakeSamplingDefaults();
  absl::Status OpenTarget();
  absl::Status OpenDraft();
  absl::Status OpenDevice();
  absl::Status MoveHead();
  absl::Status EncodePrompts();
  absl::Status OpenBase();

  RunFlags flags_;
  ThreadPool pool_;
  SamplingParams sampling_;
  ModelConfig config_;
  GenerationConfig generation_;
  ModelConfig draft_config_;  // with a draft only
  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<Request> requests_;
  std::shared_ptr<const VocabBase> base_;
  std::unique_ptr<Decoder> target_;
  std::unique_ptr<Decoder> draft_decoder_;  // at most one of the two drafts is set
  std::unique_ptr<EagleModel> draft_eagle_;
  std::shared_ptr<HeadKernels> head_kernels_;      // null: the CPU's
  std::shared_ptr<const DeviceRows> device_rows_;  // the draft's head there; null without a draft
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_SESSION_H_

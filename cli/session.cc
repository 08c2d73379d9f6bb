#include "cli/session.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "cli/prompts.h"
#include "draft/eagle_drafter.h"
#include "draft/model_drafter.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/hub_cache.h"
#include "model/kv_cache.h"
#include "text/chat/conversation.h"
#include "text/chat/prompt_encoder.h"
#include "vocab/vocab_options.h"

namespace shortlist {
namespace {

absl::Status Prefixed(const std::string& prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, ": ", status.message()));
}

/// Both models must give token ids the same meaning. An EAGLE head often comes without a tokenizer
/// of its own: it works on the target's embeddings.
absl::Status CheckSameTokenizer(const std::string& target_dir, const Tokenizer& target,
                                const std::string& draft_dir, bool is_eagle) {
  const absl::StatusOr<std::unique_ptr<Tokenizer>> draft = OpenTokenizer(draft_dir);
  if (is_eagle && absl::IsNotFound(draft.status())) return absl::OkStatus();
  if (!draft.ok()) return draft.status();
  const std::string wanted = target.Fingerprint(), found = (*draft)->Fingerprint();
  if (wanted == found) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("draft ", draft_dir, " has tokenizer ", found,
                                                    ", target ", target_dir, " has ", wanted));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Open(const RunFlags& flags) {
  std::unique_ptr<Session> session(new Session(flags));
  SHORTLIST_RETURN_IF_ERROR(session->OpenDevice());
  std::string& model_dir = session->flags_.model_dir;
  std::string& draft_dir = session->flags_.draft_dir;
  SHORTLIST_ASSIGN_OR_RETURN(model_dir, ResolveModelDir(flags.model_dir));
  if (!draft_dir.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(draft_dir, ResolveModelDir(flags.draft_dir));
  }
  SHORTLIST_ASSIGN_OR_RETURN(session->config_, ReadModelConfig(model_dir));
  if (!draft_dir.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(session->draft_config_, ReadModelConfig(draft_dir));
  }
  SHORTLIST_ASSIGN_OR_RETURN(session->generation_,
                             ReadGenerationConfig(model_dir, session->config_.vocab_size));
  session->TakeSamplingDefaults();
  SHORTLIST_ASSIGN_OR_RETURN(session->tokenizer_, OpenTokenizer(model_dir));
  SHORTLIST_RETURN_IF_ERROR(session->EncodePrompts());
  SHORTLIST_RETURN_IF_ERROR(session->OpenBase());
  SHORTLIST_RETURN_IF_ERROR(session->OpenTarget());
  SHORTLIST_RETURN_IF_ERROR(session->OpenDraft());
  SHORTLIST_RETURN_IF_ERROR(session->MoveHead());
  return session;
}

void Session::TakeSamplingDefaults() {
  const SamplingDefaults& wish = generation_.sampling;
  if (!flags_.given.temperature) {
    sampling_.temperature = wish.do_sample ? wish.temperature.value_or(1.0) : 0.0;
  }
  if (!flags_.given.top_p) sampling_.top_p = wish.top_p.value_or(1.0);
  if (!flags_.given.top_k) sampling_.top_k = wish.top_k.value_or(0);
  if (!flags_.given.min_p) sampling_.min_p = wish.min_p.value_or(0.0);
  if (!flags_.given.max_new_tokens && wish.max_new_tokens) {
    sampling_.max_new_tokens = *wish.max_new_tokens;
  }
  sampling_.repetition_penalty = wish.repetition_penalty.value_or(1.0);
}

absl::Status Session::EncodePrompts() {
  std::vector<PromptRow> prompts;
  if (flags_.prompt.has_value()) {
    if (flags_.prompt->empty()) return absl::InvalidArgumentError("--prompt: the prompt is empty");
    prompts.push_back({*flags_.prompt, "--prompt", /*source=*/""});
  } else if (!flags_.prompts_path.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(prompts, ReadPrompts(flags_.prompts_path));
  }
  // For texts alone, so that no chat template is wanted.
  const PromptEncoder encoder(*tokenizer_, std::nullopt, Conversations().front(),
                              config_.vocab_size);
  for (PromptRow& prompt : prompts) {
    absl::StatusOr<std::vector<TokenId>> ids =
        encoder.Encode(std::move(prompt.text), {.parse_special = flags_.parse_special});
    if (!ids.ok()) return Prefixed(prompt.origin, ids.status());
    const auto num_tokens = static_cast<int64_t>(ids->size());
    if (num_tokens >= config_.context_len) {
      return absl::InvalidArgumentError(absl::StrCat(
          prompt.origin, ": the prompt has ", num_tokens, " tokens, a context of ",
          config_.context_len, " has room for ", config_.context_len - 1, " and one of output"));
    }
    requests_.push_back({std::move(prompt.origin), std::move(prompt.source), *std::move(ids)});
  }
  return absl::OkStatus();
}

VocabTarget Session::vocab_target() const {
  return {.vocab_size = config_.vocab_size,
          .fingerprint = tokenizer_->Fingerprint(),
          .num_rows = draft_config_.vocab_size};
}

absl::StatusOr<std::shared_ptr<const VocabBase>> Session::SelectBase(
    const VocabOptions& options) const {
  absl::StatusOr<std::shared_ptr<const VocabBase>> base = SelectVocabBase(options, vocab_target());
  if (!base.ok()) return Prefixed("--vocab", base.status());
  return base;
}

absl::Status Session::OpenBase() {
  if (flags_.dynamic_rows > config_.vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat("--dynamic-rows: ", flags_.dynamic_rows,
                                                   " not in [0, ", config_.vocab_size,
                                                   "], the size of the vocabulary"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(base_, SelectBase(flags_.vocab));

  if (flags_.draft_dir.empty()) {
    if (!base_->is_full_head() || flags_.dynamic_rows > 0) {
      std::cerr << "note: --vocab and --dynamic-rows have no effect without --draft\n";
    }
    if (flags_.quantize_draft) {
      std::cerr << "note: --quantize-draft has no effect without --draft\n";
    }
  } else if (base_->is_full_head()) {
    if (flags_.dynamic_rows > 0) {
      std::cerr << "note: --dynamic-rows has no effect with --vocab full\n";
    }
  } else if (base_->size() == base_->vocab_size()) {
    std::cerr << "note: --vocab selects the whole vocabulary, " << base_->size() << " tokens\n";
  }
  return absl::OkStatus();
}

absl::Status Session::OpenTarget() {
  if (config_.architecture == ModelConfig::Architecture::kLlamaEagle) {
    return absl::InvalidArgumentError(
        absl::StrCat("--model ", flags_.model_dir, " is a draft head, not a model of its own"));
  }
  for (int32_t id : generation_.eos_token_ids.value_or(config_.eos_token_ids)) {
    sampling_.stop_token_ids.push_back(TokenId{id});
  }
  const std::optional<TokenId> eos = tokenizer_->eos();
  if (sampling_.stop_token_ids.empty() && eos.has_value() && Raw(*eos) < num_ids()) {
    sampling_.stop_token_ids.push_back(*eos);
  }
  SHORTLIST_ASSIGN_OR_RETURN(target_,
                             Decoder::Load(flags_.model_dir, flags_.dtype, pool_, flags_.quantize));
  return absl::OkStatus();
}

absl::Status Session::OpenDraft() {
  const std::string& dir = flags_.draft_dir;
  if (dir.empty()) return absl::OkStatus();
  const bool is_eagle = draft_config_.architecture == ModelConfig::Architecture::kLlamaEagle;
  SHORTLIST_RETURN_IF_ERROR(CheckSameTokenizer(flags_.model_dir, *tokenizer_, dir, is_eagle));
  const std::optional<DType> quantize =
      flags_.quantize_draft ? flags_.quantize_draft : flags_.quantize;
  if (is_eagle) {
    SHORTLIST_ASSIGN_OR_RETURN(draft_eagle_, EagleModel::Load(dir, *target_, pool_, quantize));
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(draft_decoder_, Decoder::Load(dir, flags_.dtype, pool_, quantize));
  }
  return absl::OkStatus();
}

absl::Status Session::OpenDevice() {
  if (flags_.device == Device::kCpu) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<HeadKernels>> kernels = OpenCudaHeadKernels();
  if (!kernels.ok()) return Prefixed("--device cuda", kernels.status());
  head_kernels_ = *std::move(kernels);
  if (flags_.draft_dir.empty()) {
    std::cerr << "note: --device cuda has no effect without --draft\n";
  }
  return absl::OkStatus();
}

absl::Status Session::MoveHead() {
  if (!has_draft() || head_kernels_ == nullptr) return absl::OkStatus();
  const HeadWeight head =
      draft_eagle_ ? draft_eagle_->head_weight() : draft_decoder_->head_weight();
  absl::StatusOr<std::shared_ptr<const DeviceRows>> rows = DeviceRows::Copy(head, head_kernels_);
  if (!rows.ok()) return Prefixed("--device cuda", rows.status());
  device_rows_ = *std::move(rows);
  return absl::OkStatus();
}

int64_t Session::max_sequence_slots() const {
  int64_t longest_prompt = 0;
  for (const Request& request : requests_) {
    longest_prompt = std::max(longest_prompt, static_cast<int64_t>(request.token_ids.size()));
  }
  return std::min(config_.context_len,
                  longest_prompt + sampling_.max_new_tokens + flags_.num_draft_tokens);
}

int64_t Session::kv_slot_bytes() const {
  int64_t bytes = KvCache::SlotBytes(target_->config(), target_->dtype());
  if (draft_decoder_) {
    bytes += KvCache::SlotBytes(draft_decoder_->config(), draft_decoder_->dtype());
  }
  if (draft_eagle_) bytes += KvCache::SlotBytes(draft_eagle_->config(), target_->dtype());
  return bytes;
}

absl::StatusOr<std::unique_ptr<Drafter>> Session::NewDrafter(int64_t num_slots) {
  SHORTLIST_CHECK(has_draft());
  if (draft_eagle_) {
    return EagleDrafter::Create(*draft_eagle_, *target_, num_slots, num_ids(), pool_, device_rows_);
  }
  return ModelDrafter::Create(*draft_decoder_, num_slots, num_ids(), pool_, device_rows_);
}

}  // namespace shortlist

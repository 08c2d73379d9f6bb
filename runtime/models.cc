#include "runtime/models.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "device/open_cuda.h"
#include "draft/eagle_drafter.h"
#include "draft/model_drafter.h"
#include "head/head_on_device.h"
#include "io/model_source.h"
#include "io/weight_files.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/eagle3_config.h"
#include "model/checkpoint/generation_config.h"
#include "model/decoder.h"
#include "model/eagle3_model.h"
#include "model/eagle_model.h"
#include "model/eagle_network.h"
#include "model/kv_cache.h"
#include "model/mtp_model.h"
#include "runtime/sketch_file.h"
#include "sketch/sketch.h"
#include "text/tokenizer.h"
#include "vocab/active_vocab.h"
#include "vocab/base_ladder.h"
#include "vocab/formats/list_file.h"

namespace shortlist {
namespace {

absl::Status Prefixed(const std::string& prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, ": ", status.message()));
}

/// Token ids must have the same meaning in both models. An EAGLE head often has no tokenizer: it
/// uses the target's embeddings.
absl::Status CheckSameTokenizer(const ModelSource& target_source, const Tokenizer& target,
                                const ModelSource& draft_source, bool is_eagle) {
  const absl::StatusOr<std::unique_ptr<Tokenizer>> draft = OpenTokenizer(draft_source);
  if (is_eagle && absl::IsNotFound(draft.status())) return absl::OkStatus();
  if (!draft.ok()) return draft.status();
  const std::string wanted = target.Fingerprint(), found = (*draft)->Fingerprint();
  if (wanted == found) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("draft ", draft_source.path(),
                                                    " has tokenizer ", found, ", target ",
                                                    target_source.path(), " has ", wanted));
}

absl::Status CheckHead(const char* flag, const ModelSource& source, const Decoder& decoder) {
  if (decoder.has_head()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " ", source.path(),
                   " has no LM head: it makes embeddings alone (--embed-model, --is-embedding)"));
}

}  // namespace

Models::Models(const ModelOptions& options, ThreadPool& pool)
    : options_(options),
      pool_(pool),
      model_(std::make_unique<ModelSource>()),
      draft_(std::make_unique<ModelSource>()),
      config_(std::make_unique<ModelConfig>()),
      draft_config_(std::make_unique<ModelConfig>()),
      generation_(std::make_unique<GenerationConfig>()) {}

Models::~Models() = default;

absl::StatusOr<std::unique_ptr<Models>> Models::Open(const ModelOptions& options,
                                                     ThreadPool& pool) {
  std::unique_ptr<Models> models(new Models(options, pool));
  if (options.device == Device::kCuda) {
    absl::StatusOr<std::shared_ptr<const HeadDevice>> device = OpenCuda();
    if (!device.ok()) return Prefixed("--device cuda", device.status());
    models->device_ = *std::move(device);
  }
  SHORTLIST_ASSIGN_OR_RETURN(*models->model_, ModelSource::Open(options.model));
  if (models->has_draft()) {
    SHORTLIST_ASSIGN_OR_RETURN(
        *models->draft_,
        ModelSource::Open(models->drafts_by_mtp() ? options.model : options.draft));
  }
  SHORTLIST_ASSIGN_OR_RETURN(*models->config_, ReadModelConfig(*models->model_));
  if (models->has_draft()) SHORTLIST_RETURN_IF_ERROR(models->OpenDraft());
  SHORTLIST_ASSIGN_OR_RETURN(*models->generation_,
                             ReadGenerationConfig(*models->model_, models->config_->vocab_size));
  SHORTLIST_ASSIGN_OR_RETURN(models->tokenizer_, OpenTokenizer(*models->model_));
  return models;
}

absl::Status Models::OpenDraft() {
  if (drafts_by_mtp()) {
    if (!MtpModel::IsIn(*draft_)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--draft mtp: ", draft_->path(),
                       " has no MTP layer (tensor mtp.fc.weight); some exports leave it out"));
    }
    *draft_config_ = *config_;
    return CheckTaps();
  }
  const absl::StatusOr<WeightFiles> weights = draft_->OpenWeights();
  if (weights.ok() && IsEagle3(*weights)) {
    SHORTLIST_ASSIGN_OR_RETURN(Eagle3Config config, ReadEagle3Config(*draft_));
    SHORTLIST_RETURN_IF_ERROR(config.FitTarget(*config_, options_.draft_taps, draft_->path()));
    draft_eagle3_ = std::make_unique<Eagle3Config>(std::move(config));
    return absl::OkStatus();
  }
  SHORTLIST_ASSIGN_OR_RETURN(*draft_config_, ReadModelConfig(*draft_));
  if (draft_config_->num_recurrent_layers() > 0) {
    return absl::UnimplementedError(absl::StrCat(
        "--draft ", draft_->path(),
        ": a model with recurrent layers as a draft is not supported; as a target, it can draft by "
        "its own MTP layer (--draft mtp)"));
  }
  return CheckTaps();
}

/// Only an EAGLE-3 head reads taps.
absl::Status Models::CheckTaps() const {
  if (!options_.draft_taps) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--draft-taps for ", draft_->path(), ", which is no EAGLE-3 head"));
}

bool Models::drafts_by_mtp() const { return options_.draft == "mtp"; }

bool Models::drafts_by_head() const {
  return draft_eagle3_ != nullptr || draft_config_->is_eagle || drafts_by_mtp();
}

absl::Status Models::Load() {
  if (config_->is_eagle) {
    return absl::InvalidArgumentError(
        absl::StrCat("--model ", model_->path(), " is a draft head, not a model of its own"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(target_,
                             Decoder::Load(*model_, options_.dtype, pool_, options_.quantize));
  SHORTLIST_RETURN_IF_ERROR(CheckHead("--model", *model_, *target_));
  if (has_draft()) {
    SHORTLIST_RETURN_IF_ERROR(LoadDraft());
    SHORTLIST_RETURN_IF_ERROR(MoveHead());
  }
  return CheckUnchanged();
}

absl::Status Models::CheckUnchanged() const {
  SHORTLIST_RETURN_IF_ERROR(model_->CheckUnchanged());
  return draft_->CheckUnchanged();
}

absl::Status Models::LoadDraft() {
  SHORTLIST_RETURN_IF_ERROR(CheckSameTokenizer(*model_, *tokenizer_, *draft_, drafts_by_head()));
  const std::optional<DType> quantize =
      options_.quantize_draft ? options_.quantize_draft : options_.quantize;
  const int64_t draft_size =
      draft_eagle3_ ? draft_eagle3_->layers.vocab_size : draft_config_->vocab_size;
  if (drafts_by_head() && draft_size < num_ids()) {
    return absl::FailedPreconditionError(absl::StrCat("draft ", draft_->path(), ": vocab_size ",
                                                      draft_size, " is below the ", num_ids(),
                                                      " ids of ", model_->path()));
  }
  if (drafts_by_mtp()) {
    SHORTLIST_ASSIGN_OR_RETURN(draft_eagle_, MtpModel::Load(*draft_, *target_, pool_, quantize));
  } else if (draft_eagle3_) {
    SHORTLIST_ASSIGN_OR_RETURN(
        draft_eagle_, Eagle3Model::Load(*draft_, *draft_eagle3_, *target_, pool_, quantize));
  } else if (draft_config_->is_eagle) {
    SHORTLIST_ASSIGN_OR_RETURN(draft_eagle_, EagleModel::Load(*draft_, *target_, pool_, quantize));
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(draft_decoder_,
                               Decoder::Load(*draft_, options_.dtype, pool_, quantize));
    SHORTLIST_RETURN_IF_ERROR(CheckHead("--draft", *draft_, *draft_decoder_));
  }
  return absl::OkStatus();
}

absl::Status Models::MoveHead() {
  if (device_ == nullptr) return absl::OkStatus();
  if (const auto rows = head_rows(); rows != nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("--device cuda: ", draft_->path(), " has rows for ", rows->size(), " of ",
                     rows->vocab_size(), " tokens; such a head is scored on the CPU"));
  }
  absl::StatusOr<std::shared_ptr<const HeadOnDevice>> head = device_->Copy(draft_head());
  if (!head.ok()) return Prefixed("--device cuda", head.status());
  device_head_ = *std::move(head);
  return absl::OkStatus();
}

const SamplingDefaults& Models::sampling() const { return generation_->sampling; }

int64_t Models::num_ids() const { return std::min(tokenizer_->size(), config_->vocab_size); }

int64_t Models::num_sketched_rows() const { return std::min(num_ids(), draft_head().vocab_size); }

std::vector<TokenId> Models::stop_token_ids() const {
  std::vector<TokenId> ids;
  for (const int32_t id : generation_->eos_token_ids.value_or(config_->eos_token_ids)) {
    ids.push_back(TokenId{id});
  }
  const std::optional<TokenId> eos = tokenizer_->eos();
  const bool is_new = eos.has_value() && Raw(*eos) < num_ids() &&
                      std::find(ids.begin(), ids.end(), *eos) == ids.end();
  if (is_new) ids.push_back(*eos);
  return ids;
}

std::shared_ptr<const HeadRows> Models::head_rows() const {
  return draft_eagle3_ ? draft_eagle3_->head_rows : nullptr;
}

VocabTarget Models::vocab_target() const {
  return {.vocab_size = config_->vocab_size,
          .fingerprint = tokenizer_->Fingerprint(),
          .num_rows = drafts_by_head() ? config_->vocab_size : draft_config_->vocab_size,
          .head_rows = head_rows(),
          .spelling = [this](TokenId id) { return tokenizer_->Spelling(id); },
          .num_spelled = tokenizer_->size()};
}

absl::StatusOr<std::shared_ptr<const VocabBase>> Models::SelectBase(
    const VocabOptions& options) const {
  absl::StatusOr<std::shared_ptr<const VocabBase>> base = OpenVocabBase(options, vocab_target());
  if (!base.ok()) return Prefixed("--vocab", base.status());
  return base;
}

absl::StatusOr<std::shared_ptr<const BaseLadder>> Models::SelectLadder(
    const VocabOptions& options) const {
  if (!options.use_static_vocab || !options.auto_size) return nullptr;
  absl::StatusOr<VocabList> list = ReadListFile(options.custom_vocab_path, vocab_target());
  if (!list.ok()) return Prefixed("--vocab", list.status());
  absl::StatusOr<std::shared_ptr<const BaseLadder>> ladder =
      BaseLadder::Create(options, *std::move(list), vocab_target());
  if (!ladder.ok()) return Prefixed("--vocab", ladder.status());
  return ladder;
}

int64_t Models::kv_slot_bytes() const {
  int64_t bytes = target_->slot_bytes();
  // States after prefixes may need as much (Decoder::NewExecutor).
  if (target_->state_bytes() > 0) bytes *= 2;
  if (draft_decoder_) bytes += draft_decoder_->slot_bytes();
  if (draft_eagle_) {
    bytes += KvCache::SlotBytes(draft_eagle_->config(), draft_eagle_->kv_dtype());
  }
  return bytes;
}

int64_t Models::state_bytes() const { return target_->state_bytes(); }

absl::StatusOr<std::unique_ptr<ChainDrafter>> Models::NewDrafter(int64_t num_slots) {
  SHORTLIST_CHECK(draft_eagle_ != nullptr || draft_decoder_ != nullptr);
  if (draft_eagle_) {
    return EagleDrafter::Create(*draft_eagle_, num_slots, num_ids(), pool_, device_head_);
  }
  return ModelDrafter::Create(*draft_decoder_, num_slots, num_ids(), pool_, device_head_);
}

std::vector<std::string> Models::warnings() const {
  std::vector<std::string> warnings;
  for (const Decoder* const decoder : {target_.get(), draft_decoder_.get()}) {
    if (decoder != nullptr && !decoder->warning().empty()) warnings.push_back(decoder->warning());
  }
  if (draft_eagle_) {
    for (const std::string& warning : draft_eagle_->warnings()) {
      warnings.push_back(absl::StrCat("--draft ", draft_->path(), ": ", warning));
    }
  }
  if (draft_eagle3_ && draft_eagle3_->d2t_holds_ids) {
    warnings.push_back(absl::StrCat("--draft ", draft_->path(),
                                    ": its d2t holds token ids, where the format has offsets"));
  }
  return warnings;
}

HeadWeight Models::draft_head() const {
  SHORTLIST_CHECK(draft_eagle_ != nullptr || draft_decoder_ != nullptr);
  return draft_eagle_ ? draft_eagle_->head_weight() : draft_decoder_->head_weight();
}

absl::Status Models::CheckSketch() const {
  const std::shared_ptr<const HeadRows> rows = head_rows();
  if (rows == nullptr) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("--sketch: ", draft_->path(), " has rows for ", rows->size(), " of ",
                   rows->vocab_size(), " tokens; sketches are of heads with a row for each"));
}

absl::StatusOr<std::shared_ptr<const Sketch>> Models::OpenSketch(const std::string& path) {
  const HeadWeight head = draft_head();
  if (const auto rows = head_rows(); rows != nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("--sketch: ", draft_->path(), " has rows for ", rows->size(), " of ",
                     rows->vocab_size(), " tokens; sketches are of heads with a row for each"));
  }
  const int64_t num_rows = num_sketched_rows();
  absl::StatusOr<SketchBasis> basis;
  if (path.empty()) {
    basis = SketchBasis::Fit(head, num_rows, SketchBasis::DefaultRank(head.hidden),
                             /*moments=*/nullptr, pool_);
  } else {
    basis = ReadSketchFile(path);
  }
  const std::string prefix = path.empty() ? "--sketch-rows" : "--sketch";
  if (!basis.ok()) return Prefixed(prefix, basis.status());
  absl::StatusOr<std::shared_ptr<const Sketch>> sketch =
      Sketch::Create(*basis, head, num_rows, pool_);
  if (!sketch.ok()) {
    return Prefixed(path.empty() ? prefix : absl::StrCat(prefix, ": ", path), sketch.status());
  }
  return sketch;
}

}  // namespace shortlist

#include "runtime/encoding_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "embed/sentence_transformers.h"
#include "model/checkpoint.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/hub_cache.h"
#include "nlohmann/json.hpp"
#include "text/unicode.h"

namespace shortlist {
namespace {

std::optional<ScoreFunction> FunctionOf(EncodeWish::Scores scores) {
  switch (scores) {
    case EncodeWish::Scores::kModels:
      return std::nullopt;
    case EncodeWish::Scores::kRaw:
      return ScoreFunction::kRaw;
    case EncodeWish::Scores::kSigmoid:
      return ScoreFunction::kSigmoid;
    case EncodeWish::Scores::kSoftmax:
      return ScoreFunction::kSoftmax;
  }
  SHORTLIST_CHECK(false);
}

/// Character by character, as the tokenizers library lowers a text: a capital sigma at the end of a
/// word becomes a small one like any other.
std::string LowerCase(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  for (size_t i = 0; i < text.size();) AppendLowerCase(NextChar(text, i), lower);
  return lower;
}

absl::Status CheckUtf8(std::string_view text, std::string_view what) {
  const std::optional<size_t> invalid = FindInvalidUtf8(text);
  if (!invalid) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(what), " is not valid UTF-8 at byte ", *invalid));
}

std::vector<EncodeResult> ResultsOf(const SequenceVectors& vectors) {
  std::vector<EncodeResult> results(vectors.num_seqs());
  for (int64_t i = 0; i < vectors.num_seqs(); ++i) {
    const absl::StatusOr<std::span<const float>> values = vectors.of_sequence(i);
    if (values.ok()) {
      results[i].values.assign(values->begin(), values->end());
    } else {
      results[i].status = values.status();
    }
  }
  return results;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EncodingModel>> EncodingModel::Open(const Options& options,
                                                                   ThreadPool& pool) {
  std::unique_ptr<EncodingModel> model(new EncodingModel(pool));
  SHORTLIST_ASSIGN_OR_RETURN(model->dir_, ResolveModelDir(options.model));
  SHORTLIST_ASSIGN_OR_RETURN(model->tokenizer_, OpenTokenizer(model->dir_));
  std::string encoder_dir = model->dir_;
  if (!IsSequenceClassifier(model->dir_)) {
    SHORTLIST_ASSIGN_OR_RETURN(model->embedding_, ReadEmbeddingConfig(model->dir_));
    encoder_dir = model->embedding_->transformer_dir;
  }
  SHORTLIST_RETURN_IF_ERROR(model->LoadBody(encoder_dir, options));
  SHORTLIST_RETURN_IF_ERROR(model->LoadHead());
  model->max_input_tokens_ = model->config().context_len;
  if (model->embedding_ && model->embedding_->max_seq_len) {
    model->max_input_tokens_ = std::min(model->max_input_tokens_, *model->embedding_->max_seq_len);
  }
  return model;
}

absl::Status EncodingModel::LoadBody(const std::string& dir, const Options& options) {
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json file,
                             ReadJsonFile(dir + "/config.json", kMaxConfigBytes));
  if (IsEncoderConfig(file)) {
    SHORTLIST_ASSIGN_OR_RETURN(encoder_,
                               Encoder::Load(dir, options.dtype, pool_, options.quantize));
    config_ = encoder_->config();
    return absl::OkStatus();
  }
  SHORTLIST_ASSIGN_OR_RETURN(causal_,
                             CausalEncoder::Load(dir, options.dtype, pool_, options.quantize));
  const ModelConfig& decoder = causal_->config();
  config_.architecture = ArchitectureName(decoder.architecture);
  config_.vocab_size = decoder.vocab_size;
  config_.hidden = decoder.hidden;
  config_.num_layers = decoder.num_layers;
  config_.context_len = decoder.context_len;
  return absl::OkStatus();
}

absl::Status EncodingModel::LoadHead() {
  if (embedding_) {
    SHORTLIST_ASSIGN_OR_RETURN(pooler_, Pooler::Load(*embedding_, pool_));
    if (embedding_->hidden == config().hidden) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(dir_, ": pools states of ", embedding_->hidden,
                                                   " values, the model has ", config().hidden));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const ClassifierConfig classifier, ReadClassifierConfig(dir_));
  SHORTLIST_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(dir_, WeightPacking()));
  SHORTLIST_ASSIGN_OR_RETURN(head_, ClassifierHead::Load(classifier, checkpoint, pool_));
  return absl::OkStatus();
}

int64_t EncodingModel::result_size() const { return head_ ? head_->num_labels() : pooler_->size(); }

absl::StatusOr<int64_t> EncodingModel::MostTokens(const Cut& cut) const {
  const int64_t most = cut.max_tokens.value_or(max_input_tokens_);
  if (most >= 1) return std::min(most, max_input_tokens_);
  return absl::InvalidArgumentError(
      absl::StrCat("most tokens ", most, " not in [1, ", max_input_tokens_, "]"));
}

absl::StatusOr<EncodeInput> EncodingModel::Prepare(std::string_view instruction,
                                                   std::string_view text,
                                                   std::optional<std::string_view> second,
                                                   const Cut& cut) const {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t most, MostTokens(cut));
  SHORTLIST_RETURN_IF_ERROR(CheckUtf8(instruction, "instruction"));
  SHORTLIST_RETURN_IF_ERROR(CheckUtf8(text, "text"));
  const bool lowers = embedding_ && embedding_->do_lower_case;
  std::string first = absl::StrCat(std::string(instruction), std::string(text));
  if (lowers) first = LowerCase(first);
  Truncation truncation{.side = cut.side};
  EncodeOptions options;
  if (cut.truncates) {
    truncation.max_len = most;
  } else {
    options.max_tokens = most;
  }
  absl::StatusOr<Encoding> encoding =
      tokenizer_->EncodeSequence(first, second, options, truncation);
  if (absl::IsOutOfRange(encoding.status())) {
    return absl::OutOfRangeError(absl::StrCat("more than ", most, " tokens"));
  }
  if (!encoding.ok()) return encoding.status();
  EncodeInput input{.ids = std::move(encoding->ids)};
  if (input.ids.empty()) return absl::InvalidArgumentError("there are no tokens in it");
  SHORTLIST_RETURN_IF_ERROR(CheckRows(input.ids, *tokenizer_, config().vocab_size));
  const bool is_typed = std::any_of(encoding->type_ids.begin(), encoding->type_ids.end(),
                                    [](int32_t type) { return type != 0; });
  if (is_typed && config().num_token_types > 1) input.token_types = std::move(encoding->type_ids);
  if (embedding_ && !embedding_->include_prompt && !instruction.empty()) {
    // As sentence-transformers counts: the prompt's own tokens, without a special one at the end.
    const std::string prompt = lowers ? LowerCase(instruction) : std::string(instruction);
    SHORTLIST_ASSIGN_OR_RETURN(
        const Encoding alone,
        tokenizer_->EncodeSequence(prompt, std::nullopt, {}, {.max_len = most}));
    input.num_prompt_tokens = std::ssize(alone.ids);
    if (!alone.ids.empty() && tokenizer_->IsSpecial(alone.ids.back())) --input.num_prompt_tokens;
  }
  return input;
}

absl::StatusOr<EncodeInput> EncodingModel::Prepare(std::vector<TokenId> ids, const Cut& cut) const {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t most, MostTokens(cut));
  if (ids.empty()) return absl::InvalidArgumentError("there are no tokens in it");
  if (std::ssize(ids) > most) {
    if (!cut.truncates) {
      return absl::OutOfRangeError(absl::StrCat(ids.size(), " tokens, more than ", most));
    }
    if (cut.side == Truncation::Side::kRight) {
      ids.resize(most);
    } else {
      ids.erase(ids.begin(), ids.end() - most);
    }
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (Raw(ids[i]) >= 0 && Raw(ids[i]) < config().vocab_size) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("id ", Raw(ids[i]), " at ", i, " not in [0, ", config().vocab_size, ")"));
  }
  return EncodeInput{.ids = std::move(ids)};
}

std::vector<EncodeResult> EncodingModel::Encode(std::span<const EncodingLoop::Item> items) {
  std::vector<int32_t> ids, types, seq_begin = {0};
  bool is_typed = false;
  for (const EncodingLoop::Item& item : items) {
    is_typed |= !item.input->token_types.empty();
    for (const TokenId id : item.input->ids) ids.push_back(Raw(id));
    seq_begin.push_back(static_cast<int32_t>(ids.size()));
  }
  if (is_typed) {
    for (const EncodingLoop::Item& item : items) {
      types.insert(types.end(), item.input->token_types.begin(), item.input->token_types.end());
      if (item.input->token_types.empty()) types.resize(types.size() + item.input->ids.size(), 0);
    }
  }
  const absl::StatusOr<at::Tensor> hidden =
      Forward({.token_ids = ids, .token_type_ids = types, .seq_begin = seq_begin});
  if (!hidden.ok()) {
    return std::vector<EncodeResult>(items.size(), EncodeResult{.status = hidden.status()});
  }
  const HiddenStates states{
      .data = hidden->data_ptr<float>(), .hidden = config().hidden, .seq_begin = seq_begin};
  if (pooler_) {
    std::vector<VectorRequest> requests;
    for (const EncodingLoop::Item& item : items) {
      requests.push_back({.dimensions = item.wish->dimensions,
                          .normalize = item.wish->normalizes,
                          .num_prompt_tokens = item.input->num_prompt_tokens});
    }
    return ResultsOf(pooler_->Run(states, requests, pool_));
  }
  // Logits for all at once; what becomes of them may differ from request to request.
  std::vector<EncodeResult> results = ResultsOf(head_->Score(states, ScoreFunction::kRaw, pool_));
  for (size_t i = 0; i < items.size(); ++i) {
    if (!results[i].status.ok()) continue;
    ApplyScoreFunction(FunctionOf(items[i].wish->scores).value_or(head_->config().score_function),
                       results[i].values);
  }
  return results;
}

}  // namespace shortlist

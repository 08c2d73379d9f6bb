#include "runtime/encoding_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "embed/classifier_config.h"
#include "embed/modules_file.h"
#include "embed/sentence_transformers.h"
#include "embed/yes_no_format.h"
#include "model/checkpoint/other_models.h"
#include "runtime/clip_encoder.h"
#include "runtime/input_settings.h"
#include "runtime/score_outputs.h"
#include "runtime/vector_outputs.h"
#include "text/chat/chat_template.h"

namespace shortlist {
namespace {

struct OpenedTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;
  ModelSource source;  // that holds it
};

/// sentence-transformers stores the tokenizer next to the transformer's weights, which may be in a
/// subfolder of `source`.
absl::StatusOr<OpenedTokenizer> OpenTokenizerOf(const ModelSource& source,
                                                const ModelSource& transformer) {
  absl::StatusOr<std::unique_ptr<Tokenizer>> opened = OpenTokenizer(transformer);
  const bool is_elsewhere = absl::IsNotFound(opened.status()) && transformer != source;
  if (is_elsewhere) opened = OpenTokenizer(source);
  if (!opened.ok()) return opened.status();
  return OpenedTokenizer{*std::move(opened), is_elsewhere ? source : transformer};
}

absl::Status WithPath(const ModelSource& source, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(source.path(), ": ", status.message()));
}

/// Opens the chat template in `tokenizer_dir` that `config` requires, if any.
absl::StatusOr<std::optional<MessagePrompt>> OpenMessages(const ModelSource& source,
                                                          const Tokenizer& tokenizer,
                                                          std::optional<MessageConfig> config) {
  if (!config) return std::nullopt;
  absl::StatusOr<ChatTemplate> chat_template = ChatTemplate::Load(source);
  if (config->pairs_alone && absl::IsNotFound(chat_template.status())) return std::nullopt;
  if (!chat_template.ok()) return chat_template.status();
  return MessagePrompt(*std::move(config), *std::move(chat_template), tokenizer);
}

TextInputs::Options InputOptions(const EncoderConfig& config, std::optional<int64_t> max_seq_len,
                                 const InputSettings& settings) {
  const int64_t context_len = config.context_len;
  return {.vocab_size = config.vocab_size,
          .num_token_types = settings.gives_token_types ? config.num_token_types : 0,
          .max_input_tokens = std::min(context_len, max_seq_len.value_or(context_len)),
          .side = settings.side};
}

}  // namespace

absl::StatusOr<std::unique_ptr<EncodingModel>> EncodingModel::Open(const Options& options,
                                                                   ThreadPool& pool) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModelSource source, ModelSource::Open(options.model));
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<EncodingModel> model,
                             OpenSource(source, options, pool));
  SHORTLIST_RETURN_IF_ERROR(source.CheckUnchanged());
  return model;
}

absl::StatusOr<std::unique_ptr<EncodingModel>> EncodingModel::OpenSource(const ModelSource& source,
                                                                         const Options& options,
                                                                         ThreadPool& pool) {
  std::unique_ptr<EncodingModel> model(new EncodingModel());
  model->source_ = source;
  for (const ModelSource& folder : {source, TransformerOf(source)}) {
    SHORTLIST_RETURN_IF_ERROR(RefuseAdapter(folder));
  }
  const bool is_clip = ClipEncoder::Fits(source), is_classifier = IsSequenceClassifier(source);
  std::optional<YesNoFormat> yes_no;
  if (!is_clip) {
    SHORTLIST_ASSIGN_OR_RETURN(yes_no, DetectYesNoFormat(source, options.model));
  }
  std::optional<EmbeddingConfig> embedding;
  if (!is_clip && !yes_no && !is_classifier) {
    SHORTLIST_RETURN_IF_ERROR(RefuseOtherCrossEncoder(source));
    SHORTLIST_ASSIGN_OR_RETURN(embedding, ReadEmbeddingConfig(source));
  }
  SHORTLIST_ASSIGN_OR_RETURN(OpenedTokenizer opened,
                             OpenTokenizerOf(source, embedding ? embedding->transformer : source));
  model->own_tokenizer_ = std::move(opened.tokenizer);
  const Tokenizer& tokenizer = *model->own_tokenizer_;
  model->tokenizer_ = &tokenizer;
  if (is_clip) {
    SHORTLIST_ASSIGN_OR_RETURN(auto clip,
                               ClipEncoder::Load(source, options.dtype, options.quantize, pool));
    embedding = clip->embedding(source);
    model->body_ = std::move(clip);
    SHORTLIST_ASSIGN_OR_RETURN(
        model->outputs_,
        VectorOutputs::Load(source, *std::move(embedding), *model->body_, tokenizer, pool));
    SHORTLIST_ASSIGN_OR_RETURN(const InputSettings settings, ReadInputSettings(opened.source));
    model->inputs_.emplace(tokenizer, InputOptions(model->body_->config(), std::nullopt, settings));
    return model;
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      model->body_, EncodingBody::Load(embedding ? embedding->transformer : source, options.dtype,
                                       options.quantize, pool));
  const EncodingBody& body = *model->body_;
  if (embedding) {
    SHORTLIST_ASSIGN_OR_RETURN(const InputSettings settings,
                               ReadInputSettings(opened.source, embedding->tokenizer));
    TextInputs::Options inputs = InputOptions(body.config(), embedding->max_seq_len, settings);
    inputs.lowers = embedding->do_lower_case;
    SHORTLIST_ASSIGN_OR_RETURN(
        inputs.messages, OpenMessages(opened.source, tokenizer, std::move(embedding->messages)));
    // As in sentence-transformers, a prompt that is a separate message is pooled too.
    inputs.counts_prompt = !embedding->include_prompt && !inputs.messages;
    SHORTLIST_ASSIGN_OR_RETURN(
        model->outputs_, VectorOutputs::Load(source, *std::move(embedding), body, tokenizer, pool));
    model->inputs_.emplace(tokenizer, std::move(inputs));
    return model;
  }
  SHORTLIST_ASSIGN_OR_RETURN(PairConfig pair, ReadPairConfig(source));
  SHORTLIST_ASSIGN_OR_RETURN(const InputSettings settings,
                             ReadInputSettings(opened.source, pair.tokenizer));
  TextInputs::Options inputs = InputOptions(body.config(), pair.max_seq_len, settings);
  inputs.pair_prompt = std::move(pair.default_prompt);
  inputs.lowers = pair.do_lower_case;
  if (yes_no && pair.do_lower_case) {
    return absl::UnimplementedError(absl::StrCat(
        source.path(), ": do_lower_case is not supported for a model that is asked yes or no"));
  }
  if (yes_no && pair.messages && !pair.messages->variables.empty()) {
    return absl::UnimplementedError(
        absl::StrCat(source.path(), ": processing_kwargs: chat_template: \"",
                     pair.messages->variables.begin().key(),
                     "\" is not supported for a model that is asked yes or no"));
  }
  if (yes_no) {
    auto prompt = YesNoPrompt::Create(*yes_no, tokenizer);
    if (!prompt.ok()) return WithPath(source, prompt.status());
    inputs.yes_no = *std::move(prompt);
  }
  if (is_classifier) {
    SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<ClassifierOutputs> outputs,
                               ClassifierOutputs::Load(source, pool));
    const int32_t pad = outputs->config().pad_token_id;
    if (pad >= 0) inputs.dropped_at_end = TokenId{pad};
    const bool is_cross_encoder = pair.messages && !pair.messages->pairs_alone;
    SHORTLIST_ASSIGN_OR_RETURN(inputs.messages,
                               OpenMessages(opened.source, tokenizer, std::move(pair.messages)));
    // Without sentence-transformers files it may be a reward model, which reads single texts.
    if (is_cross_encoder) {
      SHORTLIST_RETURN_IF_ERROR(WithPath(source, inputs.messages->pair_status()));
    }
    model->outputs_ = std::move(outputs);
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(const ScoreFunction function, ReadYesNoFunction(source));
    auto outputs = YesNoOutputs::Load(body.decoder(), *inputs.yes_no, function, pool);
    if (!outputs.ok()) return WithPath(source, outputs.status());
    model->outputs_ = *std::move(outputs);
  }
  model->inputs_.emplace(tokenizer, std::move(inputs));
  return model;
}

absl::StatusOr<std::unique_ptr<EncodingModel>> EncodingModel::Over(Decoder& decoder,
                                                                   const Tokenizer& tokenizer,
                                                                   ModelSource source,
                                                                   int64_t max_input_tokens,
                                                                   ThreadPool& pool) {
  std::unique_ptr<EncodingModel> model(new EncodingModel());
  model->source_ = std::move(source);
  model->tokenizer_ = &tokenizer;
  model->body_ = EncodingBody::Over(decoder);
  SHORTLIST_ASSIGN_OR_RETURN(model->outputs_, VectorOutputs::Over(decoder, pool));
  SHORTLIST_ASSIGN_OR_RETURN(const InputSettings settings, ReadInputSettings(model->source_));
  model->inputs_.emplace(tokenizer,
                         InputOptions(model->body_->config(), max_input_tokens, settings));
  return model;
}

std::optional<std::vector<EncodeResult>> EncodingModel::EncodeSome(EncodingItems items,
                                                                   bool goes_on) {
  auto some = [&]() -> absl::StatusOr<std::optional<std::vector<EncodeResult>>> {
    SHORTLIST_ASSIGN_OR_RETURN(
        const std::optional<EncodedStates> states,
        body_->Run(items, /*last_alone=*/outputs_->ReadsLastAlone(items), goes_on));
    if (!states) return std::nullopt;
    return outputs_->Run(items, *states);
  }();
  if (some.ok()) return *std::move(some);
  return std::vector<EncodeResult>(items.size(), EncodeResult{.status = some.status()});
}

std::vector<EncodeResult> EncodingModel::Encode(EncodingItems items) {
  for (bool goes_on = false;; goes_on = true) {
    auto results = EncodeSome(items, goes_on);
    if (results) return *std::move(results);
  }
}

}  // namespace shortlist

#include "runtime/encoding_model.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "embed/sentence_transformers.h"
#include "embed/yes_no_format.h"
#include "head/lm_head.h"
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
  SHORTLIST_ASSIGN_OR_RETURN(model->own_tokenizer_, OpenTokenizer(model->dir_));
  model->tokenizer_ = model->own_tokenizer_.get();
  if (ClipEncoder::Fits(model->dir_)) {
    SHORTLIST_RETURN_IF_ERROR(model->LoadClip(options));
    return model;
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<YesNoFormat> yes_no,
                             DetectYesNoFormat(model->dir_, options.model));
  std::string body_dir = model->dir_;
  if (!yes_no && !IsSequenceClassifier(model->dir_)) {
    SHORTLIST_ASSIGN_OR_RETURN(model->embedding_, ReadEmbeddingConfig(model->dir_));
    body_dir = model->embedding_->transformer_dir;
  }
  SHORTLIST_RETURN_IF_ERROR(model->LoadBody(body_dir, options));
  SHORTLIST_RETURN_IF_ERROR(yes_no ? model->LoadYesNo(*yes_no) : model->LoadHead());
  std::optional<int64_t> max_seq_len;
  if (model->embedding_) {
    max_seq_len = model->embedding_->max_seq_len;
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(PairConfig pair, ReadPairConfig(model->dir_));
    max_seq_len = pair.max_seq_len;
    model->pair_prompt_ = std::move(pair.default_prompt);
  }
  const int64_t context_len = model->config().context_len;
  model->max_input_tokens_ = std::min(context_len, max_seq_len.value_or(context_len));
  // So that whoever shares out the free memory sees what is taken.
  if (model->causal_) SHORTLIST_RETURN_IF_ERROR(model->causal_->Reserve());
  return model;
}

absl::StatusOr<std::unique_ptr<EncodingModel>> EncodingModel::Over(Decoder& decoder,
                                                                   const Tokenizer& tokenizer,
                                                                   std::string dir,
                                                                   int64_t max_input_tokens,
                                                                   ThreadPool& pool) {
  std::unique_ptr<EncodingModel> model(new EncodingModel(pool));
  model->dir_ = std::move(dir);
  model->tokenizer_ = &tokenizer;
  model->embedding_ = EmbeddingConfig{.pooling = Pooling::kMean};
  model->UseDecoder(decoder);
  model->embedding_->hidden = model->config().hidden;
  absl::StatusOr<Pooler> pooler =
      Pooler::Create({.pooling = Pooling::kMean, .hidden = model->config().hidden});
  SHORTLIST_CHECK(pooler.ok());
  model->pooler_ = *std::move(pooler);
  SHORTLIST_ASSIGN_OR_RETURN(
      LmHead head, LmHead::Create(decoder.head_weight(), model->config().vocab_size, pool));
  model->next_token_head_.emplace(std::move(head));
  model->max_input_tokens_ = std::min(max_input_tokens, model->config().context_len);
  return model;
}

absl::Status EncodingModel::LoadClip(const Options& options) {
  SHORTLIST_ASSIGN_OR_RETURN(clip_,
                             ClipEncoder::Load(dir_, options.dtype, options.quantize, pool_));
  config_ = clip_->config();
  embedding_ = clip_->embedding(dir_);
  SHORTLIST_ASSIGN_OR_RETURN(pooler_, Pooler::Load(*embedding_, pool_));
  max_input_tokens_ = config_.context_len;
  return absl::OkStatus();
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
  SHORTLIST_ASSIGN_OR_RETURN(own_decoder_,
                             Decoder::Load(dir, options.dtype, pool_, options.quantize));
  UseDecoder(*own_decoder_);
  return absl::OkStatus();
}

void EncodingModel::UseDecoder(Decoder& decoder) {
  decoder_ = &decoder;
  const ModelConfig& config = decoder.config();
  config_.architecture = ArchitectureName(config.architecture);
  config_.vocab_size = config.vocab_size;
  config_.hidden = config.hidden;
  config_.num_layers = config.num_layers;
  config_.context_len = config.context_len;
  causal_.emplace(decoder);
}

absl::Status EncodingModel::LoadHead() {
  if (embedding_) {
    SHORTLIST_ASSIGN_OR_RETURN(pooler_, Pooler::Load(*embedding_, pool_));
    if (embedding_->hidden != config().hidden) {
      return absl::InvalidArgumentError(absl::StrCat(dir_, ": pools states of ", embedding_->hidden,
                                                     " values, the model has ", config().hidden));
    }
    if (default_dimensions() <= pooler_->size()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(dir_, ": truncate_dim = ", default_dimensions(),
                                                   " of vectors of ", pooler_->size()));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const ClassifierConfig classifier, ReadClassifierConfig(dir_));
  SHORTLIST_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(dir_, WeightPacking()));
  SHORTLIST_ASSIGN_OR_RETURN(classifier_, ClassifierHead::Load(classifier, checkpoint, pool_));
  return absl::OkStatus();
}

absl::Status EncodingModel::LoadYesNo(const YesNoFormat& format) {
  const auto in_dir = [this](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(dir_, ": ", status.message()));
  };
  if (decoder_ == nullptr || !decoder_->has_head()) {
    return absl::InvalidArgumentError(
        absl::StrCat(dir_, ": a reranker that answers yes or no needs an LM head"));
  }
  auto prompt = YesNoPrompt::Create(format, *tokenizer_);
  if (!prompt.ok()) return in_dir(prompt.status());
  yes_no_prompt_ = *std::move(prompt);
  SHORTLIST_ASSIGN_OR_RETURN(LmHead head,
                             LmHead::Create(decoder_->head_weight(), config().vocab_size, pool_));
  auto answers = YesNoHead::Create(std::move(head), yes_no_prompt_->yes(), yes_no_prompt_->no());
  if (!answers.ok()) return in_dir(answers.status());
  yes_no_head_ = *std::move(answers);
  return absl::OkStatus();
}

int64_t EncodingModel::result_size() const {
  if (!pooler_) return std::ssize(labels());
  return default_dimensions() > 0 ? default_dimensions() : pooler_->size();
}

std::vector<std::string> EncodingModel::labels() const {
  if (classifier_) return classifier_->config().labels;
  if (yes_no_prompt_) return {"yes"};
  return {};
}

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
  if (instruction.empty()) instruction = pair_prompt_;
  if (!yes_no_prompt_) {
    return PrepareSequence(instruction, text, second, most, cut, /*parse_special=*/false);
  }
  if (!second) return absl::InvalidArgumentError("not a pair of texts, which this model judges");
  SHORTLIST_RETURN_IF_ERROR(CheckUtf8(*second, "text"));
  SHORTLIST_ASSIGN_OR_RETURN(
      std::vector<TokenId> ids,
      yes_no_prompt_->Encode(instruction, text, *second, most,
                             cut.truncates ? std::optional(cut.side) : std::nullopt));
  SHORTLIST_RETURN_IF_ERROR(CheckRows(ids, *tokenizer_, config().vocab_size));
  return EncodeInput{.ids = std::move(ids)};
}

absl::StatusOr<EncodeInput> EncodingModel::PreparePrompt(std::string_view text,
                                                         const Cut& cut) const {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t most, MostTokens(cut));
  SHORTLIST_RETURN_IF_ERROR(CheckUtf8(text, "text"));
  return PrepareSequence("", text, std::nullopt, most, cut, /*parse_special=*/true);
}

absl::StatusOr<EncodeInput> EncodingModel::PrepareSequence(std::string_view instruction,
                                                           std::string_view text,
                                                           std::optional<std::string_view> second,
                                                           int64_t most, const Cut& cut,
                                                           bool parse_special) const {
  const bool lowers = embedding_ && embedding_->do_lower_case;
  std::string first = absl::StrCat(std::string(instruction), std::string(text));
  if (lowers) first = LowerCase(first);
  Truncation truncation{.side = cut.side};
  EncodeOptions options{.parse_special = parse_special};
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
  if (yes_no_prompt_) {
    return absl::InvalidArgumentError("token ids, where this model judges pairs of texts");
  }
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

absl::StatusOr<EncodingModel::States> EncodingModel::ClipStates(Items items) {
  SHORTLIST_ASSIGN_OR_RETURN(at::Tensor data, clip_->Run(items));
  States states{.data = std::move(data), .seq_begin = std::vector<int32_t>(items.size() + 1)};
  std::iota(states.seq_begin.begin(), states.seq_begin.end(), 0);
  return states;
}

absl::StatusOr<EncodingModel::States> EncodingModel::EncoderStates(Items items) {
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
  SHORTLIST_ASSIGN_OR_RETURN(
      at::Tensor data,
      encoder_->Forward({.token_ids = ids, .token_type_ids = types, .seq_begin = seq_begin}));
  return States{std::move(data), std::move(seq_begin)};
}

/// nullopt: there is more to do.
absl::StatusOr<std::optional<EncodingModel::States>> EncodingModel::CausalStates(Items items,
                                                                                 bool goes_on) {
  if (!goes_on) {
    std::vector<CausalEncoder::Text> texts;
    for (const EncodingLoop::Item& item : items) texts.emplace_back(item.input->ids);
    using Wanted = CausalEncoder::Wanted;
    SHORTLIST_RETURN_IF_ERROR(
        causal_->Begin(texts, wants_last(items) ? Wanted::kLast : Wanted::kAll));
  }
  SHORTLIST_ASSIGN_OR_RETURN(std::optional<at::Tensor> data, causal_->Advance());
  if (!data) return std::nullopt;
  States states{.data = *std::move(data), .seq_begin = {0}};
  for (const EncodingLoop::Item& item : items) {
    const auto count = wants_last(items) ? 1 : static_cast<int32_t>(item.input->ids.size());
    states.seq_begin.push_back(states.seq_begin.back() + count);
  }
  return states;
}

std::vector<EncodeResult> EncodingModel::Vectors(std::span<const EncodingLoop::Item> items,
                                                 const HiddenStates& states) const {
  std::vector<VectorRequest> requests;
  for (const EncodingLoop::Item& item : items) {
    int64_t num_prompt_tokens = item.input->num_prompt_tokens;
    // Of a last state alone: whether it is the prompt's.
    if (causal_ && pools_last())
      num_prompt_tokens = num_prompt_tokens < std::ssize(item.input->ids) ? 0 : 1;
    const int64_t dimensions = item.wish->dimensions;
    requests.push_back({.dimensions = dimensions == 0 ? default_dimensions() : dimensions,
                        .normalize = item.wish->normalizes,
                        .num_prompt_tokens = num_prompt_tokens});
  }
  return ResultsOf(pooler_->Run(states, requests, pool_));
}

absl::StatusOr<std::vector<EncodeResult>> EncodingModel::Results(Items items,
                                                                 const States& states) {
  const HiddenStates hidden{.data = states.data.data_ptr<float>(),
                            .hidden = config().hidden,
                            .seq_begin = states.seq_begin};
  if (pooler_) {
    std::vector<EncodeResult> results = Vectors(items, hidden);
    SHORTLIST_RETURN_IF_ERROR(TellNextTokens(items, states, results));
    return results;
  }
  // Logits for all at once; what becomes of them may differ from request to request.
  std::vector<EncodeResult> results;
  ScoreFunction models = ScoreFunction::kSigmoid;
  if (classifier_) {
    results = ResultsOf(classifier_->Score(hidden, ScoreFunction::kRaw, pool_));
    models = classifier_->config().score_function;
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<absl::StatusOr<float>> logits,
                               yes_no_head_->Score(states.data, ScoreFunction::kRaw));
    for (const absl::StatusOr<float>& logit : logits) {
      EncodeResult& result = results.emplace_back(EncodeResult{.status = logit.status()});
      if (logit.ok()) result.values = {*logit};
    }
  }
  for (size_t i = 0; i < items.size(); ++i) {
    if (!results[i].status.ok()) continue;
    const ScoreFunction function = FunctionOf(items[i].wish->scores).value_or(models);
    if (yes_no_head_) {
      results[i] = ScoreAnswer(results[i].values[0], function);
    } else {
      ApplyScoreFunction(function, results[i].values);
    }
  }
  return results;
}

bool EncodingModel::wants_last(Items items) const {
  return pools_last() || std::ranges::all_of(items, [](const EncodingLoop::Item& item) {
           return !item.wish->next_tokens.empty();
         });
}

/// The results of items that ask what comes next.
absl::Status EncodingModel::TellNextTokens(Items items, const States& states,
                                           std::vector<EncodeResult>& results) {
  std::vector<size_t> asking;
  std::vector<int64_t> last_rows;
  std::vector<NextTokenHead::Question> questions;
  for (size_t i = 0; i < items.size(); ++i) {
    const EncodeWish& wish = *items[i].wish;
    if (wish.next_tokens.empty()) continue;
    asking.push_back(i);
    last_rows.push_back(states.seq_begin[i + 1] - 1);
    questions.push_back({wish.next_tokens, wish.scores == EncodeWish::Scores::kSoftmax});
  }
  if (asking.empty()) return absl::OkStatus();
  if (!next_token_head_) return absl::InvalidArgumentError("this model tells no next tokens");
  SHORTLIST_ASSIGN_OR_RETURN(
      auto answers, next_token_head_->Answer(GatherRows(states.data, last_rows), questions));
  for (size_t k = 0; k < asking.size(); ++k) {
    EncodeResult& result = results[asking[k]];
    result = {.status = answers[k].status()};
    if (answers[k].ok()) result.values = *std::move(answers[k]);
  }
  return absl::OkStatus();
}

/// Of the logit of yes, less that of no.
EncodeResult EncodingModel::ScoreAnswer(float logit, ScoreFunction function) const {
  if (function == ScoreFunction::kSoftmax) {
    if (!yes_no_prompt_->no()) {
      return {.status = absl::InvalidArgumentError(
                  "softmax over the logit of yes alone is always 1: ask for raw or sigmoid")};
    }
    function = ScoreFunction::kSigmoid;  // which is what softmax gives yes of the two
  }
  ApplyScoreFunction(function, {&logit, 1});
  return {.values = {logit}};
}

std::optional<std::vector<EncodeResult>> EncodingModel::EncodeSome(
    std::span<const EncodingLoop::Item> items, bool goes_on) {
  const auto some = [&]() -> absl::StatusOr<std::optional<std::vector<EncodeResult>>> {
    std::optional<States> states;
    if (clip_) {
      SHORTLIST_ASSIGN_OR_RETURN(states, ClipStates(items));
    } else if (causal_) {
      SHORTLIST_ASSIGN_OR_RETURN(states, CausalStates(items, goes_on));
      if (!states) return std::nullopt;
    } else {
      SHORTLIST_ASSIGN_OR_RETURN(states, EncoderStates(items));
    }
    return Results(items, *states);
  }();
  if (some.ok()) return *some;
  return std::vector<EncodeResult>(items.size(), EncodeResult{.status = some.status()});
}

std::vector<EncodeResult> EncodingModel::Encode(std::span<const EncodingLoop::Item> items) {
  for (bool goes_on = false;; goes_on = true) {
    auto results = EncodeSome(items, goes_on);
    if (results) return *std::move(results);
  }
}

}  // namespace shortlist

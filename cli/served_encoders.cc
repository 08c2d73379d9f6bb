#include "cli/served_encoders.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/warnings.h"
#include "model/checkpoint/config.h"
#include "model/decoder.h"
#include "nlohmann/json.hpp"
#include "serve/model_name.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

/// Approximate time that a query or a token waits for texts of other clients, if no text is long.
constexpr double kMaxPassSeconds = 0.008;
/// Maximum length of a text whose hidden states a generating model computes: no memory is reserved
/// for them.
constexpr int64_t kMaxStatesTokens = 8192;

constexpr char kRerankFlag[] = "--rerank-model";

absl::Status OfFlag(const std::string& flag, const absl::Status& status) {
  return {status.code(), absl::StrCat(flag, ": ", status.message())};
}

absl::StatusOr<EncodeInput> PrepareSource(const EncodingModel& model,
                                          const std::optional<PictureReader>& pictures,
                                          const std::string& instruction,
                                          const EncodeSource& source, const EncodeCut& cut) {
  if (!source.picture.empty()) {
    if (!pictures) return absl::InvalidArgumentError("this model reads no pictures");
    return source.picture_is_file ? pictures->Read(source.picture)
                                  : pictures->ReadText(source.picture);
  }
  EncodingModel::Cut how{.truncates = cut.truncates,
                         .max_second_tokens = cut.max_second_tokens,
                         .max_tokens = cut.max_tokens};
  if (cut.keeps_end) {
    how.side = *cut.keeps_end ? Truncation::Side::kLeft : Truncation::Side::kRight;
  }
  if (source.context != nullptr) {
    const EncodeSource& front = source.context_behind ? source : *source.context;
    const EncodeSource& back = source.context_behind ? *source.context : source;
    if (source.ids.empty()) return model.PreparePrompt(front.text + back.text, how);
    std::vector<TokenId> ids = front.ids;
    ids.insert(ids.end(), back.ids.begin(), back.ids.end());
    return model.Prepare(std::move(ids), how);
  }
  if (!source.ids.empty()) return model.Prepare(source.ids, how);
  if (source.first == nullptr) return model.Prepare(instruction, source.text, std::nullopt, how);
  return model.Prepare(instruction, *source.first, source.text, how);
}

}  // namespace

absl::StatusOr<ServedEncoders> ServedEncoders::Open(const ServeFlags& flags, ThreadPool& pool,
                                                    const GeneratingModel& generating) {
  ServedEncoders encoders;
  encoders.max_batch_tokens_ = flags.max_batch_tokens;
  encoders.max_queued_requests_ = flags.scheduler.max_queued_requests;
  SHORTLIST_RETURN_IF_ERROR(encoders.Add("--embed-model", flags.embed, flags, pool));
  SHORTLIST_RETURN_IF_ERROR(encoders.Add(kRerankFlag, flags.rerank, flags, pool));
  std::set<std::string> names = {generating.name};
  for (const std::unique_ptr<Entry>& entry : encoders.entries_) {
    if (names.insert(entry->name).second) continue;
    return absl::InvalidArgumentError(absl::StrCat(entry->flag, ": another model is called `",
                                                   entry->name, "` too: ", entry->flag,
                                                   "-name gives this one another name"));
  }
  if (generating.models != nullptr) {
    Models& models = *generating.models;
    const int64_t context_length = flags.scheduler.context_length;
    const int64_t most = context_length > 0 ? context_length : kMaxStatesTokens;
    auto over = EncodingModel::Over(models.target(), models.tokenizer(), models.model(),
                                    std::min(most, kMaxStatesTokens), pool);
    if (!over.ok()) return OfFlag("--model", over.status());
    encoders.entries_.push_back(std::make_unique<Entry>(Entry{.flag = "--model",
                                                              .name = generating.name,
                                                              .model = *std::move(over),
                                                              .is_generating = true}));
  }
  return encoders;
}

absl::Status ServedEncoders::Add(const std::string& flag, const EncoderFlags& encoder,
                                 const ServeFlags& flags, ThreadPool& pool) {
  if (encoder.model.empty()) return absl::OkStatus();
  auto model = EncodingModel::Open({.model = encoder.model,
                                    .dtype = flags.run.models.dtype,
                                    .quantize = flags.run.models.quantize},
                                   pool);
  if (!model.ok()) return OfFlag(flag, model.status());
  PrintTokenizerWarnings((*model)->source().path(), (*model)->tokenizer());
  if (const std::string warning = (*model)->warning(); !warning.empty()) PrintWarning(warning);
  if ((*model)->makes_scores() != (flag == kRerankFlag)) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag, ": ", (*model)->source().path(), ", ", (*model)->config().architecture, ", makes ",
        (*model)->makes_scores() ? "scores: give it with --rerank-model"
                                 : "embeddings: give it with --embed-model"));
  }
  const std::string name = encoder.name.empty() ? DefaultModelName(encoder.model) : encoder.name;
  auto entry =
      std::make_unique<Entry>(Entry{.flag = flag, .name = name, .model = *std::move(model)});
  if (entry->model->clip() != nullptr) {
    auto pictures = PictureReader::Open(*entry->model);
    if (!pictures.ok()) return OfFlag(flag, pictures.status());
    entry->pictures = *std::move(pictures);
  }
  entries_.push_back(std::move(entry));
  return absl::OkStatus();
}

std::vector<Router::Encoder> ServedEncoders::Loops() const {
  std::vector<Router::Encoder> loops;
  for (const std::unique_ptr<Entry>& entry : entries_) {
    loops.push_back(
        {.options = {.max_input_tokens = entry->model->longest_input(),
                     .max_batch_tokens = max_batch_tokens_,
                     .max_queued_requests = max_queued_requests_,
                     .max_pass_s = kMaxPassSeconds},
         .encode = [entry = entry.get()](std::span<const EncodingLoop::Item> items, bool goes_on) {
           const double begin_s = SteadySeconds();
           auto results = entry->model->EncodeSome(items, goes_on);
           entry->seconds += SteadySeconds() - begin_s;
           return results;
         }});
  }
  return loops;
}

std::vector<ServedEncoder> ServedEncoders::Descriptions() const {
  std::vector<ServedEncoder> descriptions;
  for (const std::unique_ptr<Entry>& entry : entries_) {
    const EncodingModel& model = *entry->model;
    ServedEncoder& described = descriptions.emplace_back();
    described.name = entry->name;
    described.path = model.source().path();
    described.max_input_tokens = model.max_input_tokens();
    described.result_size = model.result_size();
    described.vocab_size = model.config().vocab_size;
    if (entry->is_generating) described.makes = ServedEncoder::Makes::kStates;
    if (model.makes_scores()) {
      described.makes = ServedEncoder::Makes::kScores;
      described.labels = model.labels();
      described.instructs_pairs = model.instructs_pairs();
    } else {
      const EmbeddingConfig& embedding = *model.embedding();
      described.makes_dense = embedding.makes_dense;
      described.max_sparse_weights = model.outputs().MaxSparseWeights(model.max_input_tokens());
      described.multi_vector_size = model.outputs().multi_vector_size();
      described.prompts = embedding.prompts;
      if (embedding.default_prompt_name) {
        described.default_prompt = embedding.prompts.at(*embedding.default_prompt_name);
      }
    }
    described.reads_pictures = entry->pictures.has_value();
    described.prepare = [entry = entry.get()](const std::string& instruction,
                                              const EncodeSource& source, const EncodeCut& cut) {
      return PrepareSource(*entry->model, entry->pictures, instruction, source, cut);
    };
  }
  return descriptions;
}

std::vector<EncoderLoad> ServedEncoders::Loads(const Router& router) const {
  std::vector<EncoderLoad> loads;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const EncodingLoop& loop = router.encoder(i);
    loads.push_back({.name = entries_[i]->name,
                     .num_queued = loop.num_queued(),
                     .num_passes = loop.stats().num_passes,
                     .num_inputs = loop.stats().num_inputs,
                     .num_tokens = loop.stats().num_tokens,
                     .seconds = entries_[i]->seconds});
  }
  return loads;
}

std::string ServedEncoders::Summary() const {
  std::string summary;
  for (const std::unique_ptr<Entry>& entry : entries_) {
    const EncodingModel& model = *entry->model;
    if (entry->is_generating) continue;
    const char* kind = model.makes_scores() ? "rerank" : "embed";
    absl::StrAppend(&summary, " ", kind, "_model=", nlohmann::json(entry->name).dump(), " ", kind,
                    "_architecture=", model.config().architecture, " ", kind,
                    "_size=", model.result_size(), " ", kind,
                    "_input_tokens=", model.max_input_tokens());
    if (model.makes_scores() || model.clip() != nullptr) continue;
    absl::StrAppend(&summary, " embed_pooling=", PoolingName(model.embedding()->pooling));
  }
  return summary;
}

}  // namespace shortlist

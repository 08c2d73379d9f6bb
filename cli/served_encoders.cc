#include "cli/served_encoders.h"

#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/encoder_config.h"
#include "model/checkpoint/hub_cache.h"
#include "nlohmann/json.hpp"
#include "serve/model_name.h"

namespace shortlist {
namespace {

absl::Status OfFlag(const std::string& flag, const absl::Status& status) {
  return {status.code(), absl::StrCat(flag, ": ", status.message())};
}

absl::StatusOr<EncodeInput> PrepareSource(const EncodingModel& model,
                                          const std::string& instruction,
                                          const EncodeSource& source, const EncodeCut& cut) {
  const EncodingModel::Cut how{
      .truncates = cut.truncates,
      .side = cut.keeps_end ? Truncation::Side::kLeft : Truncation::Side::kRight,
      .max_tokens = cut.max_tokens};
  if (!source.ids.empty()) return model.Prepare(source.ids, how);
  if (source.first == nullptr) return model.Prepare(instruction, source.text, std::nullopt, how);
  return model.Prepare(instruction, *source.first, source.text, how);
}

}  // namespace

absl::StatusOr<bool> IsEncoder(const std::string& model) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string dir, ResolveModelDir(model));
  const absl::StatusOr<nlohmann::json> config = ReadJsonFile(dir + "/config.json", kMaxConfigBytes);
  return config.ok() && IsEncoderConfig(*config);
}

absl::StatusOr<ServedEncoders> ServedEncoders::Open(const ServeFlags& flags,
                                                    const std::string& other_name,
                                                    ThreadPool& pool) {
  ServedEncoders encoders;
  encoders.max_batch_tokens_ = flags.max_batch_tokens;
  SHORTLIST_RETURN_IF_ERROR(encoders.Add("--embed-model", flags.embed, flags, pool));
  SHORTLIST_RETURN_IF_ERROR(encoders.Add("--rerank-model", flags.rerank, flags, pool));
  std::set<std::string> names = {other_name};
  for (const std::unique_ptr<Entry>& entry : encoders.entries_) {
    if (names.insert(entry->name).second) continue;
    return absl::InvalidArgumentError(absl::StrCat(entry->flag, ": another model is called `",
                                                   entry->name, "` too: ", entry->flag,
                                                   "-name gives this one another name"));
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
  const bool scores = (*model)->classifier() != nullptr;
  if (scores != (flag == "--rerank-model")) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag, ": ", (*model)->dir(), ", ", (*model)->config().architecture, ", makes ",
        scores ? "scores: give it with --rerank-model" : "embeddings: give it with --embed-model"));
  }
  const std::string name = encoder.name.empty() ? DefaultModelName(encoder.model) : encoder.name;
  entries_.push_back(std::make_unique<Entry>(Entry{flag, name, *std::move(model)}));
  return absl::OkStatus();
}

std::vector<Router::Encoder> ServedEncoders::Loops() const {
  std::vector<Router::Encoder> loops;
  for (const std::unique_ptr<Entry>& entry : entries_) {
    loops.push_back(
        {.options = {.max_input_tokens = entry->model->max_input_tokens(),
                     .max_batch_tokens = max_batch_tokens_},
         .encode = [entry = entry.get()](std::span<const EncodingLoop::Item> items) {
           const auto begin = std::chrono::steady_clock::now();
           std::vector<EncodeResult> results = entry->model->Encode(items);
           entry->seconds +=
               std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
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
    described.path = model.dir();
    described.max_input_tokens = model.max_input_tokens();
    described.result_size = model.result_size();
    described.vocab_size = model.config().vocab_size;
    if (const ClassifierConfig* classifier = model.classifier()) {
      described.makes = ServedEncoder::Makes::kScores;
      described.labels = classifier->labels;
    } else {
      const EmbeddingConfig& embedding = *model.embedding();
      described.prompts = embedding.prompts;
      if (embedding.default_prompt_name) {
        described.default_prompt = embedding.prompts.at(*embedding.default_prompt_name);
      }
    }
    described.prepare = [&model](const std::string& instruction, const EncodeSource& source,
                                 const EncodeCut& cut) {
      return PrepareSource(model, instruction, source, cut);
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
    const char* kind = model.classifier() != nullptr ? "rerank" : "embed";
    absl::StrAppend(&summary, " ", kind, "_model=", nlohmann::json(entry->name).dump(), " ", kind,
                    "_architecture=", model.config().architecture, " ", kind,
                    "_size=", model.result_size(), " ", kind,
                    "_input_tokens=", model.max_input_tokens());
  }
  return summary;
}

}  // namespace shortlist

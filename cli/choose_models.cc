#include "cli/choose_models.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/program_folder.h"
#include "embed/classifier_config.h"
#include "embed/yes_no_format.h"
#include "io/model_source.h"
#include "model/checkpoint/clip_config.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/encoder_config.h"
#include "nlohmann/json.hpp"
#include "serve/model_name.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;

constexpr char kDemoName[] = "demo";
constexpr char kDemoConversation[] = "zero_shot";
constexpr int64_t kDemoTop = 512, kDemoSuccessors = 384, kDemoDynamicRows = 128;

/// Fills in the demo pair; flags that were given stay.
absl::Status TakeDemoPair(ServeFlags& flags) {
  const absl::StatusOr<fs::path> found = FindAtOrAboveProgram("models/demo/target/config.json");
  if (!found.ok()) {
    return absl::Status(found.status().code(),
                        absl::StrCat(found.status().message(), ": name a model with --model"));
  }
  const fs::path& root = *found;
  RunFlags& run = flags.run;
  run.models.model = root / "models/demo/target";
  if (flags.served_model_name.empty()) flags.served_model_name = kDemoName;
  if (flags.conv_template.empty()) flags.conv_template = kDemoConversation;
  if (!run.models.draft.empty() || run.decoding.copies_alone) return absl::OkStatus();
  run.models.draft = root / "models/demo/draft";
  if (run.given.vocab) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(
      run.vocab, ParseVocabFlag(absl::StrCat((root / "vocab_lists/demo.vocab.json").string(),
                                             ":top=", kDemoTop, ":successors=", kDemoSuccessors)));
  if (run.dynamic_rows == 0) run.dynamic_rows = kDemoDynamicRows;
  return absl::OkStatus();
}

/// True if the model in `source` cannot generate text.
bool IsEncoder(const ModelSource& source) {
  const absl::StatusOr<nlohmann::json> file = source.ReadJson("config.json");
  if (!file.ok()) return false;
  if (IsEncoderConfig(*file) || IsClipConfig(*file)) return true;
  const absl::StatusOr<ModelConfig> config = ParseModelConfig(*file, source.path());
  return config.ok() && config->is_body;
}

}  // namespace

absl::Status ChooseModels(ServeFlags& flags) {
  std::string& model = flags.run.models.model;
  const bool has_draft = !flags.run.models.draft.empty() || flags.run.decoding.copies_alone;
  if (model.empty()) {
    if (flags.is_embedding) {
      return absl::InvalidArgumentError("--is-embedding without a --model that it speaks of");
    }
    if (!flags.embed.model.empty() || !flags.rerank.model.empty()) {
      if (!has_draft) return absl::OkStatus();
      return absl::InvalidArgumentError("--draft without a --model that generates text");
    }
    return TakeDemoPair(flags);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const ModelSource source, ModelSource::Open(model));
  const absl::StatusOr<std::optional<YesNoFormat>> answers = DetectYesNoFormat(source, model);
  const bool scores = IsSequenceClassifier(source) || (answers.ok() && answers->has_value());
  if (!flags.is_embedding && !scores && !IsEncoder(source)) {
    if (flags.served_model_name.empty()) flags.served_model_name = DefaultModelName(model);
    return absl::OkStatus();
  }
  EncoderFlags& encoder = scores ? flags.rerank : flags.embed;
  if (!encoder.model.empty() || has_draft) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--model: ", model, flags.is_embedding ? " is to make embeddings" : " is an encoder",
        ", which goes without --draft and without ", scores ? "--rerank-model" : "--embed-model"));
  }
  encoder = {.model = std::exchange(model, ""), .name = std::exchange(flags.served_model_name, "")};
  return absl::OkStatus();
}

}  // namespace shortlist

#include "vocab/formats/draft_checkpoint.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/gguf/gguf_file.h"
#include "io/quote.h"
#include "io/safetensors.h"
#include "io/torch_file.h"
#include "vocab/vocab_list.h"

namespace shortlist {
namespace {

using Kind = DraftCheckpoint::Kind;

bool HasPart(const WeightFiles& weights, const std::string& part) {
  for (const auto& [name, location] : weights.tensors()) {
    if (("." + name).find("." + part) != std::string::npos) return true;
  }
  return false;
}

Kind KindOf(const WeightFiles& weights, bool has_d2t) {
  const bool is_mtp = HasPart(weights, "mtp.") || HasPart(weights, "mtp_layers.") ||
                      HasPart(weights, "eh_proj.") || HasPart(weights, "shared_head.");
  const bool has_layers = HasPart(weights, "model.layers.0.") || HasPart(weights, "blk.1.");
  if (HasPart(weights, "midlayer.") || HasPart(weights, "layers.0.hidden_norm.")) {
    return Kind::kEagle3;
  }
  if (is_mtp) return has_layers && HasPart(weights, "layers.1.") ? Kind::kTarget : Kind::kMtp;
  if (has_d2t) return Kind::kEagle3;
  if (HasPart(weights, "fc.weight")) return Kind::kEagle1;
  return has_layers ? Kind::kTarget : Kind::kOther;
}

absl::StatusOr<WeightFiles> OpenFile(const std::string& path) {
  std::vector<TensorFile> files;
  if (path.ends_with(".gguf")) {
    SHORTLIST_ASSIGN_OR_RETURN(GgufFile gguf, GgufFile::Open(path));
    files.emplace_back(std::move(gguf.file), std::move(gguf.tensors));
  } else if (path.ends_with(".safetensors")) {
    SHORTLIST_ASSIGN_OR_RETURN(TensorFile file, OpenSafetensors(path));
    files.push_back(std::move(file));
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(TensorFile file, OpenTorchFile(path));
    files.push_back(std::move(file));
  }
  return WeightFiles::Of(path, std::move(files));
}

/// A member of config.json that is a count; nullopt otherwise.
std::optional<int64_t> Count(const nlohmann::json& object, const char* name) {
  const auto member = object.is_object() ? object.find(name) : object.end();
  if (member == object.end() || !member->is_number_integer()) return std::nullopt;
  const auto value = member->get<int64_t>();
  return value > 0 ? std::optional(value) : std::nullopt;
}

int64_t NumRows(const NamedTensor& tensor) {
  if (!tensor.exists() || tensor.location.entry->shape.empty()) return 0;
  return tensor.location.entry->shape[0];
}

}  // namespace

absl::StatusOr<NamedTensor> FindTensor(const WeightFiles& weights,
                                       std::initializer_list<const char*> names) {
  for (const char* const wanted : names) {
    NamedTensor found;
    for (const auto& [name, location] : weights.tensors()) {
      if (name == wanted) return NamedTensor{name, location};
      if (!name.ends_with(absl::StrCat(".", wanted))) continue;
      if (found.exists()) {
        return absl::InvalidArgumentError(absl::StrCat(weights.dir(), ": ", Quote(found.name),
                                                       " and ", Quote(name), ", of which one is ",
                                                       wanted));
      }
      found = {name, location};
    }
    if (found.exists()) return found;
  }
  return NamedTensor{};
}

absl::StatusOr<DraftCheckpoint> DraftCheckpoint::Open(const std::string& path) {
  std::error_code ignored;
  DraftCheckpoint draft(path, *WeightFiles::Of(path, {}));
  if (std::filesystem::is_regular_file(path, ignored)) {
    draft.is_gguf = path.ends_with(".gguf");
    SHORTLIST_ASSIGN_OR_RETURN(draft.weights, OpenFile(path));
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(draft.source, ModelSource::Open(path));
    SHORTLIST_ASSIGN_OR_RETURN(draft.weights, draft.source.OpenWeights());
    SHORTLIST_ASSIGN_OR_RETURN(std::optional<nlohmann::json> config,
                               draft.source.ReadObject("config.json"));
    if (config.has_value()) draft.config = *std::move(config);
  }
  SHORTLIST_ASSIGN_OR_RETURN(draft.d2t, FindTensor(draft.weights, {"d2t"}));
  SHORTLIST_ASSIGN_OR_RETURN(draft.t2d, FindTensor(draft.weights, {"t2d"}));
  SHORTLIST_ASSIGN_OR_RETURN(
      draft.head,
      FindTensor(draft.weights, {"lm_head.weight", "shared_head.head.weight", "output.weight"}));
  SHORTLIST_ASSIGN_OR_RETURN(
      draft.embedding, FindTensor(draft.weights, {"embed_tokens.weight", "token_embd.weight"}));
  draft.kind = KindOf(draft.weights, draft.d2t.exists());
  return draft;
}

int64_t DraftCheckpoint::vocab_size() const {
  if (config.is_object()) {
    const auto nested = config.find("transformer_layer_config");
    if (nested != config.end()) {
      if (const auto count = Count(*nested, "vocab_size")) return *count;
    }
    if (const auto count = Count(config, "vocab_size")) return *count;
  }
  return NumRows(embedding);
}

std::optional<int64_t> DraftCheckpoint::draft_vocab_size() const {
  return Count(config, "draft_vocab_size");
}

int64_t DraftCheckpoint::num_head_rows() const { return NumRows(head); }

absl::StatusOr<StoredMap> DraftCheckpoint::ReadMap() const {
  if (!d2t.exists()) return absl::NotFoundError(absl::StrCat(path, ": no tensor \"d2t\""));
  StoredMap map{.is_absolute = is_gguf};
  const auto read = [this](const NamedTensor& tensor) -> absl::StatusOr<std::vector<int64_t>> {
    const int64_t num_elements = tensor.location.entry->num_elements;
    if (num_elements > VocabList::kMaxVocabSize) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", Quote(tensor.name), " has ",
                                                     num_elements, " elements, more than ",
                                                     VocabList::kMaxVocabSize));
    }
    return weights.file(tensor.location).ReadIntegers(*tensor.location.entry);
  };
  SHORTLIST_ASSIGN_OR_RETURN(map.d2t, read(d2t));
  if (!t2d.exists()) return map;
  SHORTLIST_ASSIGN_OR_RETURN(map.t2d, read(t2d));
  return map;
}

}  // namespace shortlist

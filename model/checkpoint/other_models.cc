#include "model/checkpoint/other_models.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/eagle3_config.h"
#include "model/checkpoint/encoder_config.h"
#include "model/checkpoint/families.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr char kEagle3[] = "an EAGLE-3 head, a draft that runs with its target only (--draft)";
constexpr char kEncoders[] =
    "BERT (Contriever too), DistilBERT, RoBERTa, XLM-RoBERTa, ModernBERT and CLIP";

struct Known {
  std::string_view name;  // prefix of the names of architectures, in lower case; part of a tensor's
  const char* what;
};

/// The families that users try most often.
constexpr Known kKnown[] = {
    {"t5", "T5, an encoder-decoder"},
    {"mt5", "mT5, an encoder-decoder"},
    {"umt5", "UMT5, an encoder-decoder"},
    {"bart", "BART, an encoder-decoder"},
    {"gpt2", "GPT-2, a decoder with learned positions"},
    {"gemma3forconditional",
     "Gemma 3 for texts and pictures, whose text model alone is supported (Gemma3ForCausalLM)"},
    {"gemma2", "Gemma 2, whose attention caps its logits"},
    {"gemma3n", "Gemma 3n, whose layers have several residual streams"},
    {"gemma4", "Gemma 4, whose layers share keys and values"},
    {"gptoss", "gpt-oss, whose attention has sinks and whose experts are stored in MXFP4"},
    {"deepseek", "DeepSeek, whose attention is MLA"},
    {"glm4moe", "GLM-4.5 to 4.7, whose router chooses by sigmoids and a bias"},
    {"llama4", "Llama 4, whose attention is cut into chunks"},
    {"qwen3next", "Qwen3-Next, whose projections are fused by key heads"},
    {"granitemoehybrid", "Granite 4 with Mamba layers or experts"},
    {"phi4", "Phi-4 in a form other than Phi-3's"},
    {"cohere", "Command R, which has layer norms and one residual branch"},
    {"siglip", "SigLIP, a model of texts and pictures unlike CLIP"},
    {"dflash", "a DFlash draft; of drafts, EAGLE-1, EAGLE-3 and small models are supported"},
    {"peagle", "a P-EAGLE draft; of drafts, EAGLE-1, EAGLE-3 and small models are supported"},
};

/// Tensors of drafts that are not supported, by a part of their names.
constexpr Known kDrafts[] = {
    {"mask_hidden", "a P-EAGLE draft, which drafts all tokens in one pass"},
    {".self_attn.kv_a_proj", "an EAGLE-3 head of MLA layers, DeepSeek's attention"},
    {".self_attn.q_a_proj", "an EAGLE-3 head of MLA layers, DeepSeek's attention"},
    {"markov_head.", "a DSpark draft"},
    {"candidate_selector.", "a DFlash2 draft"},
    {"prefix_gru", "a Domino draft"},
    {"mtp.", "the MTP layers of a model"},
    {"eh_proj.", "the MTP layers of a model"},
    {"medusa_head.", "a Medusa draft"},
};

std::string Describe(const std::string& name) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (const Known& family : kKnown) {
    if (lower.starts_with(family.name)) return family.what;
  }
  if (lower.find("eagle3") != std::string::npos) return kEagle3;
  if (IsEncoderConfig({{"architectures", json::array({name})}}))
    return "an encoder, which generates no text";
  return "";
}

/// Lists the supported families.
std::string Supported() {
  std::string decoders;
  for (const Family& family : Families()) {
    const bool is_last = &family == &Families().back();
    absl::StrAppend(&decoders, decoders.empty() ? "" : is_last ? " and " : ", ", family.name);
  }
  return absl::StrCat("decoders are supported of ", decoders, ", and encoders of ", kEncoders);
}

bool IsMtp(const std::string& name) { return name.starts_with("mtp."); }

bool HasEmbedding(const WeightFiles& weights) {
  return std::ranges::any_of(weights.tensors(), [](const auto& tensor) {
    return tensor.first.ends_with("embed_tokens.weight");
  });
}

bool IsOfEagle3(const std::string& name) {
  return name == "d2t" || name == "t2d" || name.find("midlayer.") != std::string::npos ||
         name.ends_with("hidden_norm.weight");
}

}  // namespace

absl::Status UnsupportedArchitecture(const ConfigFields& fields, const json& name) {
  const std::string what = name.is_string() ? Describe(name.get<std::string>()) : "";
  return fields.Unsupported(
      "architecture", name,
      absl::StrCat(what.empty() ? "" : absl::StrCat("it is ", what, "; "), Supported()));
}

absl::Status CheckArchitecture(const ConfigFields& fields) {
  if (IsDecoderConfig(fields.object()) || IsEncoderConfig(fields.object())) return absl::OkStatus();
  const json* const list = fields.Find("architectures");
  const bool names_one =
      list != nullptr && list->is_array() && list->size() == 1 && (*list)[0].is_string();
  return names_one ? UnsupportedArchitecture(fields, (*list)[0]) : absl::OkStatus();
}

absl::Status RefuseAdapter(const ModelSource& source) {
  constexpr char kFile[] = "adapter_config.json";
  SHORTLIST_ASSIGN_OR_RETURN(const auto adapter, source.ReadObject(kFile));
  if (!adapter) return absl::OkStatus();
  const ConfigFields fields(source.PathOf(kFile), *adapter);
  const json* const type = fields.Find("peft_type");
  const json* const base = fields.Find("base_model_name_or_path");
  return absl::UnimplementedError(absl::StrCat(
      source.path(), " holds an adapter (", kFile, "; peft_type ",
      type != nullptr ? Quote(*type) : "unknown", ") of the model ",
      base != nullptr ? Quote(*base) : "unknown",
      ", which is not supported; merge it into that model (merge_and_unload of PEFT) and name the "
      "result"));
}

absl::Status RefuseEagle3(const WeightFiles& weights, int64_t hidden) {
  for (const auto& [name, location] : weights.tensors()) {
    const std::vector<int64_t>& shape = location.entry->shape;
    const bool joins_three = name == "fc.weight" && shape.size() == 2 && shape[1] % 3 == 0 &&
                             shape[1] / 3 == hidden && hidden > 0;
    if (!joins_three && !IsOfEagle3(name)) continue;
    return absl::UnimplementedError(absl::StrCat(
        weights.dir(), " holds ", kEagle3, " (tensor ", Quote(json(name)), " ", ShapeString(shape),
        ")",
        IsEagle3(weights)
            ? ""
            : ", without the hidden_norm that the first layer of every such head has"));
  }
  return absl::OkStatus();
}

absl::Status RefuseOtherDrafts(const WeightFiles& weights) {
  for (const auto& [name, location] : weights.tensors()) {
    const char* what = name == "hidden_norm.weight" ? "a DFlash draft" : nullptr;
    for (const Known& draft : kDrafts) {
      if (name.find(draft.name) != std::string::npos) what = draft.what;
    }
    // A whole model's own, which MtpModel reads.
    if (what == nullptr || (IsMtp(name) && HasEmbedding(weights))) continue;
    return absl::UnimplementedError(absl::StrCat(
        weights.dir(), " holds ", what, " (tensor ", Quote(json(name)), " ",
        ShapeString(location.entry->shape),
        "), which is not supported; of drafts, EAGLE-1, EAGLE-3 and small models are"));
  }
  return absl::OkStatus();
}

absl::Status RecogniseEagle(const ModelSource& source, json& object) {
  if (!IsDecoderConfig(object)) return absl::OkStatus();
  const absl::StatusOr<WeightFiles> weights = source.OpenWeights();
  if (!weights.ok()) return absl::OkStatus();
  const auto hidden = object.find("hidden_size");
  const bool has_size = hidden != object.end() && hidden->is_number_integer();
  SHORTLIST_RETURN_IF_ERROR(RefuseOtherDrafts(*weights));
  SHORTLIST_RETURN_IF_ERROR(RefuseEagle3(*weights, has_size ? hidden->get<int64_t>() : 0));
  if (!weights->tensors().contains("fc.weight")) return absl::OkStatus();
  const auto found = FindFamily(object);
  const bool is_whole = found && !found->is_body && !found->is_eagle && !found->has_pictures;
  if (is_whole && found->family->eagle != nullptr) {
    object["architectures"][0] = found->family->eagle;
  }
  return absl::OkStatus();
}

}  // namespace shortlist

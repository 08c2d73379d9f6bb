#include "cli/show.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "cli/eagle3_facts.h"
#include "cli/encoding_facts.h"
#include "cli/model_size.h"
#include "io/model_source.h"
#include "io/weight_files.h"
#include "kernels/isa.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/generation_config.h"
#include "model/kv_cache.h"
#include "model/mtp_model.h"
#include "model/sequence_state.h"
#include "nlohmann/json.hpp"
#include "serve/fastchat/frame.h"
#include "text/chat/chat_template.h"
#include "text/chat/conversation_of_model.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

constexpr int64_t kKvTokens = 1024;

/// Facts about a model directory. Optional parts are missing if `unsupported` says why.
struct Facts {
  std::string path;
  std::optional<ModelConfig> config;
  std::optional<DType> dtype;
  BlockSizes blocks;
  std::optional<EncodingFacts> encoding;  // set only for an encoder
  std::optional<ScoreFacts> scores;       // set only for a decoder that scores texts
  std::unique_ptr<Tokenizer> tokenizer;
  bool has_mtp = false;  // an MTP layer for the model itself
  bool has_chat_template = false;
  std::string fallback_template;  // conversation template, if there is no chat template
  std::string fastchat_template;  // FastchatFrame::origin; empty: none
  std::vector<std::string> unsupported;
};

int64_t KvBytes(const ModelConfig& c, DType dtype) {
  return kKvTokens * KvCache::SlotBytes(c, dtype);
}

/// Adds an Unimplemented error to `facts.unsupported`; returns any other status.
absl::Status Note(const absl::Status& status, Facts& facts) {
  if (!absl::IsUnimplemented(status)) return status;  // OK included
  facts.unsupported.emplace_back(status.message());
  return absl::OkStatus();
}

absl::Status ReadTokenizer(const ModelSource& source, Facts& facts) {
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = OpenTokenizer(source);
  if (!tokenizer.ok()) {
    // An EAGLE head uses the embeddings of its target, whose tokenizer serves both.
    const bool needs_none = facts.config && facts.config->is_eagle;
    if (absl::IsNotFound(tokenizer.status()) && needs_none) return absl::OkStatus();
    if (!absl::IsNotFound(tokenizer.status())) return tokenizer.status();
    facts.unsupported.emplace_back(tokenizer.status().message());
    return absl::OkStatus();
  }
  facts.tokenizer = *std::move(tokenizer);
  return absl::OkStatus();
}

void ReadTemplate(const std::string& name, const ModelSource& source, Facts& facts) {
  const absl::StatusOr<ChatTemplate> own = ChatTemplate::Load(source);
  facts.has_chat_template = own.ok();
  facts.fallback_template = FallbackConversation(name).name;
  if (!own.ok() && !absl::IsNotFound(own.status())) {
    facts.unsupported.emplace_back(own.status().message());
  }
  const absl::StatusOr<FastchatFrame> frame =
      ChooseFastchatFrame(/*conv_template=*/"", own.ok() ? &*own : nullptr, name);
  if (frame.ok()) facts.fastchat_template = frame->origin;
}

/// Reads the dtype of the weights; for packed weights, that of the linear layers' scales.
absl::Status ReadDType(const WeightFiles& weights, Facts& facts) {
  const char* const name = facts.config->is_eagle ? "fc.weight" : "embed_tokens.weight";
  // Below a prefix such as "model.".
  const auto found = std::ranges::find_if(
      weights.tensors(), [&](const auto& tensor) { return tensor.first.ends_with(name); });
  if (found == weights.tensors().end()) {
    return absl::NotFoundError(absl::StrCat(weights.dir(), ": no tensor ", name));
  }
  const TensorEntry& entry = *found->second.entry;
  if (entry.dtype) {
    facts.dtype = *entry.dtype;
  } else {
    facts.unsupported.push_back(
        absl::StrCat(name, " is ", entry.dtype_name, "; weights can be F32, F16 or BF16"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Facts> ReadEncoder(const ModelSource& source) {
  Facts facts;
  facts.path = source.path();
  EncodingFacts& encoding = facts.encoding.emplace();
  SHORTLIST_RETURN_IF_ERROR(Note(ReadEncodingFacts(source, encoding), facts));
  const absl::StatusOr<WeightFiles> weights = encoding.transformer.OpenWeights();
  SHORTLIST_RETURN_IF_ERROR(Note(weights.status(), facts));
  if (weights.ok()) ReadWeights(*weights, encoding);
  const bool is_inside = OpenTokenizer(encoding.transformer).ok();
  SHORTLIST_RETURN_IF_ERROR(ReadTokenizer(is_inside ? encoding.transformer : source, facts));
  return facts;
}

/// `name`: the model, as given by the user.
absl::StatusOr<Facts> ReadFacts(const std::string& name, const ModelSource& source) {
  if (IsEncoderSource(source)) return ReadEncoder(source);
  Facts facts;
  facts.path = source.path();
  const absl::StatusOr<ModelConfig> config = ReadModelConfig(source);
  SHORTLIST_RETURN_IF_ERROR(Note(config.status(), facts));
  if (config.ok()) {
    SHORTLIST_RETURN_IF_ERROR(
        Note(ReadGenerationConfig(source, config->vocab_size).status(), facts));
    facts.config = *config;
    facts.has_mtp = !config->is_eagle && MtpModel::IsIn(source);
    const absl::StatusOr<WeightFiles> weights = source.OpenWeights();
    SHORTLIST_RETURN_IF_ERROR(Note(weights.status(), facts));
    if (weights.ok()) SHORTLIST_RETURN_IF_ERROR(ReadDType(*weights, facts));
    if (weights.ok() && facts.dtype) {
      facts.blocks = config->packing.kind == WeightPacking::Kind::kNone
                         ? SizesInBlocks(*weights, *facts.dtype)
                         : LargestPackedSizes(*config, *facts.dtype);
    }
  }
  SHORTLIST_RETURN_IF_ERROR(ReadTokenizer(source, facts));
  ReadTemplate(name, source, facts);
  absl::StatusOr<std::optional<ScoreFacts>> scores = ReadScoreFacts(name, source);
  if (scores.ok()) {
    facts.scores = *std::move(scores);
  } else if (absl::IsUnimplemented(scores.status())) {
    facts.unsupported.emplace_back(scores.status().message());
  }
  return facts;
}

std::string WeightTypes(const Facts& facts) {
  if (facts.blocks.types.empty()) return DTypeName(*facts.dtype);
  return absl::StrJoin(facts.blocks.types, "+", [](std::string* out, DType dtype) {
    absl::StrAppend(out, DTypeName(dtype));
  });
}

const char* RopeName(RopeScaling::Type type) {
  switch (type) {
    case RopeScaling::Type::kDefault:
      return "default";
    case RopeScaling::Type::kLinear:
      return "linear";
    case RopeScaling::Type::kDynamic:
      return "dynamic";
    case RopeScaling::Type::kLlama3:
      return "llama3";
    case RopeScaling::Type::kYarn:
      return "yarn";
    case RopeScaling::Type::kLongRope:
      return "longrope";
  }
  SHORTLIST_CHECK(false);
}

const char* PackingName(WeightPacking::Kind kind) {
  switch (kind) {
    case WeightPacking::Kind::kNone:
      return "none";
    case WeightPacking::Kind::kGptq:
      return "gptq";
    case WeightPacking::Kind::kAwq:
      return "awq";
  }
  SHORTLIST_CHECK(false);
}

/// Window of the layers that have one; 0 if none has.
int64_t Window(const ModelConfig& c) {
  return c.windows.empty() ? 0 : *std::max_element(c.windows.begin(), c.windows.end());
}

std::vector<std::string> AdmittedIsas() {
  std::vector<std::string> names;
  for (const Isa isa : SupportedIsas()) names.emplace_back(IsaName(isa));
  return names;
}

int64_t NumThreads() { return std::max<int64_t>(std::thread::hardware_concurrency(), 1); }

nlohmann::ordered_json ToJson(const Facts& facts) {
  nlohmann::ordered_json json = {{"model", facts.path}};
  if (facts.config) {
    const ModelConfig& c = *facts.config;
    json["architecture"] = c.architecture;
    json["num_layers"] = c.num_layers;
    json["hidden"] = c.hidden;
    json["intermediate"] = c.intermediate;
    if (c.experts.num_experts > 0) {
      json["experts"] = {{"number", c.experts.num_experts},
                         {"used", c.experts.num_used},
                         {"intermediate", c.experts.intermediate},
                         {"shared_intermediate", c.experts.shared_intermediate}};
    }
    json["num_heads"] = c.num_heads;
    json["num_kv_heads"] = c.num_kv_heads;
    json["head_dim"] = c.head_dim;
    json["context_len"] = c.context_len;
    json["vocab_size"] = c.vocab_size;
    json["tie_word_embeddings"] = c.tie_word_embeddings;
    json["rope"] = RopeName(c.rope_scaling.type);
    json["sliding_window"] = Window(c);
    json["packing"] = PackingName(c.packing.kind);
    json["parameters"] = NumParameters(c);
  }
  if (facts.encoding) SetMembers(*facts.encoding, json);
  if (facts.scores) SetMembers(*facts.scores, json);
  if (facts.dtype) {
    json["dtype"] = DTypeName(*facts.dtype);
    json["weight_types"] = WeightTypes(facts);
    json["weight_bytes"] = facts.blocks.types.empty()
                               ? WeightBytes(*facts.config, *facts.dtype, *facts.dtype)
                               : facts.blocks.bytes;
    json["weight_bytes_int8"] = WeightBytes(*facts.config, *facts.dtype, DType::kInt8);
    json["weight_bytes_int4"] = WeightBytes(*facts.config, *facts.dtype, DType::kInt4);
    json["kv_bytes_per_1024_tokens"] = KvBytes(*facts.config, *facts.dtype);
    json["state_bytes_per_request"] = SequenceState::Bytes(*facts.config);
    json["has_mtp"] = facts.has_mtp;
  }
  if (facts.tokenizer) {
    json["tokenizer"] = {{"kind", facts.tokenizer->kind()},
                         {"size", facts.tokenizer->size()},
                         {"fingerprint", facts.tokenizer->Fingerprint()}};
  }
  if (!facts.encoding) {
    const auto text_or_null = [](const std::string& text) {
      return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
    };
    json["chat_template"] = facts.has_chat_template;
    json["conv_template"] = text_or_null(facts.has_chat_template ? "" : facts.fallback_template);
    json["fastchat_template"] = text_or_null(facts.fastchat_template);
  }
  json["isa"] = IsaName(CurrentIsa());
  json["admitted_isas"] = AdmittedIsas();
  json["threads"] = NumThreads();
  json["unsupported"] = facts.unsupported;
  return json;
}

/// (name, value) pairs, in the order of the page.
std::vector<std::pair<std::string, std::string>> ToLines(const Facts& facts) {
  std::vector<std::pair<std::string, std::string>> lines = {{"model", facts.path}};
  if (facts.config) {
    const ModelConfig& c = *facts.config;
    lines.emplace_back(
        "architecture",
        absl::StrCat(c.architecture, ": ", Counted(c.num_layers, "layer"), ", hidden ", c.hidden,
                     ", FFN ", c.intermediate, ", ", Counted(c.num_heads, "head"), " (",
                     c.num_kv_heads, " of keys and values) of ", c.head_dim, ", context ",
                     c.context_len));
    if (const ExpertShape& e = c.experts; e.num_experts > 0) {
      lines.emplace_back(
          "experts",
          absl::StrCat(e.num_experts, " in ", Counted(std::ranges::count(e.layers, true), "layer"),
                       ", each token uses ", e.num_used, ", FFN ", e.intermediate,
                       e.shared_intermediate > 0
                           ? absl::StrCat(", and a shared one of FFN ", e.shared_intermediate)
                           : ""));
    }
    const char* embedding = c.is_eagle              ? "embedding and head of its target"
                            : c.tie_word_embeddings ? "one matrix for embedding and head"
                                                    : "embedding and head apart";
    lines.emplace_back("vocabulary", absl::StrCat(c.vocab_size, " tokens, ", embedding));
    lines.emplace_back("parameters", absl::StrCat(NumParameters(c)));
    const std::string window = Window(c) > 0 ? absl::StrCat(", sliding window of ", Window(c)) : "";
    lines.emplace_back("positions", absl::StrCat(RopeName(c.rope_scaling.type), " rope", window));
    if (c.packing.kind != WeightPacking::Kind::kNone) {
      lines.emplace_back("packing",
                         absl::StrCat(PackingName(c.packing.kind), ", 4 bits",
                                      facts.blocks.types.empty() ? ", unpacked on load" : ""));
    }
  }
  if (facts.encoding) AppendLines(*facts.encoding, lines);
  if (facts.scores) AppendLines(*facts.scores, lines);
  if (facts.dtype) {
    const ModelConfig& c = *facts.config;
    const auto bytes = [&](DType weight_dtype) {
      return FormatBytes(WeightBytes(c, *facts.dtype, weight_dtype));
    };
    const std::string with_flags = absl::StrCat(
        "; ", bytes(DType::kInt8), " with --quantize int8, ", bytes(DType::kInt4), " with int4");
    const bool is_bound = c.packing.kind != WeightPacking::Kind::kNone;  // LargestPackedSizes
    lines.emplace_back(
        "weights",
        facts.blocks.types.empty()
            ? absl::StrCat(DTypeName(*facts.dtype), ", ", bytes(*facts.dtype), with_flags)
            : absl::StrCat(WeightTypes(facts), is_bound ? ", at most " : ", ",
                           FormatBytes(facts.blocks.bytes), with_flags, ", ", bytes(*facts.dtype),
                           " with --dtype ", DTypeName(*facts.dtype)));
    lines.emplace_back("KV cache", absl::StrCat(FormatBytes(KvBytes(c, *facts.dtype)), " for ",
                                                kKvTokens, " tokens"));
    if (c.num_recurrent_layers() > 0) {
      lines.emplace_back(
          "state", absl::StrCat(FormatBytes(SequenceState::Bytes(c)), " for a running request, ",
                                FormatBytes(SequenceState::PendingBytes(c)),
                                " for each of its drafted tokens"));
    }
    if (facts.has_mtp) lines.emplace_back("MTP layer", "drafts with --draft mtp");
  }
  if (facts.tokenizer) {
    const int64_t num_rowless =
        facts.config ? facts.tokenizer->size() - facts.config->vocab_size : 0;
    lines.emplace_back(
        "tokenizer",
        absl::StrCat(std::string(facts.tokenizer->kind()), ", ", facts.tokenizer->size(), " ids",
                     num_rowless > 0 ? absl::StrCat(" (the last ", num_rowless,
                                                    " without a row of the model: refused)")
                                     : "",
                     ", ", facts.tokenizer->Fingerprint()));
  }
  if (!facts.encoding) {
    lines.emplace_back("chat template",
                       facts.has_chat_template
                           ? "the checkpoint's own"
                           : absl::StrCat("none: conversations are rendered by ",
                                          facts.fallback_template, " (--conv-template)"));
    lines.emplace_back("FastChat", facts.fastchat_template.empty()
                                       ? "no template: --controller wants --conv-template"
                                       : facts.fastchat_template);
  }
  lines.emplace_back("ISA", absl::StrCat(IsaName(CurrentIsa()), " (SHORTLIST_ISA can be ",
                                         absl::StrJoin(AdmittedIsas(), ", "), ")"));
  lines.emplace_back("threads", absl::StrCat(NumThreads()));
  for (const std::string& reason : facts.unsupported) lines.emplace_back("unsupported", reason);
  return lines;
}

void PrintJson(const nlohmann::ordered_json& json, std::ostream& out) {
  constexpr int kIndent = 2;
  out << json.dump(kIndent, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace)
      << "\n";
}

void PrintLines(const std::vector<std::pair<std::string, std::string>>& lines, std::ostream& out) {
  constexpr int kNameWidth = 14;
  for (const auto& [name, value] : lines) {
    out << absl::StrFormat("%-*s", kNameWidth, name) << value << "\n";
  }
}

}  // namespace

void AddShowFlags(CLI::App& command, ShowFlags& flags) {
  command
      .add_option("MODEL_DIR", flags.model_dir,
                  "A Hugging Face model directory, or org/name[@revision] of the cache")
      ->required();
  command.add_flag("--json", flags.json, "One JSON object instead of text");
}

absl::Status Show(const ShowFlags& flags, std::ostream& out) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModelSource source, ModelSource::Open(flags.model_dir));
  const absl::StatusOr<WeightFiles> weights = source.OpenWeights();
  if (weights.ok() && IsEagle3(*weights)) {
    SHORTLIST_ASSIGN_OR_RETURN(const Eagle3Facts facts, ReadEagle3Facts(source));
    flags.json ? PrintJson(JsonOf(facts), out) : PrintLines(LinesOf(facts), out);
    return absl::OkStatus();
  }
  SHORTLIST_ASSIGN_OR_RETURN(const Facts facts, ReadFacts(flags.model_dir, source));
  flags.json ? PrintJson(ToJson(facts), out) : PrintLines(ToLines(facts), out);
  return absl::OkStatus();
}

absl::Status ChooseIsa(const char* wanted) {
  if (wanted == nullptr) return absl::OkStatus();
  const std::optional<Isa> isa = ParseIsa(wanted);
  if (isa && SetIsa(*isa)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("SHORTLIST_ISA: '", wanted, "' not in ", absl::StrJoin(AdmittedIsas(), "|")));
}

}  // namespace shortlist

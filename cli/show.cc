#include "cli/show.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "kernels/isa.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

constexpr int64_t kKvTokens = 1024;

/// What is known of a model directory. The optional parts are unknown where `unsupported` says why.
struct Facts {
  std::optional<ModelConfig> config;
  std::optional<DType> dtype;
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::string> unsupported;
};

bool IsEagle(const ModelConfig& c) {
  return c.architecture == ModelConfig::Architecture::kLlamaEagle;
}

/// Weights that a model of this configuration keeps; an EAGLE head shares the target's embedding.
int64_t NumParameters(const ModelConfig& c) {
  const int64_t bias = c.qkv_bias ? (c.num_heads + 2 * c.num_kv_heads) * c.head_dim : 0;
  const int64_t norms = c.qk_norm ? 2 * c.head_dim : 0;
  const int64_t attention =
      2 * (c.num_heads + c.num_kv_heads) * c.head_dim * c.hidden + bias + norms;
  const int64_t layers = c.num_layers * (attention + 3 * c.hidden * c.intermediate + 2 * c.hidden);
  if (IsEagle(c)) {  // its first layer has no input norm, and it has no final one
    return 2 * c.hidden * c.hidden + (c.fc_bias ? c.hidden : 0) + layers - c.hidden;
  }
  return (c.tie_word_embeddings ? 1 : 2) * c.vocab_size * c.hidden + layers + c.hidden;
}

int64_t KvBytes(const ModelConfig& c, DType dtype) {
  return 2 * c.num_layers * c.num_kv_heads * c.head_dim * kKvTokens * DTypeBytes(dtype);
}

/// Splits a failure: what this build does not support is noted, anything else is an error.
absl::Status Note(const absl::Status& status, Facts& facts) {
  if (!absl::IsUnimplemented(status)) return status;
  facts.unsupported.emplace_back(status.message());
  return absl::OkStatus();
}

absl::Status ReadTokenizer(const std::string& dir, Facts& facts) {
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = OpenTokenizer(dir);
  if (!tokenizer.ok()) {
    // Works on the embeddings of its target, whose tokenizer serves both.
    const bool needs_none = facts.config && IsEagle(*facts.config);
    if (absl::IsNotFound(tokenizer.status()) && needs_none) return absl::OkStatus();
    if (!absl::IsNotFound(tokenizer.status())) return tokenizer.status();
    facts.unsupported.emplace_back(tokenizer.status().message());
    return absl::OkStatus();
  }
  facts.tokenizer = *std::move(tokenizer);
  if (facts.config && facts.tokenizer->size() > facts.config->vocab_size) {
    facts.unsupported.push_back(absl::StrCat("the tokenizer has ", facts.tokenizer->size(),
                                             " ids, the model ", facts.config->vocab_size));
  }
  return absl::OkStatus();
}

absl::StatusOr<Facts> ReadFacts(const std::string& dir) {
  Facts facts;
  absl::StatusOr<ModelConfig> config = ReadModelConfig(dir);
  if (config.ok()) {
    facts.config = *std::move(config);
    SHORTLIST_ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(dir));
    const absl::StatusOr<DType> dtype =
        checkpoint.StoredDType(IsEagle(*facts.config) ? "fc.weight" : "model.embed_tokens.weight");
    if (dtype.ok()) {
      facts.dtype = *dtype;
    } else {
      SHORTLIST_RETURN_IF_ERROR(Note(dtype.status(), facts));
    }
  } else {
    SHORTLIST_RETURN_IF_ERROR(Note(config.status(), facts));
  }
  SHORTLIST_RETURN_IF_ERROR(ReadTokenizer(dir, facts));
  return facts;
}

std::vector<std::string> AdmittedIsas() {
  std::vector<std::string> names;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    if (isa <= DetectIsa()) names.emplace_back(IsaName(isa));
  }
  return names;
}

int64_t NumThreads() { return std::max<int64_t>(std::thread::hardware_concurrency(), 1); }

nlohmann::ordered_json ToJson(const std::string& dir, const Facts& facts) {
  nlohmann::ordered_json json = {{"model", dir}};
  if (facts.config) {
    const ModelConfig& c = *facts.config;
    json["architecture"] = ArchitectureName(c.architecture);
    json["num_layers"] = c.num_layers;
    json["hidden"] = c.hidden;
    json["intermediate"] = c.intermediate;
    json["num_heads"] = c.num_heads;
    json["num_kv_heads"] = c.num_kv_heads;
    json["head_dim"] = c.head_dim;
    json["context_len"] = c.context_len;
    json["vocab_size"] = c.vocab_size;
    json["tie_word_embeddings"] = c.tie_word_embeddings;
    json["parameters"] = NumParameters(c);
  }
  if (facts.dtype) {
    json["dtype"] = DTypeName(*facts.dtype);
    json["weight_bytes"] = NumParameters(*facts.config) * DTypeBytes(*facts.dtype);
    json["kv_bytes_per_1024_tokens"] = KvBytes(*facts.config, *facts.dtype);
  }
  if (facts.tokenizer) {
    json["tokenizer"] = {{"kind", "sentencepiece"},
                         {"size", facts.tokenizer->size()},
                         {"fingerprint", facts.tokenizer->Fingerprint()}};
  }
  json["isa"] = IsaName(CurrentIsa());
  json["admitted_isas"] = AdmittedIsas();
  json["threads"] = NumThreads();
  json["unsupported"] = facts.unsupported;
  return json;
}

std::string FormatBytes(int64_t bytes) {
  const double value = static_cast<double>(bytes);
  return value < 1e9 ? absl::StrFormat("%.1f MB", value / 1e6)
                     : absl::StrFormat("%.2f GB", value / 1e9);
}

/// Pairs of a name and its value, in the order of the page.
std::vector<std::pair<std::string, std::string>> ToLines(const std::string& dir,
                                                         const Facts& facts) {
  std::vector<std::pair<std::string, std::string>> lines = {{"model", dir}};
  if (facts.config) {
    const ModelConfig& c = *facts.config;
    lines.emplace_back(
        "architecture",
        absl::StrCat(ArchitectureName(c.architecture), ": ", c.num_layers, " layers, hidden ",
                     c.hidden, ", FFN ", c.intermediate, ", ", c.num_heads, " heads (",
                     c.num_kv_heads, " of keys and values) of ", c.head_dim, ", context ",
                     c.context_len));
    const char* embedding = IsEagle(c)              ? "embedding and head of its target"
                            : c.tie_word_embeddings ? "one matrix for embedding and head"
                                                    : "embedding and head apart";
    lines.emplace_back("vocabulary", absl::StrCat(c.vocab_size, " tokens, ", embedding));
    lines.emplace_back("parameters", absl::StrCat(NumParameters(c)));
  }
  if (facts.dtype) {
    const ModelConfig& c = *facts.config;
    lines.emplace_back("weights",
                       absl::StrCat(DTypeName(*facts.dtype), ", ",
                                    FormatBytes(NumParameters(c) * DTypeBytes(*facts.dtype))));
    lines.emplace_back("KV cache", absl::StrCat(FormatBytes(KvBytes(c, *facts.dtype)), " for ",
                                                kKvTokens, " tokens"));
  }
  if (facts.tokenizer) {
    lines.emplace_back("tokenizer", absl::StrCat("SentencePiece, ", facts.tokenizer->size(),
                                                 " ids, ", facts.tokenizer->Fingerprint()));
  }
  lines.emplace_back("ISA", absl::StrCat(IsaName(CurrentIsa()), " (SHORTLIST_ISA can be ",
                                         absl::StrJoin(AdmittedIsas(), ", "), ")"));
  lines.emplace_back("threads", absl::StrCat(NumThreads()));
  for (const std::string& reason : facts.unsupported) lines.emplace_back("unsupported", reason);
  return lines;
}

}  // namespace

void AddShowFlags(CLI::App& command, ShowFlags& flags) {
  command.add_option("MODEL_DIR", flags.model_dir, "A Hugging Face model directory")->required();
  command.add_flag("--json", flags.json, "One JSON object instead of text");
}

absl::Status Show(const ShowFlags& flags, std::ostream& out) {
  SHORTLIST_ASSIGN_OR_RETURN(const Facts facts, ReadFacts(flags.model_dir));
  if (flags.json) {
    constexpr int kIndent = 2;
    out << ToJson(flags.model_dir, facts)
               .dump(kIndent, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace)
        << "\n";
    return absl::OkStatus();
  }
  constexpr int kNameWidth = 14;
  for (const auto& [name, value] : ToLines(flags.model_dir, facts)) {
    out << absl::StrFormat("%-*s", kNameWidth, name) << value << "\n";
  }
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

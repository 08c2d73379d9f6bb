#include "embed/masked_lm_head.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "kernels/elementwise.h"

namespace shortlist {
namespace {

using Family = EncoderConfig::Family;

/// Names of tensors in the checkpoint.
struct Names {
  const char* dense;
  const char* norm;
  const char* decoder;
  const char* bias;
  const char* decoder_bias;  // of a decoder without tied weights, which then counts
  const char* body;          // prefix of the body's tensor names in some checkpoints
};
constexpr Names kBert = {"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                         "cls.predictions.decoder.weight",  "cls.predictions.bias",
                         "cls.predictions.decoder.bias",    "bert."};
constexpr Names kDistilBert = {"vocab_transform",        "vocab_layer_norm",
                               "vocab_projector.weight", "vocab_projector.bias",
                               "vocab_projector.bias",   "distilbert."};
constexpr Names kRoberta = {"lm_head.dense", "lm_head.layer_norm",   "lm_head.decoder.weight",
                            "lm_head.bias",  "lm_head.decoder.bias", "roberta."};

const Names& NamesOf(Family family) {
  if (family == Family::kDistilBert) return kDistilBert;
  return family == Family::kRoberta ? kRoberta : kBert;
}

}  // namespace

std::string MaskedLmHead::TensorName(const EncoderConfig& config) {
  if (config.family == Family::kModernBert) return "";
  return absl::StrCat(NamesOf(config.family).dense, ".weight");
}

bool MaskedLmHead::IsIn(const Checkpoint& checkpoint, const EncoderConfig& config) {
  const std::string name = TensorName(config);
  return !name.empty() && checkpoint.Contains(name);
}

absl::StatusOr<MaskedLmHead> MaskedLmHead::Load(Checkpoint& checkpoint, const EncoderConfig& config,
                                                DType dtype, ThreadPool& pool) {
  if (config.family == Family::kModernBert) {
    return absl::UnimplementedError(
        absl::StrCat(config.architecture,
                     ": its masked language model's head is not supported; BERT's, "
                     "DistilBERT's and RoBERTa's are"));
  }
  const Names& names = NamesOf(config.family);
  MaskedLmHead head(config);
  const auto load = [&](const std::string& name, int64_t num_rows,
                        PackedLinear& weight) -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(const Matrix rows,
                               checkpoint.Load(name, {num_rows, config.hidden}, dtype, pool));
    const MatrixView view = {rows.data(), dtype, num_rows};
    weight = PackedLinear::Pack({&view, 1}, config.hidden, dtype, pool);
    return absl::OkStatus();
  };
  SHORTLIST_RETURN_IF_ERROR(load(absl::StrCat(names.dense, ".weight"), config.hidden, head.dense_));
  SHORTLIST_ASSIGN_OR_RETURN(head.dense_bias_, checkpoint.Load(absl::StrCat(names.dense, ".bias"),
                                                               {config.hidden}, DType::kF32, pool));
  SHORTLIST_ASSIGN_OR_RETURN(head.norm_, NormWeight::Load(checkpoint, names.norm, config, pool));
  const std::string embedding = "embeddings.word_embeddings.weight";
  std::string decoder = names.decoder;
  if (!checkpoint.Contains(decoder)) decoder = names.body + embedding;
  if (!checkpoint.Contains(decoder)) decoder = embedding;
  SHORTLIST_RETURN_IF_ERROR(load(decoder, config.vocab_size, head.decoder_));
  const char* const bias =
      checkpoint.Contains(names.decoder_bias) ? names.decoder_bias : names.bias;
  SHORTLIST_ASSIGN_OR_RETURN(head.bias_,
                             checkpoint.Load(bias, {config.vocab_size}, DType::kF32, pool));
  return head;
}

void MaskedLmHead::Logits(const float* states, int64_t num_tokens, float* logits,
                          ThreadPool& pool) const {
  std::vector<float> inner(num_tokens * config_.hidden);
  // transformers' RobertaLMHead ignores hidden_act.
  const Activation activation =
      config_.family == Family::kRoberta ? Activation::kGeluErf : config_.activation;
  ActivatedLinearCpu(dense_, dense_bias_.floats(), {.x = states}, num_tokens, activation,
                     inner.data(), pool);
  LayerNormCpu(inner.data(), /*addend=*/nullptr, norm_.View(config_), num_tokens, config_.hidden,
               inner.data(), pool);
  LinearCpu(decoder_, {.x = inner.data()}, num_tokens, logits, /*accumulate=*/false, pool);
  AddBiasCpu(logits, bias_.floats(), num_tokens, config_.vocab_size, pool);
}

}  // namespace shortlist

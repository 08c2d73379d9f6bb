#include "tests/support/tiny_llama.h"

#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/random_tensors.h"

namespace shortlist {
namespace {

using nlohmann::json;

void AddLayer(RandomTensors& random, const std::string& prefix, const TinyLlamaOptions& options,
              bool has_input_norm) {
  if (has_input_norm) random.AddNorm(prefix + "input_layernorm.weight", options.hidden);
  random.AddLinear(prefix + "self_attn.q_proj.weight", options.num_heads * options.head_dim,
                   options.hidden);
  random.AddLinear(prefix + "self_attn.k_proj.weight", options.num_kv_heads * options.head_dim,
                   options.hidden);
  random.AddLinear(prefix + "self_attn.v_proj.weight", options.num_kv_heads * options.head_dim,
                   options.hidden);
  random.AddLinear(prefix + "self_attn.o_proj.weight", options.hidden,
                   options.num_heads * options.head_dim);
  random.AddNorm(prefix + "post_attention_layernorm.weight", options.hidden);
  random.AddLinear(prefix + "mlp.gate_proj.weight", options.intermediate, options.hidden);
  random.AddLinear(prefix + "mlp.up_proj.weight", options.intermediate, options.hidden);
  random.AddLinear(prefix + "mlp.down_proj.weight", options.hidden, options.intermediate);
}

json ConfigOf(const TinyLlamaOptions& options, const char* architecture) {
  const char* const dtype = options.dtype == DType::kF32   ? "float32"
                            : options.dtype == DType::kF16 ? "float16"
                                                           : "bfloat16";
  return {{"architectures", {architecture}},
          {"model_type", "llama"},
          {"vocab_size", options.vocab_size},
          {"hidden_size", options.hidden},
          {"intermediate_size", options.intermediate},
          {"num_hidden_layers", options.num_layers},
          {"num_attention_heads", options.num_heads},
          {"num_key_value_heads", options.num_kv_heads},
          {"head_dim", options.head_dim},
          {"max_position_embeddings", options.context_len},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"hidden_act", "silu"},
          {"tie_word_embeddings", options.tied},
          {"bos_token_id", 1},
          {"eos_token_id", 2},
          {"torch_dtype", dtype}};
}

/// The layer that a tensor of a Llama belongs to; -1 for one outside the layers.
int64_t LayerOf(const std::string& name) {
  const std::string prefix = "model.layers.";
  return name.starts_with(prefix) ? std::stoll(name.substr(prefix.size())) : -1;
}

}  // namespace

absl::Status WriteTinyLlama(const std::string& dir, const TinyLlamaOptions& options,
                            uint64_t seed) {
  RandomTensors random(options.dtype, seed);
  random.Add("model.embed_tokens.weight", {options.vocab_size, options.hidden}, 0.0, 1.0);
  for (int64_t i = 0; i < options.num_layers; ++i) {
    AddLayer(random, absl::StrCat("model.layers.", i, "."), options, /*has_input_norm=*/true);
  }
  random.AddNorm("model.norm.weight", options.hidden);
  if (!options.tied) random.Add("lm_head.weight", {options.vocab_size, options.hidden}, 0.0, 0.5);
  return WriteModel(dir, ConfigOf(options, "LlamaForCausalLM"), random.tensors);
}

absl::Status WriteTinyEagle(const std::string& dir, const TinyLlamaOptions& options,
                            uint64_t seed) {
  RandomTensors random(options.dtype, seed);
  random.AddLinear("fc.weight", options.hidden, 2 * options.hidden);
  if (options.fc_bias) random.Add("fc.bias", {options.hidden}, 0.0, 0.2);
  for (int64_t i = 0; i < options.num_layers; ++i) {
    AddLayer(random, absl::StrCat("layers.", i, "."), options, /*has_input_norm=*/i > 0);
  }
  json config = ConfigOf(options, "LlamaForCausalLMEagle");
  config["bias"] = options.fc_bias;
  return WriteModel(dir, config, random.tensors);
}

absl::Status TruncateLayers(const std::string& src_dir, const std::string& dst_dir,
                            int64_t num_layers) {
  SHORTLIST_ASSIGN_OR_RETURN(json config,
                             ReadJsonFile(absl::StrCat(src_dir, "/config.json"), 1 << 20));
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<StoredTensor> tensors,
                             ReadSafetensors(absl::StrCat(src_dir, "/model.safetensors")));
  std::erase_if(tensors,
                [&](const StoredTensor& tensor) { return LayerOf(tensor.name) >= num_layers; });
  config["num_hidden_layers"] = num_layers;
  SHORTLIST_RETURN_IF_ERROR(WriteModel(dst_dir, config, tensors));
  for (const char* name : {"tokenizer.model", "tokenizer_config.json"}) {
    const std::filesystem::path source = std::filesystem::path(src_dir) / name;
    if (!std::filesystem::exists(source)) continue;
    std::filesystem::copy_file(source, std::filesystem::path(dst_dir) / name,
                               std::filesystem::copy_options::overwrite_existing);
  }
  return absl::OkStatus();
}

}  // namespace shortlist

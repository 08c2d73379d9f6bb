#include "tests/support/tiny_eagle3.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/file.h"
#include "base/status_macros.h"
#include "io/model_source.h"
#include "io/safetensors_writer.h"

namespace shortlist {
namespace {

template <typename Number>
std::string BytesOf(const std::vector<Number>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number)};
}

}  // namespace

AnyTensor AnyTensor::Floats(const std::vector<int64_t>& shape, const std::vector<float>& values) {
  return {"F32", shape, BytesOf(values)};
}

AnyTensor AnyTensor::Integers(const std::vector<int64_t>& values) {
  return {"I64", {static_cast<int64_t>(values.size())}, BytesOf(values)};
}

AnyTensor AnyTensor::Mask(const std::vector<bool>& values) {
  return {"BOOL", {static_cast<int64_t>(values.size())}, {values.begin(), values.end()}};
}

absl::Status AnyCheckpoint::Write(const std::string& dir) const {
  std::filesystem::create_directories(dir);
  SafetensorsWriter writer;
  for (const auto& [name, tensor] : tensors) {
    writer.Add(name, tensor.dtype.c_str(), tensor.shape, tensor.bytes);
  }
  SHORTLIST_RETURN_IF_ERROR(WriteFileAtomically(dir + "/model.safetensors", writer.File()));
  return WriteFileAtomically(dir + "/config.json", config.dump(2));
}

AnyCheckpoint TinyEagle3(const TinyLlamaOptions& target, uint64_t seed) {
  AnyCheckpoint head;
  head.config = {{"architectures", {"LlamaForCausalLMEagle3"}},
                 {"model_type", "llama"},
                 {"vocab_size", target.vocab_size},
                 {"draft_vocab_size", target.vocab_size / 2},
                 {"hidden_size", target.hidden},
                 {"intermediate_size", target.intermediate},
                 {"num_hidden_layers", 1},
                 {"num_attention_heads", target.num_heads},
                 {"num_key_value_heads", target.num_kv_heads},
                 {"head_dim", target.head_dim},
                 {"max_position_embeddings", target.context_len},
                 {"rms_norm_eps", 1e-5},
                 {"torch_dtype", "float32"}};
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    std::vector<float> values(shape.size() == 1 ? shape[0] : shape[0] * shape[1]);
    const float scale = shape.size() == 1 ? 0.2f : 1.0f / std::sqrt(static_cast<float>(shape[1]));
    for (float& value : values) value = normal(random) * scale + (shape.size() == 1 ? 1.0f : 0.0f);
    head.tensors[name] = AnyTensor::Floats(shape, values);
  };
  const int64_t hidden = target.hidden, q = target.num_heads * target.head_dim;
  const int64_t kv = target.num_kv_heads * target.head_dim;
  add("fc.weight", {hidden, 3 * hidden});
  add("norm.weight", {hidden});
  for (const char* name : {"input_layernorm", "hidden_norm", "post_attention_layernorm"}) {
    add("midlayer." + std::string(name) + ".weight", {hidden});
  }
  add("midlayer.self_attn.q_proj.weight", {q, 2 * hidden});
  add("midlayer.self_attn.k_proj.weight", {kv, 2 * hidden});
  add("midlayer.self_attn.v_proj.weight", {kv, 2 * hidden});
  add("midlayer.self_attn.o_proj.weight", {hidden, q});
  add("midlayer.mlp.gate_proj.weight", {target.intermediate, hidden});
  add("midlayer.mlp.up_proj.weight", {target.intermediate, hidden});
  add("midlayer.mlp.down_proj.weight", {hidden, target.intermediate});
  add("lm_head.weight", {target.vocab_size / 2, hidden});
  std::vector<int64_t> offsets;
  std::vector<bool> mask(target.vocab_size);
  for (int64_t row = 0; row < target.vocab_size / 2; ++row) {
    offsets.push_back(row + 1);  // token 2 * row + 1
    mask[2 * row + 1] = true;
  }
  head.tensors["d2t"] = AnyTensor::Integers(offsets);
  head.tensors["t2d"] = AnyTensor::Mask(mask);
  return head;
}

AnyCheckpoint AsSpeculators(const AnyCheckpoint& flat) {
  AnyCheckpoint nested;
  nlohmann::json layers = flat.config;
  for (const char* name : {"architectures", "draft_vocab_size", "torch_dtype", "target_hidden_size",
                           "norm_before_residual"}) {
    layers.erase(name);
  }
  nested.config = {{"architectures", {"Eagle3DraftModel"}},
                   {"speculators_model_type", "eagle3"},
                   {"draft_vocab_size", flat.config["draft_vocab_size"]},
                   {"norm_before_residual", flat.config.value("norm_before_residual", false)},
                   {"transformer_layer_config", layers}};
  constexpr char kIds[] = "eagle_aux_hidden_state_layer_ids";
  if (flat.config.contains(kIds)) {
    nested.config[kIds] = flat.config[kIds];
    nested.config["transformer_layer_config"].erase(kIds);
  }
  for (const auto& [name, tensor] : flat.tensors) {
    const bool is_of_layer = name.starts_with("midlayer.");
    nested.tensors[is_of_layer ? "layers.0." + name.substr(9) : name] = tensor;
  }
  return nested;
}

absl::StatusOr<AnyCheckpoint> ReadAnyCheckpoint(const std::string& dir) {
  const ModelSource source = ModelSource::OfDirectory(dir);
  AnyCheckpoint checkpoint;
  SHORTLIST_ASSIGN_OR_RETURN(checkpoint.config, source.ReadJson("config.json"));
  SHORTLIST_ASSIGN_OR_RETURN(const WeightFiles weights, source.OpenWeights());
  for (const auto& [name, location] : weights.tensors()) {
    const TensorEntry& entry = *location.entry;
    AnyTensor tensor{entry.dtype_name, entry.shape, std::string(entry.num_bytes, '\0')};
    SHORTLIST_RETURN_IF_ERROR(
        weights.file(location).Read(entry, 0, entry.num_bytes, tensor.bytes.data()));
    checkpoint.tensors[name] = std::move(tensor);
  }
  return checkpoint;
}

}  // namespace shortlist

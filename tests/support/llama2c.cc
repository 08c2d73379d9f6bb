#include "tests/support/llama2c.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "tests/support/checkpoint_writer.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxFileBytes = 64 << 20;

/// Takes values off the front of a file.
class Cursor {
 public:
  explicit Cursor(const std::string& bytes) : bytes_(bytes) {}

  bool Take(void* out, size_t count) {
    if (bytes_.size() - position_ < count) return false;
    std::memcpy(out, bytes_.data() + position_, count);
    position_ += count;
    return true;
  }

 private:
  const std::string& bytes_;
  size_t position_ = 0;
};

/// Rows [num_heads, head_dim / 2, 2] of interleaved pairs to [num_heads, 2, head_dim / 2].
std::vector<float> SplitHalves(const std::vector<float>& rows, int64_t head_dim, int64_t dim) {
  std::vector<float> out(rows.size());
  const int64_t num_rows = static_cast<int64_t>(rows.size()) / dim;
  for (int64_t row = 0; row < num_rows; ++row) {
    const int64_t head = row / head_dim;
    const int64_t half = row % head_dim / (head_dim / 2);
    const int64_t pair = row % (head_dim / 2);
    const int64_t from = head * head_dim + 2 * pair + half;
    std::memcpy(&out[row * dim], &rows[from * dim], dim * sizeof(float));
  }
  return out;
}

}  // namespace

absl::Status WriteStories260K(const std::string& llama2c_bin, const std::string& dir) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(llama2c_bin, kMaxFileBytes));
  Cursor cursor(bytes);
  std::array<int32_t, 7> header;
  if (!cursor.Take(header.data(), sizeof header))
    return absl::InvalidArgumentError("header cut short");
  const auto [dim, ffn, num_layers, num_heads, num_kv_heads, signed_vocab, context_len] = header;
  const int64_t vocab_size = std::abs(signed_vocab);
  const bool tied = signed_vocab > 0;
  const int64_t head_dim = dim / num_heads;
  const int64_t kv_dim = num_kv_heads * head_dim;

  bool complete = true;
  const auto take = [&](int64_t count) {
    std::vector<float> values(count);
    complete = complete && cursor.Take(values.data(), count * sizeof(float));
    return values;
  };
  std::vector<StoredTensor> tensors;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape,
                       const std::vector<float>& values) {
    tensors.push_back(MakeTensor(name, shape, values, DType::kF32));
  };
  const auto add_layers = [&](const char* name, const std::vector<int64_t>& shape, bool rotated) {
    for (int32_t i = 0; i < num_layers; ++i) {
      const std::vector<float> values = take(shape[0] * (shape.size() == 2 ? shape[1] : 1));
      add(absl::StrCat("model.layers.", i, ".", name), shape,
          rotated ? SplitHalves(values, head_dim, dim) : values);
    }
  };
  add("model.embed_tokens.weight", {vocab_size, dim}, take(vocab_size * dim));
  add_layers("input_layernorm.weight", {dim}, false);
  add_layers("self_attn.q_proj.weight", {dim, dim}, true);
  add_layers("self_attn.k_proj.weight", {kv_dim, dim}, true);
  add_layers("self_attn.v_proj.weight", {kv_dim, dim}, false);
  add_layers("self_attn.o_proj.weight", {dim, dim}, false);
  add_layers("post_attention_layernorm.weight", {dim}, false);
  add_layers("mlp.gate_proj.weight", {ffn, dim}, false);
  add_layers("mlp.down_proj.weight", {dim, ffn}, false);
  add_layers("mlp.up_proj.weight", {ffn, dim}, false);
  add("model.norm.weight", {dim}, take(dim));
  take(context_len * head_dim);  // rotary tables
  if (!tied) add("lm_head.weight", {vocab_size, dim}, take(vocab_size * dim));
  if (!complete) return absl::InvalidArgumentError(absl::StrCat(llama2c_bin, ": cut short"));

  const nlohmann::json config = {{"architectures", {"LlamaForCausalLM"}},
                                 {"model_type", "llama"},
                                 {"vocab_size", vocab_size},
                                 {"hidden_size", dim},
                                 {"intermediate_size", ffn},
                                 {"num_hidden_layers", num_layers},
                                 {"num_attention_heads", num_heads},
                                 {"num_key_value_heads", num_kv_heads},
                                 {"max_position_embeddings", context_len},
                                 {"rms_norm_eps", 1e-5},
                                 {"rope_theta", 10000.0},
                                 {"hidden_act", "silu"},
                                 {"tie_word_embeddings", tied},
                                 {"bos_token_id", 1},
                                 {"eos_token_id", 2},
                                 {"torch_dtype", "float32"}};
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  SHORTLIST_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(dir, "/config.json"), config.dump(1)));
  return WriteSafetensors(absl::StrCat(dir, "/model.safetensors"), tensors);
}

absl::StatusOr<std::vector<std::string>> ReadLlama2cPieces(const std::string& path,
                                                           int vocab_size) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxFileBytes));
  Cursor cursor(bytes);
  int32_t longest = 0;
  bool complete = cursor.Take(&longest, sizeof longest);
  std::vector<std::string> pieces;
  for (int i = 0; i < vocab_size && complete; ++i) {
    float score = 0;
    int32_t length = 0;
    complete = cursor.Take(&score, sizeof score) && cursor.Take(&length, sizeof length) &&
               length >= 0 && length <= longest;
    if (!complete) break;
    std::string piece(length, '\0');
    complete = cursor.Take(piece.data(), piece.size());
    pieces.push_back(std::move(piece));
  }
  if (!complete) return absl::InvalidArgumentError(absl::StrCat(path, ": cut short"));
  return pieces;
}

std::string DecodeLlama2c(const std::vector<std::string>& pieces, const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids) {
    std::string piece = pieces.at(Raw(id));
    unsigned int byte = 0;
    if (piece.size() == 6 && std::sscanf(piece.c_str(), "<0x%02X>", &byte) == 1) {
      piece = std::string(1, static_cast<char>(byte));
    }
    text += text.empty() && piece.starts_with(' ') ? piece.substr(1) : piece;
  }
  return text;
}

}  // namespace shortlist

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/dtype.h"
#include "base/json.h"
#include "model/decoder.h"
#include "nlohmann/json.hpp"
#include "tests/io/gguf_writer.h"
#include "tests/model/model_fixture.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr uint32_t kF32 = 0, kQ80 = 8;

/// Rows of a tensor of a model, seen as a matrix.
struct Rows {
  std::vector<int64_t> shape;
  std::vector<float> values;
};
using Tensors = std::map<std::string, Rows>;

/// A family, and what llama.cpp's convert_hf_to_gguf.py writes for it.
struct FamilyCase {
  const char* name;  // of a case in golden/decoders
  const char* arch;
  bool pairs_rows = false;
  // Parts of the names of a layer's tensors, replaced in this order after those of all families.
  std::vector<std::pair<std::string, std::string>> renamed = {};
  std::vector<std::pair<const char*, int64_t>> sizes = {};  // keys below the architecture
  std::vector<std::pair<const char*, float>> numbers = {};
  json config = json::object();  // replaces fields of the case's
  // Changes a tensor to what the converter stores; null: the same.
  void (*convert)(const std::string& name, Rows& rows) = nullptr;
};

void PrintTo(const FamilyCase& family, std::ostream* out) { *out << family.name; }

/// As many key heads as value heads, whose order the converter then leaves alone: rows of the
/// projection and channels of the convolution.
constexpr int64_t kQwen35Channels = 2 * 4 * 12 + 4 * 20;

void ConvertQwen35(const std::string& name, Rows& rows) {
  if (name.ends_with("A_log")) {
    for (float& value : rows.values) value = -std::exp(value);
  }
  if (name.ends_with("norm.weight") && !name.ends_with("linear_attn.norm.weight")) {
    for (float& value : rows.values) value += 1.0f;
  }
  if (name.ends_with("conv1d.weight")) rows.shape = {rows.shape[0], rows.shape[2]};
}

constexpr std::string_view kOfExperts = ".experts.";

/// False for experts in one tensor too.
bool IsOfOneExpert(const std::string& name) {
  const size_t at = name.find(kOfExperts);
  return at != std::string::npos && std::isdigit(name[at + kOfExperts.size()]) != 0;
}

std::string GgufName(std::string name, const FamilyCase& family) {
  for (const auto& [from, to] : family.renamed) name = absl::StrReplaceAll(name, {{from, to}});
  return absl::StrReplaceAll(name, {{"model.embed_tokens", "token_embd"},
                                    {"model.layers.", "blk."},
                                    {"model.norm", "output_norm"},
                                    {"lm_head", "output"},
                                    {"self_attn.q_proj", "attn_q"},
                                    {"self_attn.k_proj", "attn_k"},
                                    {"self_attn.v_proj", "attn_v"},
                                    {"self_attn.o_proj", "attn_output"},
                                    {"self_attn.q_norm", "attn_q_norm"},
                                    {"self_attn.k_norm", "attn_k_norm"},
                                    {"input_layernorm", "attn_norm"},
                                    {"post_attention_layernorm", "ffn_norm"},
                                    {"mlp.gate_proj", "ffn_gate"},
                                    {"mlp.up_proj", "ffn_up"},
                                    {"mlp.down_proj", "ffn_down"},
                                    {"mlp.gate.", "ffn_gate_inp."},
                                    {"mlp.experts.gate_proj", "ffn_gate_exps"},
                                    {"mlp.experts.up_proj", "ffn_up_exps"},
                                    {"mlp.experts.down_proj", "ffn_down_exps"},
                                    {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
                                    {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
                                    {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
                                    {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"}});
}

/// Rows of each head in the order of llama.cpp: the pairs that RoPE rotates next to each other.
void PairRows(int64_t head_dim, Rows& rows) {
  const int64_t columns = rows.shape[1], half = head_dim / 2;
  Rows paired = rows;
  for (int64_t row = 0; row < rows.shape[0]; ++row) {
    const int64_t in_head = row % head_dim;
    const int64_t to = row - in_head + in_head % half * 2 + in_head / half;
    std::copy_n(rows.values.begin() + row * columns, columns, paired.values.begin() + to * columns);
  }
  rows = paired;
}

/// Returns blocks of 32 numbers, and sets `rows` to what they are read as, in bf16.
std::string EncodeQ80(Rows& rows) {
  std::string blocks;
  for (size_t first = 0; first < rows.values.size(); first += 32) {
    float largest = 0.0f;
    for (size_t i = first; i < first + 32; ++i) {
      largest = std::max(largest, std::abs(rows.values[i]));
    }
    uint16_t stored = 0;
    StoreFromFloat(&stored, DType::kF16, 0, largest / 127.0f);
    const float scale = LoadAsFloat(&stored, DType::kF16, 0);
    blocks += Bytes(stored);
    for (size_t i = first; i < first + 32; ++i) {
      const auto code = static_cast<int8_t>(std::lround(rows.values[i] / scale));
      blocks += Bytes(code);
      StoreFromFloat(&stored, DType::kBf16, 0, scale * static_cast<float>(code));
      rows.values[i] = LoadAsFloat(&stored, DType::kBf16, 0);
    }
  }
  return blocks;
}

class GgufFamiliesTest : public testing::TestWithParam<FamilyCase> {
 protected:
  GgufFamiliesTest() {
    const json golden =
        ReadJsonFile(
            SourcePath(absl::StrCat("tests/reference/golden/decoders/", GetParam().name, ".json")),
            1 << 20)
            .value();
    config_ = golden["config"];
    for (const auto& [name, value] : GetParam().config.items()) {
      value.is_null() ? config_.erase(name) : (config_[name] = value, 0);
    }
    for (const auto& [name, shape] : golden["tensors"].items()) {
      auto extents = shape.get<std::vector<int64_t>>();
      if (name.ends_with("in_proj_qkv.weight") || name.ends_with("conv1d.weight")) {
        extents[0] = kQwen35Channels;
      }
      tensors_[name] = {extents, GoldenWeights(name, extents)};
    }
  }

  /// Writes `tensors_` as Hugging Face's files have them.
  std::string WriteOriginal() {
    dir_.Write("config.json", config_.dump());
    std::vector<StoredTensor> stored;
    for (const auto& [name, rows] : tensors_) {
      stored.push_back(MakeTensor(name, rows.shape, rows.values, DType::kF32));
    }
    EXPECT_TRUE(WriteSafetensors(dir_.Join("model.safetensors"), stored).ok());
    return dir_.path();
  }

  /// Writes `tensors_` as a GGUF file. With `in_blocks`, the weights of experts become blocks, and
  /// `tensors_` what those are read as.
  std::string WriteGguf(bool in_blocks) {
    const FamilyCase& family = GetParam();
    // Experts in one tensor, in the order of their ids.
    std::map<std::string, std::vector<std::string>> sources;
    for (const auto& [name, rows] : tensors_) {
      std::string joined = name;
      if (IsOfOneExpert(name)) {
        const size_t at = name.find(kOfExperts) + kOfExperts.size();
        joined.erase(at, name.find('.', at) - at + 1);
      }
      sources[joined].push_back(name);
    }
    std::vector<GgufTensor> entries;
    std::string data;
    for (const auto& [joined, names] : sources) {
      GgufTensor entry = {GgufName(joined, family), {}, kF32, data.size()};
      const bool are_experts = IsOfOneExpert(names.front());
      for (const std::string& name : names) {
        Rows rows = tensors_[name];
        if (family.convert != nullptr) family.convert(name, rows);
        entry.extents.assign(rows.shape.rbegin(), rows.shape.rend());
        const bool is_rotated = name.find("q_proj.weight") != std::string::npos ||
                                name.find("k_proj.weight") != std::string::npos;
        if (family.pairs_rows && is_rotated) PairRows(HeadDim(), rows);
        if (are_experts && in_blocks) {
          entry.type = kQ80;
          data += EncodeQ80(rows);
          tensors_[name] = rows;
          continue;
        }
        data.append(reinterpret_cast<const char*>(rows.values.data()),
                    rows.values.size() * sizeof(float));
      }
      if (are_experts) entry.extents.push_back(names.size());
      data.resize((data.size() + 31) / 32 * 32);
      entries.push_back(entry);
    }
    std::string file = FileOf(Pairs(), entries, /*data_bytes=*/0) + data;
    return dir_.Write("m.gguf", file);
  }

  int64_t HeadDim() const {
    const int64_t hidden = config_["hidden_size"], heads = config_["num_attention_heads"];
    return config_.value("head_dim", hidden / heads);
  }

  std::vector<std::string> Pairs() const {
    const FamilyCase& family = GetParam();
    std::vector<std::string> pairs = {TextPair("general.architecture", family.arch)};
    const auto key = [&](const char* name) { return absl::StrCat(family.arch, ".", name); };
    const auto add = [&](const char* name, int64_t value) {
      pairs.push_back(IntPair(key(name), static_cast<uint32_t>(value)));
    };
    const auto add_real = [&](const char* name, double value) {
      pairs.push_back(Pair(key(name), 6, Bytes(static_cast<float>(value))));
    };
    add("block_count", config_["num_hidden_layers"]);
    add("context_length", config_["max_position_embeddings"]);
    add("embedding_length", config_["hidden_size"]);
    if (config_.contains("intermediate_size")) {
      add("feed_forward_length", config_["intermediate_size"]);
    }
    add("attention.head_count", config_["num_attention_heads"]);
    add("attention.head_count_kv", config_["num_key_value_heads"]);
    add("attention.key_length", HeadDim());
    add("attention.value_length", HeadDim());
    add_real("attention.layer_norm_rms_epsilon", config_["rms_norm_eps"]);
    add_real("rope.freq_base", config_["rope_parameters"]["rope_theta"]);
    for (const auto& [name, value] : family.sizes) add(name, value);
    if (config_.contains("moe_intermediate_size")) {
      add("expert_feed_forward_length", config_["moe_intermediate_size"]);
    }
    for (const auto& [name, value] : family.numbers) add_real(name, value);
    std::vector<std::string> tokens;
    std::vector<uint32_t> types;
    for (int64_t i = 0; i < config_["vocab_size"].get<int64_t>(); ++i) {
      tokens.push_back(std::string(1, static_cast<char>('!' + i)));
      types.push_back(1);
    }
    pairs.push_back(TextPair("tokenizer.ggml.model", "gpt2"));
    pairs.push_back(TextPair("tokenizer.ggml.pre", "gpt-2"));
    pairs.push_back(TextsPair("tokenizer.ggml.tokens", tokens));
    pairs.push_back(IntsPair("tokenizer.ggml.token_type", types));
    pairs.push_back(TextsPair("tokenizer.ggml.merges", {"! \""}));
    pairs.push_back(IntPair("tokenizer.ggml.eos_token_id", 2));
    return pairs;
  }

  std::unique_ptr<Decoder> LoadGguf(const std::string& path, std::optional<DType> dtype) {
    const auto source = ModelSource::Open(path);
    EXPECT_TRUE(source.ok()) << source.status();
    if (!source.ok()) return nullptr;
    auto decoder = Decoder::Load(*source, dtype, pool_);
    EXPECT_TRUE(decoder.ok()) << decoder.status();
    return decoder.ok() ? *std::move(decoder) : nullptr;
  }

  json config_;
  Tensors tensors_;
  TempDir dir_;
  ThreadPool pool_{/*num_threads=*/2};
};

TEST_P(GgufFamiliesTest, StatesAreThoseOfTheOriginal) {
  const std::string path = WriteGguf(/*in_blocks=*/false);
  const auto decoder = LoadGguf(path, DType::kF32);
  ASSERT_NE(decoder, nullptr);
  const auto original = LoadOrDie(WriteOriginal(), DType::kF32, pool_);
  const std::vector<TokenId> tokens = RandomTokens(40, decoder->config().vocab_size, /*seed=*/5);
  EXPECT_LE(RelativeError(RunChain(*decoder, tokens), RunChain(*original, tokens)), 1e-6);
}

TEST_P(GgufFamiliesTest, ExpertsMayBeInBlocks) {
  if (std::ranges::none_of(tensors_, [](const auto& t) { return IsOfOneExpert(t.first); })) {
    GTEST_SKIP() << "no experts, or all in one tensor";
  }
  // A width that blocks can have.
  const bool is_only_width = config_["architectures"][0] == "OlmoeForCausalLM";
  config_[is_only_width ? "intermediate_size" : "moe_intermediate_size"] = 32;
  for (auto& [name, rows] : tensors_) {
    std::ranges::replace(rows.shape, 20, 32);
    rows.values = GoldenWeights(name, rows.shape);
  }
  const std::string path = WriteGguf(/*in_blocks=*/true);
  const auto decoded = LoadGguf(path, DType::kF32);
  const auto in_blocks = LoadGguf(path, std::nullopt);
  ASSERT_TRUE(decoded != nullptr && in_blocks != nullptr);
  EXPECT_EQ(in_blocks->weight_types(), "Q8_0");
  const auto original = LoadOrDie(WriteOriginal(), DType::kF32, pool_);
  const int64_t num_tokens = 40;
  const auto tokens = RandomTokens(num_tokens, original->config().vocab_size, /*seed=*/5);
  EXPECT_EQ(RunChain(*decoded, tokens), RunChain(*original, tokens));
  const std::vector<float> whole = RunChain(*in_blocks, tokens);
  KvCache cache = KvCache::Create(in_blocks->config(), num_tokens, in_blocks->dtype()).value();
  EXPECT_EQ(RunChain(*in_blocks, tokens, /*chunk=*/3, Iota(num_tokens), cache), whole);
}

INSTANTIATE_TEST_SUITE_P(
    Families, GgufFamiliesTest,
    testing::Values(
        FamilyCase{.name = "qwen3_moe",
                   .arch = "qwen3moe",
                   .sizes = {{"expert_count", 7}, {"expert_used_count", 3}}},
        FamilyCase{.name = "qwen2_moe",
                   .arch = "qwen2moe",
                   .sizes = {{"expert_count", 7},
                             {"expert_used_count", 3},
                             {"expert_shared_feed_forward_length", 28}}},
        FamilyCase{.name = "qwen3_5_moe",
                   .arch = "qwen35moe",
                   .renamed = {{"post_attention_layernorm", "post_attention_norm"},
                               {"linear_attn.in_proj_qkv", "attn_qkv"},
                               {"linear_attn.in_proj_z", "attn_gate"},
                               {"linear_attn.in_proj_a", "ssm_alpha"},
                               {"linear_attn.in_proj_b", "ssm_beta"},
                               {"linear_attn.conv1d", "ssm_conv1d"},
                               {"linear_attn.norm", "ssm_norm"},
                               {"linear_attn.out_proj", "ssm_out"},
                               {"linear_attn.A_log", "ssm_a"},
                               {"linear_attn.dt_bias", "ssm_dt.bias"},
                               {"mlp.experts.gate_up_proj", "ffn_gate_up_exps.weight"},
                               {"mlp.experts.down_proj", "ffn_down_exps.weight"}},
                   .sizes = {{"expert_count", 7},
                             {"expert_used_count", 3},
                             {"expert_shared_feed_forward_length", 28},
                             {"rope.dimension_count", 4},
                             {"full_attention_interval", 4},
                             {"ssm.conv_kernel", 4},
                             {"ssm.state_size", 12},
                             {"ssm.group_count", 4},
                             {"ssm.time_step_rank", 4},
                             {"ssm.inner_size", 80}},
                   .config = {{"linear_num_key_heads", 4}, {"intermediate_size", nullptr}},
                   .convert = ConvertQwen35},
        FamilyCase{.name = "olmoe",
                   .arch = "olmoe",
                   .sizes = {{"expert_count", 7}, {"expert_used_count", 3}}},
        FamilyCase{.name = "olmo2",
                   .arch = "olmo2",
                   .renamed = {{"post_attention_layernorm", "post_attention_norm"},
                               {"post_feedforward_layernorm", "post_ffw_norm"}}},
        FamilyCase{.name = "granite",
                   .arch = "granite",
                   .pairs_rows = true,
                   .sizes = {{"rope.dimension_count", 8}},
                   .numbers = {{"attention.scale", 0.25f},
                               {"embedding_scale", 1.5f},
                               {"residual_scale", 0.4f},
                               {"logit_scale", 8.0f}}},
        FamilyCase{.name = "smollm3",
                   .arch = "smollm3",
                   .pairs_rows = true,
                   .config = {{"no_rope_layers", nullptr}, {"no_rope_layer_interval", 4}}},
        FamilyCase{.name = "glm4",
                   .arch = "glm4",
                   .renamed = {{"post_self_attn_layernorm", "post_attention_norm"},
                               {"post_mlp_layernorm", "post_ffw_norm"},
                               {"mlp.gate_up_proj", "ffn_up"}},
                   .sizes = {{"rope.dimension_count", 8}}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace shortlist

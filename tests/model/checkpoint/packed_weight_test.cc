// Packed linear weights, as GPTQ and AWQ checkpoints store them.

#include "model/checkpoint/packed_weight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/weight_block.h"
#include "io/safetensors.h"
#include "io/safetensors_writer.h"
#include "kernels/matrix.h"
#include "model/checkpoint.h"
#include "model/decoder.h"
#include "nlohmann/json.hpp"
#include "tests/model/model_fixture.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_llama.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr WeightPacking kGptq16 = {WeightPacking::Kind::kGptq, /*group_size=*/16,
                                   /*act_order=*/false, /*zero_offset=*/1};
constexpr WeightPacking kAwq32 = {WeightPacking::Kind::kAwq, /*group_size=*/32};

/// A tensor of any type.
struct RawTensor {
  std::string name;
  std::string dtype_name;
  std::vector<int64_t> shape;
  std::string bytes;
};

std::string FileOf(const std::vector<RawTensor>& tensors) {
  SafetensorsWriter writer;
  for (const RawTensor& tensor : tensors) {
    writer.Add(tensor.name, tensor.dtype_name.c_str(), tensor.shape, tensor.bytes);
  }
  return writer.File();
}

std::vector<RawTensor> ReadAll(const std::string& path) {
  const TensorFile file = OpenSafetensors(path).value();
  std::vector<RawTensor> tensors;
  for (const auto& [name, entry] : file.entries()) {
    RawTensor tensor = {name, entry.dtype_name, entry.shape, std::string(entry.num_bytes, '\0')};
    EXPECT_TRUE(file.Read(entry, 0, entry.num_bytes, tensor.bytes.data()).ok());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// The golden layer under the name "x", and apart from it the weight that it stands for.
std::pair<std::vector<RawTensor>, RawTensor> GoldenLayer(const std::string& name) {
  std::pair<std::vector<RawTensor>, RawTensor> layer;
  for (RawTensor& tensor :
       ReadAll(SourcePath("tests/reference/golden/packed/" + name + ".safetensors"))) {
    if (tensor.name == "weight") {
      layer.second = std::move(tensor);
    } else {
      tensor.name = "x." + tensor.name;
      layer.first.push_back(std::move(tensor));
    }
  }
  return layer;
}

RawTensor& Named(std::vector<RawTensor>& tensors, const std::string& name) {
  for (RawTensor& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  ADD_FAILURE() << name;
  return tensors.front();
}

struct GoldenCase {
  const char* name;
  WeightPacking packing;
};

class PackedWeightTest : public testing::Test {
 protected:
  absl::StatusOr<Matrix> Load(const std::vector<RawTensor>& tensors, const WeightPacking& packing,
                              DType dtype, const std::vector<int64_t>& shape = {40, 64}) {
    dir_.Write("model.safetensors", FileOf(tensors));
    Checkpoint checkpoint =
        Checkpoint::Open(ModelSource::OfDirectory(dir_.path()), packing).value();
    // Damage is an error of Load, also after it has been met here.
    checkpoint.KeepBlocks();
    checkpoint.StoredBlocks("x.weight", shape[0], shape[1], pool_);
    const auto loaded = checkpoint.Load("x.weight", shape, dtype, pool_);
    if (loaded.ok()) {
      EXPECT_TRUE(checkpoint.CheckNothingUnknown().ok());
    }
    return loaded;
  }
  /// The error of a golden GPTQ layer after `change`.
  std::string MessageAfter(const std::function<void(std::vector<RawTensor>&)>& change,
                           const WeightPacking& packing = kGptq16,
                           const std::vector<int64_t>& shape = {40, 64}) {
    std::vector<RawTensor> tensors = GoldenLayer("gptq").first;
    change(tensors);
    return std::string(Load(tensors, packing, DType::kF16, shape).status().message());
  }
  TempDir dir_;
  ThreadPool pool_{/*num_threads=*/2};
};

TEST_F(PackedWeightTest, WeightsMatchReferenceBits) {
  WeightPacking act_order = kGptq16, one_group = kGptq16;
  act_order.act_order = true;
  one_group.group_size = 0;
  for (const auto& [name, packing] :
       {GoldenCase{"gptq", kGptq16}, GoldenCase{"gptq_act_order", act_order},
        GoldenCase{"gptq_one_group", one_group}, GoldenCase{"awq", kAwq32}}) {
    SCOPED_TRACE(name);
    const auto [tensors, want] = GoldenLayer(name);
    const auto f16 = Load(tensors, packing, DType::kF16);
    ASSERT_TRUE(f16.ok()) << f16.status();
    ASSERT_EQ(f16->bytes(), want.bytes.size());
    EXPECT_EQ(std::memcmp(f16->data(), want.bytes.data(), want.bytes.size()), 0);
    // f16 scales times small integers are exact in f32.
    const auto f32 = Load(tensors, packing, DType::kF32);
    ASSERT_TRUE(f32.ok()) << f32.status();
    for (int64_t i = 0; i < f32->num_elements(); ++i) {
      ASSERT_EQ(FloatToF16(f32->floats()[i]), static_cast<const uint16_t*>(f16->data())[i]);
    }
  }
}

TEST_F(PackedWeightTest, WithoutGroupIndicesInputsAreGroupedInOrder) {
  auto [tensors, want] = GoldenLayer("gptq");
  std::erase_if(tensors, [](const RawTensor& tensor) { return tensor.name == "x.g_idx"; });
  const auto loaded = Load(tensors, kGptq16, DType::kF16);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(std::memcmp(loaded->data(), want.bytes.data(), want.bytes.size()), 0);
}

/// The weights [40, 64] of "x.weight", decoded from the blocks in which they are kept.
std::vector<float> DecodedBlocks(Checkpoint& checkpoint, DType dtype, ThreadPool& pool) {
  const auto blocks = checkpoint.LoadBlocks("x.weight", 40, 64, pool).value();
  const BlockType& type = BlockTypeOf(dtype);
  std::vector<float> values(40 * 64);
  for (int64_t b = 0; b < 40 * 64 / type.num_elements; ++b) {
    DecodeBlock(dtype, static_cast<const uint8_t*>(blocks.get()) + b * type.num_bytes,
                values.data() + b * type.num_elements);
  }
  return values;
}

TEST_F(PackedWeightTest, BlocksHaveTheSameWeights) {
  WeightPacking act_order = kGptq16, one_group = kGptq16, no_offset = kGptq16;
  act_order.act_order = true;
  one_group.group_size = no_offset.group_size = 0;
  no_offset.zero_offset = 0;
  const auto zeros = [](char byte) {
    return [byte](std::vector<RawTensor>& tensors) {
      std::string& bytes = Named(tensors, "x.qzeros").bytes;
      bytes.assign(bytes.size(), byte);
    };
  };
  const auto keep = [](std::vector<RawTensor>&) {};
  const struct {
    const char* name;
    WeightPacking packing;
    std::function<void(std::vector<RawTensor>&)> change;
    std::optional<DType> blocks;
  } cases[] = {
      {"awq", kAwq32, keep, DType::kQ50},
      {"awq", kAwq32, zeros('\x88'), DType::kQ40},
      {"awq", kAwq32, zeros('\x00'), DType::kQ50},
      {"awq", kAwq32, zeros('\xff'), DType::kQ50},
      {"gptq_one_group", one_group, keep, DType::kQ50},
      {"gptq_one_group", one_group, zeros('\x77'), DType::kQ40},
      {"gptq_one_group", one_group, zeros('\x88'), DType::kQ50},
      {"gptq_one_group", one_group, zeros('\xff'), DType::kQ50},  // zeros of 16
      {"gptq_one_group", no_offset, zeros('\x88'), DType::kQ40},
      {"gptq", kGptq16, keep, std::nullopt},  // two groups in a block
      {"gptq_act_order", act_order, keep, std::nullopt},
  };
  int index = 0;
  for (const auto& [name, packing, change, blocks] : cases) {
    SCOPED_TRACE(std::string(name) + ", case " + std::to_string(index++));
    std::vector<RawTensor> tensors = GoldenLayer(name).first;
    change(tensors);
    const Matrix want = Load(tensors, packing, DType::kF32).value();
    Checkpoint checkpoint =
        Checkpoint::Open(ModelSource::OfDirectory(dir_.path()), packing).value();
    EXPECT_EQ(checkpoint.StoredBlocks("x.weight", 40, 64, pool_), std::nullopt);
    checkpoint.KeepBlocks();
    ASSERT_EQ(checkpoint.StoredBlocks("x.weight", 40, 64, pool_), blocks);
    if (!blocks) continue;
    EXPECT_EQ(DecodedBlocks(checkpoint, *blocks, pool_),
              std::vector<float>(want.floats(), want.floats() + want.num_elements()));
    EXPECT_TRUE(checkpoint.CheckNothingUnknown().ok());
    EXPECT_EQ(checkpoint.LoadBlocks("x.weight", 48, 64, pool_).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(PackedWeightTest, ScalesThatF16CannotRepresentAreNotKeptInBlocks) {
  for (const auto& [scale, blocks] :
       {std::pair(0.1f, std::optional<DType>()), std::pair(1e6f, std::optional<DType>()),
        std::pair(0.25f, std::optional(DType::kQ50)),
        std::pair(0x1p-24f, std::optional(DType::kQ50))}) {  // the least subnormal number
    SCOPED_TRACE(scale);
    std::vector<RawTensor> tensors = GoldenLayer("awq").first;
    RawTensor& scales = Named(tensors, "x.scales");
    std::vector<float> values(scales.bytes.size() / 2, 0.5f);
    values.back() = scale;
    scales.dtype_name = "F32";
    scales.bytes.assign(reinterpret_cast<const char*>(values.data()), 4 * values.size());
    const Matrix want = Load(tensors, kAwq32, DType::kF32).value();
    Checkpoint checkpoint = Checkpoint::Open(ModelSource::OfDirectory(dir_.path()), kAwq32).value();
    checkpoint.KeepBlocks();
    ASSERT_EQ(checkpoint.StoredBlocks("x.weight", 40, 64, pool_), blocks);
    if (!blocks) continue;
    EXPECT_EQ(DecodedBlocks(checkpoint, *blocks, pool_),
              std::vector<float>(want.floats(), want.floats() + want.num_elements()));
  }
}

TEST_F(PackedWeightTest, DamagedLayersAreRejectedWithReason) {
  const auto erase = [](const std::string& name) {
    return [name](std::vector<RawTensor>& tensors) {
      std::erase_if(tensors, [&](const RawTensor& tensor) { return tensor.name == name; });
    };
  };
  const auto keep = [](std::vector<RawTensor>&) {};
  WeightPacking act_order = kGptq16, other_groups = kGptq16;
  act_order.act_order = true;
  other_groups.group_size = 32;
  EXPECT_EQ(MessageAfter(keep), "");
  EXPECT_THAT(MessageAfter(erase("x.qzeros")), HasSubstr("no tensor x.qzeros"));
  EXPECT_THAT(MessageAfter(erase("x.scales")), HasSubstr("no tensor x.scales"));
  EXPECT_THAT(MessageAfter(erase("x.qweight")), HasSubstr("no tensor x.weight"));
  EXPECT_THAT(MessageAfter(erase("x.g_idx"), act_order), HasSubstr("no tensor x.g_idx"));
  EXPECT_THAT(MessageAfter(keep, other_groups),
              HasSubstr("x.qzeros is [4, 5], config.json makes it [2, 5]"));
  EXPECT_THAT(MessageAfter(keep, kGptq16, {40, 128}),
              HasSubstr("x.qweight is [8, 40], config.json makes it [16, 40]"));
  EXPECT_THAT(MessageAfter(keep, kGptq16, {36, 64}), HasSubstr("36 x 64 weights, not multiples"));
  EXPECT_THAT(MessageAfter([](auto& tensors) { Named(tensors, "x.qweight").dtype_name = "U32"; }),
              HasSubstr("x.qweight is U32, not I32"));
  for (const int32_t group : {-1, 4, 1 << 30}) {
    EXPECT_THAT(MessageAfter([&](auto& tensors) {
                  std::memcpy(Named(tensors, "x.g_idx").bytes.data() + 8, &group, sizeof group);
                }),
                HasSubstr("x.g_idx holds group " + std::to_string(group) + ", not in [0, 4)"));
  }
  EXPECT_THAT(MessageAfter([](auto& tensors) {
                Named(tensors, "x.scales").bytes.replace(0, 2, "\xff\x7f");
              }),
              HasSubstr("x.scales holds a NaN or infinite value"));
  EXPECT_THAT(MessageAfter([](auto& tensors) {
                std::string& scales = Named(tensors, "x.scales").bytes;
                for (size_t i = 0; i < scales.size(); i += 2) scales.replace(i, 2, "\xff\x7b");
              }),
              HasSubstr("x.qweight holds a value too large for f16"));
}

/// AutoGPTQ writes a bias for every layer, also of models that have none.
TEST_F(PackedWeightTest, AllZeroBiasesAreAccepted) {
  auto [tensors, want] = GoldenLayer("gptq");
  tensors.push_back({"x.bias", "F16", {40}, std::string(80, '\0')});
  tensors.back().bytes[3] = '\x80';  // minus zero
  const auto loaded = Load(tensors, kGptq16, DType::kF16);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(std::memcmp(loaded->data(), want.bytes.data(), want.bytes.size()), 0);

  tensors.back().bytes[79] = '\x3c';  // the last value is 1
  dir_.Write("model.safetensors", FileOf(tensors));
  Checkpoint checkpoint = Checkpoint::Open(ModelSource::OfDirectory(dir_.path()), kGptq16).value();
  ASSERT_TRUE(checkpoint.Load("x.weight", {40, 64}, DType::kF16, pool_).ok());
  EXPECT_THAT(std::string(checkpoint.CheckNothingUnknown().message()),
              HasSubstr("tensor \"x.bias\" [40] has no place in the model"));

  EXPECT_THAT(MessageAfter([](auto& layer) {
                layer.push_back({"x.bias", "F16", {8}, std::string(16, '\0')});
              }),
              HasSubstr("x.bias is [8], config.json makes it [40]"));
}

/// A tiny Llama whose linear layers are packed, and its twin with the weights they stand for.
class PackedModelTest : public testing::Test {
 protected:
  void WriteBoth(const WeightPacking& packing, const json& quantization_config) {
    const TinyLlamaOptions options = {.tied = true, .dtype = DType::kF16};
    ASSERT_TRUE(WriteTinyLlama(dir_.Join("plain"), options, /*seed=*/1).ok());
    std::mt19937 random(2);
    std::vector<RawTensor> packed, plain;
    for (RawTensor& tensor : ReadAll(dir_.Join("plain/model.safetensors"))) {
      if (!tensor.name.ends_with("_proj.weight")) {
        packed.push_back(tensor);
        plain.push_back(std::move(tensor));
        continue;
      }
      const std::vector<RawTensor> layer =
          RandomLayer(packing, tensor.shape[1], tensor.shape[0], random);
      dir_.Write("model.safetensors", FileOf(layer));
      Checkpoint checkpoint =
          Checkpoint::Open(ModelSource::OfDirectory(dir_.path()), packing).value();
      const Matrix weight = checkpoint.Load("x.weight", tensor.shape, DType::kF16, pool_).value();
      tensor.bytes.assign(static_cast<const char*>(weight.data()),
                          static_cast<size_t>(weight.bytes()));
      const std::string linear = tensor.name.substr(0, tensor.name.size() - 6);
      for (RawTensor part : layer) {
        part.name = linear + part.name.substr(2);
        packed.push_back(std::move(part));
      }
      plain.push_back(std::move(tensor));
    }
    dir_.Write("plain/model.safetensors", FileOf(plain));
    ASSERT_TRUE(WriteTinyLlama(dir_.Join("packed"), options, /*seed=*/1).ok());
    dir_.Write("packed/model.safetensors", FileOf(packed));
    json config = json::parse(ReadFile(dir_.Join("plain/config.json"), 1 << 16).value());
    config["quantization_config"] = quantization_config;
    dir_.Write("packed/config.json", config.dump());
  }

  static std::vector<RawTensor> RandomLayer(const WeightPacking& packing, int64_t in, int64_t out,
                                            std::mt19937& random) {
    const auto words = [&](const std::string& name, int64_t rows, int64_t columns) {
      RawTensor tensor = {"x." + name, "I32", {rows, columns}, ""};
      for (int64_t i = 0; i < rows * columns; ++i) {
        const uint32_t word = random();
        tensor.bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
      }
      return tensor;
    };
    const int64_t groups = (in + packing.group_size - 1) / packing.group_size;
    RawTensor scales = {"x.scales", "F16", {groups, out}, ""};
    for (int64_t i = 0; i < groups * out; ++i) {
      const uint16_t scale = FloatToF16(0.01f + 0.001f * static_cast<float>(random() % 64));
      scales.bytes.append(reinterpret_cast<const char*>(&scale), sizeof scale);
    }
    const bool is_gptq = packing.kind == WeightPacking::Kind::kGptq;
    return {is_gptq ? words("qweight", in / 8, out) : words("qweight", in, out / 8),
            words("qzeros", groups, out / 8), scales};
  }

  /// Weights are decoded.
  std::vector<float> LogitsOf(const std::string& name, std::optional<DType> quantize) {
    const auto decoder = LoadOrDie(dir_.Join(name), DType::kF16, pool_, quantize);
    return Logits(*decoder, RunChain(*decoder, RandomTokens(24, 96, /*seed=*/3)), pool_);
  }

  TempDir dir_;
  ThreadPool pool_{/*num_threads=*/2};
};

TEST_F(PackedModelTest, LogitsMatchUnpackedWeights) {
  const std::pair<WeightPacking, json> cases[] = {
      {kGptq16, {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 16}, {"desc_act", false}}},
      {kAwq32, {{"quant_method", "awq"}, {"bits", 4}, {"group_size", 32}, {"zero_point", true}}}};
  for (const auto& [packing, config] : cases) {
    WriteBoth(packing, config);
    for (const std::optional<DType> quantize :
         {std::optional<DType>(), std::optional(DType::kInt8), std::optional(DType::kInt4)}) {
      EXPECT_EQ(LogitsOf("packed", quantize), LogitsOf("plain", quantize)) << config;
    }
  }
}

/// By default weights are kept in blocks, and only the inputs of layers are rounded.
TEST_F(PackedModelTest, LogitsInBlocksAreCloseToUnpackedWeights) {
  WriteBoth(kAwq32,
            {{"quant_method", "awq"}, {"bits", 4}, {"group_size", 32}, {"zero_point", true}});
  const auto decoder = LoadOrDie(dir_.Join("packed"), std::nullopt, pool_);
  EXPECT_EQ(decoder->weight_types(), "Q5_0");
  const std::vector<float> want = LogitsOf("plain", std::nullopt);
  const std::vector<float> got =
      Logits(*decoder, RunChain(*decoder, RandomTokens(24, 96, /*seed=*/3)), pool_);
  ASSERT_EQ(got.size(), want.size());
  double error = 0, size = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  EXPECT_LT(error, 4e-4 * size);
  EXPECT_GT(error, 0);
}

TEST_F(PackedModelTest, DenseWeightsWithQuantizationConfigAreNamed) {
  WriteBoth(kGptq16, {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 16}});
  dir_.Write("plain/config.json", ReadFile(dir_.Join("packed/config.json"), 1 << 16).value());
  const absl::Status status =
      Decoder::Load(ModelSource::OfDirectory(dir_.Join("plain")), std::nullopt, pool_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("tensor model.layers.0.self_attn.q_proj.weight is dense, but"));
}

TEST_F(PackedModelTest, AutoGptqConfigFileIsRead) {
  WriteBoth(kGptq16, nullptr);
  EXPECT_THAT(
      std::string(Decoder::Load(ModelSource::OfDirectory(dir_.Join("packed")), std::nullopt, pool_)
                      .status()
                      .message()),
      HasSubstr("no tensor model.layers.0.self_attn.q_proj.weight"));
  dir_.Write("packed/quantize_config.json",
             R"({"bits": 4, "group_size": 16, "desc_act": false, "sym": true})");
  EXPECT_EQ(LogitsOf("packed", std::nullopt), LogitsOf("plain", std::nullopt));
}

}  // namespace
}  // namespace shortlist

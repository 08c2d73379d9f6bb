#include "model/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/file.h"
#include "kernels/matrix.h"
#include "model/decoder.h"
#include "model/eagle_model.h"
#include "model/norm_weight.h"
#include "nlohmann/json.hpp"
#include "tests/model/model_fixture.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_llama.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class CheckpointTest : public testing::Test {
 protected:
  void WriteFile(const std::vector<StoredTensor>& tensors) {
    ASSERT_TRUE(WriteSafetensors(dir_.Join("model.safetensors"), tensors).ok());
  }
  absl::StatusOr<Matrix> LoadOnly(const StoredTensor& tensor, DType dtype) {
    WriteFile({tensor});
    return Checkpoint::Open(ModelSource::OfDirectory(dir_.path()), {})
        .value()
        .Load(tensor.name, tensor.shape, dtype, pool_);
  }
  TempDir dir_;
  ThreadPool pool_{/*num_threads=*/2};
};

TEST_F(CheckpointTest, ConvertsBetweenAllTypesRoundingToNearestEven) {
  // 1 + 2^-8 and 1 + 3 * 2^-8 lie half-way between bf16 values; 1 + 2^-11 between f16 values.
  const std::vector<float> values = {0.0f,           -1.5f, 1.00390625f, 1.01171875f,
                                     1.00048828125f, 3e-5f, -60000.0f};
  const std::vector<int64_t> shape = {7};
  for (const DType from : {DType::kF32, DType::kF16, DType::kBf16}) {
    for (const DType to : {DType::kF32, DType::kF16, DType::kBf16}) {
      SCOPED_TRACE(std::string(DTypeName(from)) + " to " + DTypeName(to));
      const StoredTensor stored = MakeTensor("w", shape, values, from);
      const auto loaded = LoadOnly(stored, to);
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      for (int64_t i = 0; i < 7; ++i) {
        const float source = LoadAsFloat(stored.bytes.data(), from, i);
        char want[4];
        StoreFromFloat(want, to, 0, source);
        EXPECT_EQ(LoadAsFloat(loaded->data(), to, i), LoadAsFloat(want, to, 0)) << i;
      }
    }
  }
  const auto bf16 = LoadOnly(MakeTensor("w", shape, values, DType::kF32), DType::kBf16);
  EXPECT_EQ(LoadAsFloat(bf16->data(), DType::kBf16, 2), 1.0f);
  EXPECT_EQ(LoadAsFloat(bf16->data(), DType::kBf16, 3), 1.015625f);
  EXPECT_EQ(bf16->dtype(), DType::kBf16);
}

TEST_F(CheckpointTest, LargeTensorsAreConvertedInPieces) {
  const int64_t rows = 2100, columns = 2003;  // more than one piece of 2^22 elements
  std::vector<float> values(rows * columns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1021);
  const auto loaded = LoadOnly(MakeTensor("w", {rows, columns}, values, DType::kF16), DType::kF32);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(ToVector(*loaded), values);
}

TEST_F(CheckpointTest, NonFiniteWeightsAreNamed) {
  for (const float bad : {kNaN, kInfinity, -kInfinity}) {
    for (const DType from : {DType::kF32, DType::kF16, DType::kBf16}) {
      for (const DType to : {DType::kF32, DType::kF16, DType::kBf16}) {
        const absl::Status status =
            LoadOnly(MakeTensor("w.x", {3}, {1, bad, 2}, from), to).status();
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
        EXPECT_THAT(std::string(status.message()),
                    HasSubstr("tensor w.x holds a NaN or infinite value"));
      }
    }
  }
}

TEST_F(CheckpointTest, ValuesTooLargeForTypeAreNamed) {
  EXPECT_THAT(
      std::string(
          LoadOnly(MakeTensor("w", {2}, {1, 65520}, DType::kF32), DType::kF16).status().message()),
      HasSubstr("tensor w holds a value too large for f16"));
  EXPECT_TRUE(LoadOnly(MakeTensor("w", {2}, {1, 65519}, DType::kF32), DType::kF16).ok());
  EXPECT_FALSE(LoadOnly(MakeTensor("w", {2}, {1, 1e6}, DType::kBf16), DType::kF16).ok());
  EXPECT_FALSE(LoadOnly(MakeTensor("w", {1}, {3.4e38f}, DType::kF32), DType::kBf16).ok());
}

TEST_F(CheckpointTest, HolesAreWarning) {
  std::vector<float> whole(6000, 0.5f), hole = whole, padded = whole;
  std::fill_n(hole.begin() + 1500, 2048, 0.0f);    // 8192 bytes
  std::fill_n(padded.begin() + 4700, 1300, 0.0f);  // less than a quarter
  const auto load = [&](const StoredTensor& tensor) {
    WriteFile({tensor});
    Checkpoint checkpoint = Checkpoint::Open(ModelSource::OfDirectory(dir_.path()), {}).value();
    EXPECT_TRUE(checkpoint.Load(tensor.name, tensor.shape, DType::kBf16, pool_).ok());
    return checkpoint.warning();
  };
  EXPECT_EQ(load(MakeTensor("w", {10, 600}, whole, DType::kF32)), "");
  EXPECT_THAT(load(MakeTensor("w", {10, 600}, hole, DType::kF32)),
              AllOf(HasSubstr("model.safetensors: w holds 4096 bytes of zeros"),
                    HasSubstr("the file is damaged")));
  // Biases may be zero, and rows without a token.
  EXPECT_EQ(load(MakeTensor("b", {6000}, hole, DType::kF32)), "");
  EXPECT_EQ(load(MakeTensor("embed_tokens.weight", {10, 600}, padded, DType::kF32)), "");
  std::fill_n(padded.begin() + 2000, 2700, 0.0f);
  EXPECT_THAT(load(MakeTensor("embed_tokens.weight", {10, 600}, padded, DType::kF32)),
              HasSubstr("embed_tokens.weight holds"));
}

TEST_F(CheckpointTest, NormOfZerosIsRejectedUnlessOneIsAdded) {
  WriteFile({MakeTensor("norm.weight", {4}, {0, 0, 0, 0}, DType::kF32)});
  ModelConfig config;
  for (const double offset : {0.0, 1.0}) {
    config.norm_offset = offset;
    Checkpoint checkpoint = Checkpoint::Open(ModelSource::OfDirectory(dir_.path()), {}).value();
    const auto norm = LoadNorm(checkpoint, "norm.weight", 4, config.norm_offset, pool_);
    EXPECT_EQ(norm.ok(), offset == 1.0);
    if (!norm.ok()) {
      EXPECT_THAT(std::string(norm.status().message()), HasSubstr("norm.weight is all zeros"));
    }
  }
}

TEST_F(CheckpointTest, MissingTensorsWrongShapesAndTypesAreNamed) {
  WriteFile({MakeTensor("w", {2, 3}, {1, 2, 3, 4, 5, 6}, DType::kF32)});
  Checkpoint checkpoint = Checkpoint::Open(ModelSource::OfDirectory(dir_.path()), {}).value();
  EXPECT_EQ(checkpoint.Load("v", {2, 3}, DType::kF32, pool_).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(checkpoint.Load("w", {3, 2}, DType::kF32, pool_).status().message()),
              AllOf(HasSubstr("tensor w"), HasSubstr("[2, 3]"), HasSubstr("[3, 2]")));
  EXPECT_THAT(std::string(checkpoint.CheckNothingUnknown().message()),
              HasSubstr("tensor \"w\" [2, 3]"));
  EXPECT_TRUE(checkpoint.Expect("w", {2, 3}).ok());
  EXPECT_TRUE(checkpoint.CheckNothingUnknown().ok());

  dir_.Write("model.safetensors",
             SafetensorsBytes(R"({"w":{"dtype":"I8","shape":[4],"data_offsets":[0,4]}})", "abcd"));
  checkpoint = Checkpoint::Open(ModelSource::OfDirectory(dir_.path()), {}).value();
  const absl::Status status = checkpoint.Load("w", {4}, DType::kF32, pool_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("w"), HasSubstr("I8")));
}

TEST_F(CheckpointTest, EmptyDirectoryNamesBothExpectedFiles) {
  const absl::Status status = Checkpoint::Open(ModelSource::OfDirectory(dir_.path()), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("neither model.safetensors nor pytorch_model.bin"));
}

class ShardedCheckpointTest : public CheckpointTest {
 protected:
  ShardedCheckpointTest() {
    const auto tensor = [](const char* name) { return MakeTensor(name, {1}, {1}, DType::kF32); };
    EXPECT_TRUE(WriteSafetensors(dir_.Join("one.safetensors"), {tensor("a"), tensor("b")}).ok());
    EXPECT_TRUE(WriteSafetensors(dir_.Join("two.safetensors"), {tensor("c")}).ok());
  }
  absl::Status OpenWith(const std::string& index) {
    dir_.Write("model.safetensors.index.json", index);
    return Checkpoint::Open(ModelSource::OfDirectory(dir_.path()), {}).status();
  }
};

TEST_F(ShardedCheckpointTest, OpensAllShards) {
  EXPECT_TRUE(OpenWith(R"({"metadata": {}, "weight_map":
      {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"}})")
                  .ok());
  Checkpoint checkpoint = Checkpoint::Open(ModelSource::OfDirectory(dir_.path()), {}).value();
  EXPECT_TRUE(checkpoint.Load("c", {1}, DType::kF32, pool_).ok());
  EXPECT_TRUE(checkpoint.Contains("a"));
}

TEST_F(ShardedCheckpointTest, InconsistentIndexesAreRejectedWithReason) {
  struct Case {
    const char* index;
    const char* message;
  };
  for (const auto& [index, message] : {
           Case{"[]", "weight_map missing"},
           Case{"{}", "weight_map missing"},
           Case{R"({"weight_map": {}})", "weight_map missing, empty"},
           Case{R"({"weight_map": ["one.safetensors"]})", "not an object"},
           Case{R"({"weight_map": {"a": 7}})", "no file name inside the directory"},
           Case{R"({"weight_map": {"a": ""}})", "no file name inside the directory"},
           Case{R"({"weight_map": {"a": ".."}})", "no file name inside the directory"},
           Case{R"({"weight_map": {"a": "../one.safetensors"}})",
                "no file name inside the directory"},
           Case{R"({"weight_map": {"a": "/etc/passwd"}})", "no file name inside the directory"},
           Case{R"({"weight_map": {"a": "one.safetensors\u0000"}})",
                "no file name inside the directory"},
           Case{R"({"weight_map": {"a": "three.safetensors"}})", "three.safetensors"},
           Case{
               R"({"weight_map": {"a": "one.safetensors", "b": "one.safetensors",
                                 "c": "one.safetensors"}})",
               "\"c\" is not in one.safetensors"},
           Case{
               R"({"weight_map": {"a": "one.safetensors", "b": "one.safetensors",
                                 "d": "two.safetensors"}})",
               "\"d\" is not in two.safetensors"},
           Case{R"({"weight_map": {"a": "one.safetensors", "c": "two.safetensors"}})",
                "\"b\" is not in the index"},
       }) {
    SCOPED_TRACE(index);
    const absl::Status status = OpenWith(index);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
  EXPECT_TRUE(
      WriteSafetensors(dir_.Join("two.safetensors"), {MakeTensor("a", {1}, {1}, DType::kF32)})
          .ok());
  EXPECT_THAT(
      std::string(OpenWith(R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})")
                      .message()),
      HasSubstr("is also in another shard"));
}

/// Loads a tiny model after one change to its tensors or its configuration.
class DamagedModelTest : public testing::Test {
 protected:
  DamagedModelTest() {
    EXPECT_TRUE(WriteTinyLlama(dir_.Join("target"), options_, /*seed=*/1).ok());
    EXPECT_TRUE(WriteTinyEagle(dir_.Join("draft"), options_, /*seed=*/2).ok());
  }
  void ChangeTensors(const std::string& model,
                     const std::function<void(std::vector<StoredTensor>&)>& change) {
    const std::string path = dir_.Join(model + "/model.safetensors");
    std::vector<StoredTensor> tensors = ReadSafetensors(path).value();
    change(tensors);
    ASSERT_TRUE(WriteSafetensors(path, tensors).ok());
  }
  void ChangeConfig(const std::string& model, const char* patch) {
    const std::string path = dir_.Join(model + "/config.json");
    json config = json::parse(ReadFile(path, 1 << 20).value());
    config.update(json::parse(patch));
    ASSERT_TRUE(WriteFileAtomically(path, config.dump()).ok());
  }
  absl::Status LoadTarget() {
    return Decoder::Load(ModelSource::OfDirectory(dir_.Join("target")), std::nullopt, pool_)
        .status();
  }
  absl::Status LoadDraft() {
    const auto target = LoadOrDie(dir_.Join("target"), std::nullopt, pool_);
    return EagleModel::Load(ModelSource::OfDirectory(dir_.Join("draft")), *target, pool_).status();
  }
  TinyLlamaOptions options_;
  TempDir dir_;
  ThreadPool pool_{/*num_threads=*/1};
};

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST_F(DamagedModelTest, UndamagedModelsLoad) {
  EXPECT_TRUE(LoadTarget().ok()) << LoadTarget();
  EXPECT_TRUE(LoadDraft().ok()) << LoadDraft();
}

TEST_F(DamagedModelTest, ShapeMismatchNamesShapeAndConfig) {
  ChangeConfig("target", R"({"intermediate_size": 50})");
  EXPECT_THAT(MessageOf(LoadTarget()), AllOf(HasSubstr("mlp.gate_proj.weight"),
                                             HasSubstr("[48, 32]"), HasSubstr("[50, 32]")));
}

TEST_F(DamagedModelTest, HugeConfigIsRejectedBeforeAllocation) {
  ChangeConfig("target", R"({"vocab_size": 16777216, "hidden_size": 1048576})");
  EXPECT_THAT(MessageOf(LoadTarget()), HasSubstr("[16777216, 1048576]"));
}

TEST_F(DamagedModelTest, TooFewAndTooManyLayersAreRejected) {
  ChangeConfig("target", R"({"num_hidden_layers": 3})");
  EXPECT_THAT(MessageOf(LoadTarget()), HasSubstr("no tensor model.layers.2."));
  ChangeConfig("target", R"({"num_hidden_layers": 1})");
  EXPECT_THAT(MessageOf(LoadTarget()), HasSubstr("tensor \"model.layers.1."));
}

TEST_F(DamagedModelTest, BiasesAndExtraNormsRejectedRotaryBuffersAccepted) {
  const auto add = [&](const char* name) {
    ChangeTensors("target", [&](auto& tensors) {
      tensors.push_back(MakeTensor(name, {4}, {1, 2, 3, 4}, DType::kF32));
    });
  };
  add("model.layers.0.self_attn.rotary_emb.inv_freq");
  EXPECT_TRUE(LoadTarget().ok());
  add("model.layers.0.self_attn.q_proj.bias");
  EXPECT_THAT(MessageOf(LoadTarget()), HasSubstr("self_attn.q_proj.bias\" [4] has no place"));
}

TEST_F(DamagedModelTest, UntiedModelNeedsHead) {
  ChangeTensors("target", [](auto& tensors) {
    std::erase_if(tensors,
                  [](const StoredTensor& tensor) { return tensor.name == "lm_head.weight"; });
  });
  EXPECT_THAT(MessageOf(LoadTarget()), HasSubstr("no tensor lm_head.weight"));
}

TEST_F(DamagedModelTest, TiedModelAcceptsHeadOnlyIfEqualToEmbedding) {
  ChangeConfig("target", R"({"tie_word_embeddings": true})");
  EXPECT_THAT(MessageOf(LoadTarget()),
              HasSubstr("lm_head.weight differs from model.embed_tokens.weight"));
  ChangeTensors("target", [](auto& tensors) {
    StoredTensor* embedding = nullptr;
    for (StoredTensor& tensor : tensors) {
      if (tensor.name == "model.embed_tokens.weight") embedding = &tensor;
    }
    for (StoredTensor& tensor : tensors) {
      if (tensor.name == "lm_head.weight") tensor.bytes = embedding->bytes;
    }
  });
  EXPECT_TRUE(LoadTarget().ok());
}

TEST_F(DamagedModelTest, NaNWeightsAreNamed) {
  ChangeTensors("target", [](auto& tensors) {
    for (StoredTensor& tensor : tensors) {
      if (tensor.name == "model.layers.1.mlp.up_proj.weight") {
        StoreFromFloat(tensor.bytes.data(), tensor.dtype, 77, kNaN);
      }
    }
  });
  EXPECT_THAT(MessageOf(LoadTarget()), HasSubstr("model.layers.1.mlp.up_proj.weight holds a NaN"));
}

TEST_F(DamagedModelTest, DraftMustMatchTarget) {
  ChangeConfig("draft", R"({"vocab_size": 1121})");
  EXPECT_EQ(LoadDraft().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(LoadDraft()), HasSubstr("vocab_size 1121 does not fit the target's 96"));
  ChangeConfig("draft", R"({"vocab_size": 96, "hidden_size": 64})");
  EXPECT_THAT(MessageOf(LoadDraft()), HasSubstr("hidden_size 64 does not fit the target's 32"));
}

TEST_F(DamagedModelTest, DraftVocabularyMayHaveOtherPadding) {
  const auto target = LoadOrDie(dir_.Join("target"), std::nullopt, pool_);
  for (const char* patch : {R"({"vocab_size": 95})", R"({"vocab_size": 1120})"}) {
    ChangeConfig("draft", patch);
    const auto draft =
        EagleModel::Load(ModelSource::OfDirectory(dir_.Join("draft")), *target, pool_);
    ASSERT_TRUE(draft.ok()) << draft.status();
    EXPECT_EQ((*draft)->config().vocab_size, 96);
    EXPECT_EQ((*draft)->head_weight().vocab_size, 96);
  }
}

TEST_F(DamagedModelTest, DifferingDraftEmbeddingRowsAreCounted) {
  const std::vector<StoredTensor> of_target =
      ReadSafetensors(dir_.Join("target/model.safetensors")).value();
  StoredTensor embedding;
  for (const StoredTensor& tensor : of_target) {
    if (tensor.name == "model.embed_tokens.weight") embedding = tensor;
  }
  embedding.name = "embed_tokens.weight";
  const int64_t hidden = options_.hidden;
  const auto count = [&](const StoredTensor& own) {
    std::vector<StoredTensor> tensors =
        ReadSafetensors(dir_.Join("draft/model.safetensors")).value();
    std::erase_if(tensors, [&](const StoredTensor& tensor) { return tensor.name == own.name; });
    tensors.push_back(own);
    EXPECT_TRUE(WriteSafetensors(dir_.Join("draft/model.safetensors"), tensors).ok());
    const auto target = LoadOrDie(dir_.Join("target"), std::nullopt, pool_);
    const auto draft =
        EagleModel::Load(ModelSource::OfDirectory(dir_.Join("draft")), *target, pool_);
    EXPECT_TRUE(draft.ok()) << draft.status();
    return draft.ok() ? (*draft)->num_foreign_embeddings() : -1;
  };
  EXPECT_EQ(count(embedding), 0);
  // Rounded, and with fewer rows or rows that the target has not.
  std::vector<float> values(embedding.bytes.size() / sizeof(float));
  std::memcpy(values.data(), embedding.bytes.data(), embedding.bytes.size());
  EXPECT_EQ(count(MakeTensor(embedding.name, {96, hidden}, values, DType::kBf16)), 0);
  std::vector<float> others = values;
  others.resize((96 + 32) * hidden, 7.0f);
  EXPECT_EQ(count(MakeTensor(embedding.name, {96 + 32, hidden}, others, DType::kF32)), 0);
  others.resize(90 * hidden);
  EXPECT_EQ(count(MakeTensor(embedding.name, {90, hidden}, others, DType::kF32)), 0);
  for (const int64_t row : {3, 80}) values[row * hidden] += 1.0f;
  EXPECT_EQ(count(MakeTensor(embedding.name, {96, hidden}, values, DType::kF32)), 2);
}

TEST_F(DamagedModelTest, DraftEmbeddingOfOtherShapeIsRejected) {
  ChangeTensors("draft", [](auto& tensors) {
    tensors.push_back(
        MakeTensor("embed_tokens.weight", {96, 1}, std::vector<float>(96), DType::kF32));
  });
  EXPECT_THAT(MessageOf(LoadDraft()),
              AllOf(HasSubstr("embed_tokens.weight"), HasSubstr("[96, 1]"), HasSubstr("[96, 32]")));
}

TEST_F(DamagedModelTest, DraftMustShareTargetQuantization) {
  const auto plain = LoadOrDie(dir_.Join("target"), std::nullopt, pool_);
  const auto target = std::move(*Decoder::Load(ModelSource::OfDirectory(dir_.Join("target")),
                                               std::nullopt, pool_, DType::kInt8));
  const auto dtype_of_head = [&](const Decoder& decoder, DType quantize) {
    const auto draft =
        EagleModel::Load(ModelSource::OfDirectory(dir_.Join("draft")), decoder, pool_, quantize);
    EXPECT_TRUE(draft.ok()) << draft.status();
    return (*draft)->head_weight().dtype;
  };
  EXPECT_EQ(dtype_of_head(*plain, DType::kInt4), DType::kInt4);
  EXPECT_EQ(dtype_of_head(*target, DType::kInt8), DType::kInt8);
  const absl::Status status =
      EagleModel::Load(ModelSource::OfDirectory(dir_.Join("draft")), *target, pool_, DType::kInt4)
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(status), HasSubstr("int4 for the draft with a target in int8"));
}

TEST_F(DamagedModelTest, ArchitecturesAreNotInterchangeable) {
  EXPECT_THAT(
      MessageOf(Decoder::Load(ModelSource::OfDirectory(dir_.Join("draft")), std::nullopt, pool_)
                    .status()),
      HasSubstr("runs with its target only"));
  const auto target = LoadOrDie(dir_.Join("target"), std::nullopt, pool_);
  EXPECT_THAT(
      MessageOf(
          EagleModel::Load(ModelSource::OfDirectory(dir_.Join("target")), *target, pool_).status()),
      HasSubstr("need LlamaForCausalLMEagle"));
}

TEST_F(DamagedModelTest, FcLayerMakesQwen2EagleDraftWithBiases) {
  ChangeConfig("draft", R"({"architectures": ["Qwen2ForCausalLM"]})");
  const auto config = ReadModelConfig(ModelSource::OfDirectory(dir_.Join("draft")));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->architecture, "Qwen2ForCausalLMEagle");
  EXPECT_TRUE(config->qkv_bias);
  EXPECT_THAT(MessageOf(LoadDraft()), HasSubstr("no tensor layers.0.self_attn.q_proj.bias"));
  // EAGLE's own code asks qkv_bias of any configuration.
  ChangeConfig("draft", R"({"qkv_bias": false})");
  EXPECT_TRUE(LoadDraft().ok()) << LoadDraft();
  ChangeConfig("draft", R"({"architectures": ["LlamaForCausalLM"], "qkv_bias": true})");
  EXPECT_TRUE(ReadModelConfig(ModelSource::OfDirectory(dir_.Join("draft")))->qkv_bias);
  ChangeConfig("target", R"({"qkv_bias": true})");
  EXPECT_THAT(MessageOf(LoadTarget()), HasSubstr("qkv_bias = true is not supported"));
}

TEST_F(DamagedModelTest, FcLayerMakesLlamaEagleDraft) {
  ChangeConfig("draft", R"({"architectures": ["LlamaForCausalLM"]})");
  EXPECT_TRUE(LoadDraft().ok()) << LoadDraft();
  EXPECT_EQ(ReadModelConfig(ModelSource::OfDirectory(dir_.Join("draft")))->architecture,
            "LlamaForCausalLMEagle");
  EXPECT_EQ(ReadModelConfig(ModelSource::OfDirectory(dir_.Join("target")))->architecture,
            "LlamaForCausalLM");
  ChangeTensors("draft", [](auto& tensors) {
    std::erase_if(tensors, [](const StoredTensor& tensor) { return tensor.name == "fc.weight"; });
  });
  EXPECT_THAT(MessageOf(LoadDraft()), HasSubstr("need LlamaForCausalLMEagle"));
}

TEST_F(DamagedModelTest, DraftFcBiasMustMatchConfig) {
  ChangeConfig("draft", R"({"bias": true})");
  EXPECT_THAT(MessageOf(LoadDraft()), HasSubstr("no tensor fc.bias"));
  ChangeConfig("draft", R"({"bias": false})");
  ChangeTensors("draft", [](auto& tensors) {
    tensors.push_back(MakeTensor("fc.bias", {32}, std::vector<float>(32, 0.5f), DType::kF32));
  });
  EXPECT_THAT(MessageOf(LoadDraft()), HasSubstr("\"fc.bias\" [32] has no place"));
}

TEST_F(DamagedModelTest, DraftMayHoldCopyOfEmbedding) {
  ChangeTensors("draft", [](auto& tensors) {
    tensors.push_back(MakeTensor("embed_tokens.weight", {96, 32}, std::vector<float>(96 * 32, 0.5f),
                                 DType::kF32));
  });
  EXPECT_TRUE(LoadDraft().ok()) << LoadDraft();
}

TEST_F(DamagedModelTest, TruncatedLayersLoadAsModel) {
  ASSERT_TRUE(TruncateLayers(dir_.Join("target"), dir_.Join("short"), /*num_layers=*/1).ok());
  EXPECT_EQ(LoadOrDie(dir_.Join("short"), std::nullopt, pool_)->config().num_layers, 1);
}

TEST(KvCacheTest, SlotCountsAreBoundedAndBytesNamed) {
  ModelConfig config;
  config.num_layers = 1024;
  config.num_kv_heads = 4096;
  config.head_dim = 4096;
  EXPECT_EQ(KvCache::Create(config, 0, DType::kF32).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(KvCache::Create(config, -5, DType::kF32).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(KvCache::Create(config, int64_t{1} << 31, DType::kF32).status().code(),
            absl::StatusCode::kInvalidArgument);
  const absl::Status status = KvCache::Create(config, (int64_t{1} << 31) - 1, DType::kF32).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("GiB"));
}

TEST(KvCacheTest, LayersDoNotOverlap) {
  ModelConfig config;
  config.num_layers = 3;
  config.num_kv_heads = 1;
  config.head_dim = 6;
  const KvCache cache = KvCache::Create(config, /*num_slots=*/5, DType::kBf16).value();
  const int64_t array_bytes = 5 * 6 * 2;
  std::vector<char*> arrays;
  for (int64_t i = 0; i < 3; ++i) {
    arrays.push_back(static_cast<char*>(cache.layer(i).keys));
    arrays.push_back(static_cast<char*>(cache.layer(i).values));
  }
  for (size_t i = 0; i + 1 < arrays.size(); ++i) EXPECT_GE(arrays[i + 1] - arrays[i], array_bytes);
}

}  // namespace
}  // namespace shortlist

#include "model/checkpoint/eagle3_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "model/decoder.h"
#include "model/eagle3_model.h"
#include "tests/model/model_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_eagle3.h"
#include "tests/support/tiny_llama.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kIds[] = "eagle_aux_hidden_state_layer_ids";
using Change = std::function<void(AnyCheckpoint&)>;
using Taps = std::vector<int64_t>;

class Eagle3ConfigTest : public testing::Test {
 protected:
  Eagle3ConfigTest() {
    options_.num_layers = 8;
    EXPECT_TRUE(WriteTinyLlama(dir_.Join("target"), options_, /*seed=*/1).ok());
    target_ = LoadOrDie(dir_.Join("target"), std::nullopt, pool_);
  }

  ModelSource Source() const { return ModelSource::OfDirectory(dir_.Join("draft")); }

  absl::StatusOr<Eagle3Config> Read(const Change& change, bool speculators = false,
                                    std::optional<Taps> taps = std::nullopt) {
    AnyCheckpoint head = TinyEagle3(options_, /*seed=*/2);
    if (speculators) head = AsSpeculators(head);
    if (change) change(head);
    EXPECT_TRUE(head.Write(dir_.Join("draft")).ok());
    absl::StatusOr<Eagle3Config> config = ReadEagle3Config(Source());
    if (!config.ok()) return config;
    const absl::Status fits = config->FitTarget(target_->config(), taps, Source().path());
    if (!fits.ok()) return fits;
    return config;
  }

  absl::Status Load(const Change& change, bool speculators = false) {
    const absl::StatusOr<Eagle3Config> config = Read(change, speculators);
    if (!config.ok()) return config.status();
    return Eagle3Model::Load(Source(), *config, *target_, pool_).status();
  }

  void ExpectRefused(const Change& change, const testing::Matcher<std::string>& message,
                     bool speculators = false) {
    const absl::Status status = Load(change, speculators);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), message);
  }

  TempDir dir_;
  TinyLlamaOptions options_;
  ThreadPool pool_{1};
  std::unique_ptr<Decoder> target_;
};

TEST_F(Eagle3ConfigTest, FlatAndNestedFormatsAreTheSameHead) {
  for (const bool speculators : {false, true}) {
    const auto config = Read(nullptr, speculators);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->format == Eagle3Config::Format::kSpeculators, speculators);
    EXPECT_EQ(config->first_layer, speculators ? "layers.0." : "midlayer.");
    EXPECT_THAT(config->taps, ElementsAre(2, 4, 5));
    EXPECT_EQ(config->target_hidden, options_.hidden);
    EXPECT_EQ(config->num_head_rows, options_.vocab_size / 2);
    EXPECT_EQ(config->head_rows->ids()[3], 7);
    EXPECT_FALSE(config->norm_before_residual);
    EXPECT_FALSE(config->recurs_normed);
    EXPECT_FALSE(config->has_embedding);
    EXPECT_FALSE(config->layers.qk_norm);
    EXPECT_EQ(config->layers.context_len, target_->config().context_len);
    EXPECT_TRUE(Load(nullptr, speculators).ok());
  }
}

/// Rule of the taps: which ids of a file mean which boundaries, for a target of eight layers.
TEST_F(Eagle3ConfigTest, LayerIdsBecomeBoundariesByFormat) {
  const struct {
    bool speculators;
    Taps ids;
    bool nested;  // in eagle_config
    Taps taps;
  } kCases[] = {
      {true, {1, 4, 5}, false, {1, 4, 5}},  {false, {1, 3, 5}, true, {2, 4, 6}},
      {false, {1, 3, 5}, false, {2, 4, 6}}, {false, {2, 4, 6}, true, {2, 4, 6}},
      {false, {1, 4, 8}, true, {1, 4, 8}},  {true, {0, 4, 8}, false, {0, 4, 8}},
      {false, {5, 2, 7}, true, {5, 2, 7}},
  };
  for (const auto& c : kCases) {
    const auto config = Read(
        [&c](AnyCheckpoint& head) {
          (c.nested ? head.config["eagle_config"] : head.config)[kIds] = c.ids;
        },
        c.speculators);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->taps, c.taps);
    EXPECT_THAT(config->taps_reason, HasSubstr(kIds));
  }
  const auto given = Read(nullptr, /*speculators=*/false, Taps{7, 0, 8});
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_THAT(given->taps, ElementsAre(7, 0, 8));
}

TEST_F(Eagle3ConfigTest, TapsThatDoNotFitAreRejected) {
  const auto set = [](const json& ids) {
    return [ids](AnyCheckpoint& head) { head.config[kIds] = ids; };
  };
  ExpectRefused(set({2, 4}), HasSubstr("and fc joins 3 states"));
  ExpectRefused(set({2, 4, 9}), HasSubstr("layer boundary 9 not in [0, 8]"));
  ExpectRefused(set({2, -4, 5}), HasSubstr("not a list of layers in [0, 1024]"));
  ExpectRefused(set({2, 4, 1e30}), HasSubstr("not a list of layers"));
  ExpectRefused(set({2, 4, 18446744073709551615u}), HasSubstr("not a list of layers"));
  ExpectRefused(set("2,4,5"), HasSubstr("not a list of layers"));
  const auto given = Read(nullptr, /*speculators=*/false, Taps{1, 2, 9});
  EXPECT_THAT(std::string(given.status().message()),
              AllOf(HasSubstr("1,2,9"), HasSubstr("boundary 9 not in [0, 8]")));
  EXPECT_FALSE(Read(nullptr, /*speculators=*/false, Taps{1, 2}).ok());
  options_.num_layers = 2;
  ASSERT_TRUE(WriteTinyLlama(dir_.Join("small"), options_, /*seed=*/1).ok());
  target_ = LoadOrDie(dir_.Join("small"), std::nullopt, pool_);
  ExpectRefused(nullptr, AllOf(HasSubstr("2,1,-1"), HasSubstr("boundary -1 not in [0, 2]")));
}

TEST_F(Eagle3ConfigTest, NormOutputRecursInSpeculatorsFilesAlone) {
  const Change set = [](AnyCheckpoint& head) { head.config["norm_output"] = true; };
  EXPECT_TRUE(Read(set, /*speculators=*/true)->recurs_normed);
  EXPECT_FALSE(Read(set, /*speculators=*/false)->recurs_normed);
}

TEST_F(Eagle3ConfigTest, NormBeforeResidualHasNoDefaultInSpeculatorsFiles) {
  ExpectRefused([](AnyCheckpoint& head) { head.config.erase("norm_before_residual"); },
                AllOf(HasSubstr("norm_before_residual is missing"), HasSubstr("vLLM")),
                /*speculators=*/true);
}

TEST_F(Eagle3ConfigTest, NormsBeforeFcAreThoseOfTheFile) {
  const int64_t hidden = options_.hidden;
  const auto norm = [](int64_t size) {
    return AnyTensor::Floats({size}, std::vector<float>(size, 0.5f));
  };
  const Change one = [&](AnyCheckpoint& head) {
    head.tensors["input_norm.weight"] = norm(3 * hidden);
  };
  const Change each = [&](AnyCheckpoint& head) {
    for (const char* i : {"0", "1", "2"}) {
      head.tensors["fc_norm." + std::string(i) + ".weight"] = norm(hidden);
    }
  };
  const Change old = [&](AnyCheckpoint& head) {
    for (const char* name : {"low", "mid", "high"}) {
      head.tensors["aux_norm_" + std::string(name) + ".weight"] = norm(hidden);
    }
  };
  EXPECT_THAT(Read(one)->feature_norms, ElementsAre("input_norm.weight"));
  EXPECT_THAT(Read(each)->feature_norms,
              ElementsAre("fc_norm.0.weight", "fc_norm.1.weight", "fc_norm.2.weight"));
  EXPECT_THAT(Read(old)->feature_norms,
              ElementsAre("aux_norm_low.weight", "aux_norm_mid.weight", "aux_norm_high.weight"));
  for (const Change& change : {one, each, old}) EXPECT_TRUE(Load(change).ok());
  ExpectRefused([](AnyCheckpoint& head) { head.config["norm_before_fc"] = true; },
                AllOf(HasSubstr("norm_before_fc = true"), HasSubstr("no such norm")));
  ExpectRefused(
      [&](AnyCheckpoint& head) {
        each(head);
        head.config["fc_norm"] = false;
      },
      AllOf(HasSubstr("fc_norm = false"), HasSubstr("fc_norm.0.weight")));
}

TEST_F(Eagle3ConfigTest, HeadIsItsOwnOrTheTargetsOrTheEmbedding) {
  const Change targets = [](AnyCheckpoint& head) {
    head.config["draft_vocab_size"] = nullptr;
    for (const char* name : {"lm_head.weight", "d2t", "t2d"}) head.tensors.erase(name);
  };
  auto config = Read(targets);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->head_rows, nullptr);
  EXPECT_EQ(config->num_head_rows, 0);
  const auto model = Eagle3Model::Load(Source(), *config, *target_, pool_);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->head_weight().rows, target_->head_weight().rows);

  const Change tied = [&](AnyCheckpoint& head) {
    targets(head);
    head.config["tie_word_embeddings"] = true;
    head.tensors["embed_tokens.weight"] =
        AnyTensor::Floats({options_.vocab_size, options_.hidden},
                          std::vector<float>(options_.vocab_size * options_.hidden, 0.25f));
  };
  config = Read(tied);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->head_is_embedding);
  EXPECT_TRUE(Load(tied).ok());

  // A head that is missing is never made up.
  ExpectRefused([](AnyCheckpoint& head) { head.tensors.erase("lm_head.weight"); },
                AllOf(HasSubstr("no tensor lm_head.weight"), HasSubstr("draft_vocab_size = 48")));
  ExpectRefused([](AnyCheckpoint& head) { head.config["draft_vocab_size"] = 47; },
                AllOf(HasSubstr("lm_head.weight [48, 32]"), HasSubstr("47 rows")));
}

TEST_F(Eagle3ConfigTest, DraftToTargetMapIsChecked) {
  const int64_t num_rows = options_.vocab_size / 2;
  const auto set = [](std::vector<int64_t> d2t, bool keeps_mask = false) {
    return [d2t, keeps_mask](AnyCheckpoint& head) {
      head.tensors["d2t"] = AnyTensor::Integers(d2t);
      if (!keeps_mask) head.tensors.erase("t2d");
    };
  };
  std::vector<int64_t> offsets, ids;
  for (int64_t row = 0; row < num_rows; ++row) {
    offsets.push_back(row + 1);
    ids.push_back(2 * row + 1);
  }
  // Ids, as in GGUF: 2 * row + 1 + row is out of range for the last ones.
  auto config = Read(set(ids));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->d2t_holds_ids);
  EXPECT_EQ(config->head_rows->ids()[3], 7);
  EXPECT_TRUE(Read(set(ids, /*keeps_mask=*/true))->d2t_holds_ids);
  EXPECT_FALSE(Read(set(offsets, /*keeps_mask=*/true))->d2t_holds_ids);
  // Without t2d these may be either: 1, 2, ... are ids too.
  ExpectRefused(set(offsets), HasSubstr("can be offsets (id minus row) or ids: add t2d"));
  // Rows in any order.
  config = Read(set(std::vector<int64_t>(num_rows, 0), true));
  EXPECT_THAT(std::string(config.status().message()),
              AllOf(HasSubstr("d2t is 0 in all 48 rows"), HasSubstr("a trainer's default")));
  ExpectRefused(set(std::vector<int64_t>(num_rows, 0)), HasSubstr("a trainer's default"));
  std::vector<int64_t> broken = offsets;
  broken[5] = broken[4] - 1;  // the token of row 4
  ExpectRefused(set(broken), AllOf(HasSubstr("d2t[5]"), HasSubstr("which row 4 has too")));
  broken[5] = 1000;
  ExpectRefused(set(broken), AllOf(HasSubstr("d2t[5]"), HasSubstr("token id 1005 not in [0, 96)")));
  broken[5] = std::numeric_limits<int64_t>::min();
  ExpectRefused(set(broken), AllOf(HasSubstr("d2t[5]"), HasSubstr("not in [0, 96)")));
  broken[5] = std::numeric_limits<int64_t>::max();
  ExpectRefused(set(broken), HasSubstr("not in [0, 96)"));
  broken = offsets;
  broken[5] = 7;  // token 12, which t2d denies
  ExpectRefused(set(broken, true), AllOf(HasSubstr("token id 12"), HasSubstr("t2d is not true")));
  ExpectRefused(set({1, 2, 3}), HasSubstr("d2t has 3 elements for a head of 48 rows"));
  ExpectRefused([](AnyCheckpoint& head) { head.tensors.erase("d2t"); },
                HasSubstr("no tensor \"d2t\", which names the tokens of the head's 48 rows"));
  ExpectRefused(
      [&](AnyCheckpoint& head) {
        head.tensors["d2t"] = AnyTensor::Mask(std::vector<bool>(num_rows, true));
      },
      HasSubstr("d2t is BOOL"));
  ExpectRefused(
      [&](AnyCheckpoint& head) {
        head.tensors["t2d"] = AnyTensor::Mask(std::vector<bool>(options_.vocab_size));
      },
      AllOf(HasSubstr("t2d is true for 0 of 96 tokens"), HasSubstr("a trainer's default")));
}

TEST_F(Eagle3ConfigTest, HeadsOfOtherTargetsAreRejected) {
  options_.hidden = 48;
  ExpectRefused(nullptr, HasSubstr("target_hidden_size 48 does not fit the target's 32"));
  options_.hidden = 32;
  ExpectRefused([](AnyCheckpoint& head) { head.config["vocab_size"] = 5000; },
                HasSubstr("vocab_size 5000 does not fit the target's 96"));
  ExpectRefused([](AnyCheckpoint& head) { head.config["target_hidden_size"] = 31; },
                AllOf(HasSubstr("fc.weight [32, 96]"), HasSubstr("target_hidden_size = 31")));
}

TEST_F(Eagle3ConfigTest, TensorsMustMatchConfiguration) {
  const auto erase = [](const char* name) {
    return [name](AnyCheckpoint& head) { head.tensors.erase(name); };
  };
  ExpectRefused(erase("fc.weight"), HasSubstr("without tensor fc.weight"));
  ExpectRefused(erase("norm.weight"), HasSubstr("no tensor norm.weight"));
  ExpectRefused(erase("midlayer.input_layernorm.weight"), HasSubstr("midlayer.input_layernorm"));
  ExpectRefused([](AnyCheckpoint& head) { head.config["num_hidden_layers"] = 2; },
                HasSubstr("num_hidden_layers = 2, and the file holds 1"));
  ExpectRefused(
      [&](AnyCheckpoint& head) {
        head.tensors["midlayer.mlp.bias"] = AnyTensor::Floats({1}, {1.0f});
      },
      HasSubstr("midlayer.mlp.bias"));
  ExpectRefused(
      [&](AnyCheckpoint& head) {
        std::vector<float> values(options_.hidden, 1.0f);
        values[7] = std::numeric_limits<float>::quiet_NaN();
        head.tensors["norm.weight"] = AnyTensor::Floats({options_.hidden}, values);
      },
      AllOf(HasSubstr("norm.weight"), HasSubstr("NaN")));
  ExpectRefused([](AnyCheckpoint& head) { head.config["hidden_act"] = "gelu"; },
                HasSubstr("hidden_act"));
  ExpectRefused([](AnyCheckpoint& head) { head.config["eagle_config"] = 3; },
                HasSubstr("eagle_config = 3 is not an object"));
}

TEST_F(Eagle3ConfigTest, TruncatedFileIsRejected) {
  ASSERT_TRUE(Load(nullptr).ok());
  const std::string path = dir_.Join("draft/model.safetensors");
  const std::string whole = *ReadFile(path, int64_t{1} << 24);
  for (const size_t size :
       {size_t{0}, size_t{7}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
    ASSERT_TRUE(WriteFileAtomically(path, whole.substr(0, size)).ok());
    EXPECT_FALSE(ReadEagle3Config(Source()).ok()) << size;
  }
}

TEST_F(Eagle3ConfigTest, OtherDraftsAreRejectedByName) {
  const auto with = [](const char* name) {
    return [name](AnyCheckpoint& head) { head.tensors[name] = AnyTensor::Floats({1}, {1.0f}); };
  };
  ExpectRefused(with("mask_hidden"), HasSubstr("P-EAGLE"));
  ExpectRefused(with("midlayer.self_attn.kv_a_proj_with_mqa.weight"), HasSubstr("MLA"));
  ExpectRefused(with("markov_head.markov_w1.weight"), HasSubstr("DSpark"));
  ExpectRefused(with("mtp.fc.weight"), HasSubstr("MTP"));
  ExpectRefused(with("hidden_norm.weight"), HasSubstr("DFlash"));
}

TEST_F(Eagle3ConfigTest, HeadDimFollowsTheTensors) {
  // SafeAILab's code ignores head_dim.
  const auto config = Read([](AnyCheckpoint& head) { head.config["head_dim"] = 16; });
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->layers.head_dim, options_.hidden / options_.num_heads);
  ExpectRefused([](AnyCheckpoint& head) { head.config["num_attention_heads"] = 5; },
                HasSubstr("num_attention_heads"));
}

}  // namespace
}  // namespace shortlist

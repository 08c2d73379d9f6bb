#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/thread_pool.h"
#include "base/weight_block.h"
#include "io/gguf/block_format.h"
#include "io/gguf/gguf_file.h"
#include "io/gguf/piece_merges.h"
#include "io/model_source.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/generation_config.h"
#include "model/decoder.h"
#include "model/mtp_model.h"
#include "nlohmann/json.hpp"
#include "tests/io/gguf_writer.h"
#include "tests/model/model_fixture.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"
#include "text/chat/chat_template.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

class GgufTest : public testing::Test {
 protected:
  std::string Error(const std::string& contents) {
    const auto source = ModelSource::Open(dir_.Write("model.gguf", contents));
    return source.ok() ? "" : std::string(source.status().message());
  }

  std::string LlamaBytes() {
    return ReadFile(SourcePath("tests/reference/golden/gguf/llama.gguf"), int64_t{1} << 20).value();
  }

  TempDir dir_;
};

/// Values and their bf16 roundings, whole and in parts, against gguf.quants.dequantize.
TEST_F(GgufTest, BlocksHaveTheReferencesValues) {
  const json golden = json::parse(
      ReadFile(SourcePath("tests/reference/golden/gguf/blocks.json"), int64_t{1} << 20).value());
  std::mt19937 random(3);
  int num_types = 0;
  for (uint32_t id = 0; id < 64; ++id) {
    const BlockFormat* format = FindBlockFormat(id);
    if (format == nullptr || !IsBlocked(format->stored)) continue;
    ++num_types;
    SCOPED_TRACE(format->name());
    const std::string blocks = FromHex(golden.at(format->name()).at("blocks"));
    const std::string bytes = FromHex(golden.at(format->name()).at("values"));
    std::vector<float> expected(bytes.size() / sizeof(float));
    std::memcpy(expected.data(), bytes.data(), bytes.size());
    std::vector<float> values(expected.size());
    const auto num_blocks = static_cast<int64_t>(blocks.size()) / format->num_bytes();
    ASSERT_EQ(num_blocks * format->num_elements(), std::ssize(values));
    for (int64_t b = 0; b < num_blocks; ++b) {
      DecodeBlock(format->stored,
                  reinterpret_cast<const uint8_t*>(blocks.data()) + b * format->num_bytes(),
                  values.data() + b * format->num_elements());
    }
    EXPECT_EQ(values, expected);

    const auto columns = static_cast<uint64_t>(expected.size() / 2);
    std::string file = FileOf({}, {{"w", {columns, 2}, id, 0}}, 0) + blocks;
    const auto opened = GgufFile::Open(dir_.Write("blocks.gguf", file));
    ASSERT_TRUE(opened.ok()) << opened.status();
    const TensorFile tensors(opened->file, opened->tensors);
    const TensorEntry& entry = tensors.entries().at("w");
    EXPECT_THAT(entry.shape, ElementsAre(2, columns));
    EXPECT_EQ(entry.dtype, DType::kBf16);
    for (int i = 0; i < 50; ++i) {
      const auto begin = static_cast<int64_t>(random() % expected.size());
      const auto count = static_cast<int64_t>(random() % (expected.size() - begin) + 1);
      std::vector<uint16_t> read(static_cast<size_t>(count));
      ASSERT_TRUE(tensors.Read(entry, 2 * begin, 2 * count, read.data()).ok());
      for (int64_t k = 0; k < count; ++k) {
        ASSERT_EQ(read[k], FloatToBf16(expected[begin + k])) << begin << " + " << k;
      }
    }
  }
  EXPECT_EQ(num_types, 9);
}

TEST_F(GgufTest, LlamaHasTheStatesOfItsCheckpoint) {
  const auto source = ModelSource::Open(SourcePath("tests/reference/golden/gguf/llama.gguf"));
  ASSERT_TRUE(source.ok()) << source.status();
  ThreadPool pool(2);
  const auto config = ReadModelConfig(*source);
  ASSERT_TRUE(config.ok()) << config.status();
  auto decoder = Decoder::Load(*source, std::nullopt, pool);
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  const auto original =
      LoadOrDie(SourcePath("tests/reference/golden/llama_mha"), std::nullopt, pool);
  EXPECT_EQ((*decoder)->weight_dtype(), DType::kF32);
  const std::vector<TokenId> tokens = RandomTokens(20, config->vocab_size, /*seed=*/5);
  EXPECT_EQ(RunChain(**decoder, tokens), RunChain(*original, tokens));
  EXPECT_TRUE(source->CheckUnchanged().ok());
}

/// The checkpoint of golden/decoders/gemma3.json, from which the GGUF file was made: 1 is not yet
/// added to the norms.
TEST_F(GgufTest, Gemma3HasTheStatesOfItsCheckpoint) {
  const json golden = json::parse(
      ReadFile(SourcePath("tests/reference/golden/decoders/gemma3.json"), int64_t{1} << 20)
          .value());
  dir_.Write("config.json", golden.at("config").dump());
  std::vector<StoredTensor> tensors;
  for (const auto& [name, shape] : golden.at("tensors").items()) {
    const auto extents = shape.get<std::vector<int64_t>>();
    tensors.push_back(MakeTensor(name, extents, GoldenWeights(name, extents), DType::kF32));
  }
  ASSERT_TRUE(WriteSafetensors(dir_.Join("model.safetensors"), tensors).ok());
  ThreadPool pool(2);
  const auto original = LoadOrDie(dir_.path(), std::nullopt, pool);
  const auto source = ModelSource::Open(SourcePath("tests/reference/golden/gguf/gemma3.gguf"));
  ASSERT_TRUE(source.ok()) << source.status();
  const auto decoder = Decoder::Load(*source, std::nullopt, pool);
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  const ModelConfig& config = (*decoder)->config();
  EXPECT_THAT(config.windows, ElementsAre(9, 9, 9, 9, 9, 0, 9));
  EXPECT_EQ(config.windows, original->config().windows);
  EXPECT_EQ(config.window_rope_theta, original->config().window_rope_theta);
  EXPECT_EQ(config.norm_offset, 0.0);
  EXPECT_EQ(original->config().norm_offset, 1.0);
  const std::vector<TokenId> tokens = RandomTokens(40, config.vocab_size, /*seed=*/5);
  EXPECT_EQ(RunChain(**decoder, tokens), RunChain(*original, tokens));
}

/// The checkpoint of golden/mtp/own_head.json, whose value heads have another order in the file.
TEST_F(GgufTest, Qwen35HasTheStatesOfItsCheckpoint) {
  const json golden = json::parse(
      ReadFile(SourcePath("tests/reference/golden/mtp/own_head.json"), int64_t{1} << 20).value());
  std::vector<StoredTensor> tensors;
  for (const auto& [name, shape] : golden.at("tensors").items()) {
    const auto extents = shape.get<std::vector<int64_t>>();
    tensors.push_back(MakeTensor(name, extents, GoldenWeights(name, extents), DType::kF32));
  }
  ASSERT_TRUE(WriteModel(dir_.path(), golden.at("config"), tensors).ok());
  ThreadPool pool(2);
  const auto original = LoadOrDie(dir_.path(), std::nullopt, pool);
  const auto source = ModelSource::Open(SourcePath("tests/reference/golden/gguf/qwen35.gguf"));
  ASSERT_TRUE(source.ok()) << source.status();
  const auto decoder = Decoder::Load(*source, std::nullopt, pool);
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  const ModelConfig& config = (*decoder)->config();
  EXPECT_EQ(config.recurrent, original->config().recurrent);
  EXPECT_EQ(config.rotary_dim, original->config().rotary_dim);
  EXPECT_TRUE(config.delta_net.is_tiled);
  const std::vector<TokenId> tokens = RandomTokens(40, config.vocab_size, /*seed=*/5);
  EXPECT_LE(RelativeError(RunChain(**decoder, tokens), RunChain(*original, tokens)), 1e-5);

  // Its MTP layer, which the file counts among its blocks.
  const auto mtp = MtpModel::Load(*source, **decoder, pool);
  ASSERT_TRUE(mtp.ok()) << mtp.status();
  const auto original_mtp = MtpModel::Load(ModelSource::OfDirectory(dir_.path()), *original, pool);
  ASSERT_TRUE(original_mtp.ok()) << original_mtp.status();
  const auto run = [&](MtpModel& network) {
    KvCache cache = KvCache::Create(network.config(), 40, DType::kF32).value();
    const std::vector<int32_t> slots = Iota(40);
    ForwardBatch batch;
    batch.AddChain(tokens, 0, slots);
    const Matrix features = FromVector(RunChain(*original, tokens), config.hidden);
    return ToVector(network.Forward(batch, features, cache).value().scored);
  };
  EXPECT_LE(RelativeError(run(**mtp), run(**original_mtp)), 1e-5);
}

std::vector<int32_t> RawIds(const std::vector<TokenId>& ids) {
  std::vector<int32_t> numbers;
  for (const TokenId id : ids) numbers.push_back(Raw(id));
  return numbers;
}

/// A case of golden/gguf: a text, its ids and, where given, their text.
void ExpectCase(const Tokenizer& tokenizer, const json& item, bool shows_controls) {
  SCOPED_TRACE(item.at("text").dump());
  const auto ids = tokenizer.Encode(item.at("text").get<std::string>(), {.parse_special = true});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(RawIds(*ids), item.at("ids").get<std::vector<int32_t>>());
  if (!item.contains("decoded")) return;
  EXPECT_EQ(tokenizer.Decode(*ids, shows_controls), item.at("decoded").get<std::string>());
}

/// Ids and texts of transformers' GemmaTokenizer over the same vocabulary.
TEST_F(GgufTest, PiecesHaveTheReferencesIds) {
  const auto source = ModelSource::Open(SourcePath("tests/reference/golden/gguf/gemma3.gguf"));
  ASSERT_TRUE(source.ok()) << source.status();
  const auto tokenizer = OpenTokenizer(*source);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->size(), 512);
  const json golden = json::parse(
      ReadFile(SourcePath("tests/reference/golden/gguf/gemma3_ids.json"), int64_t{1} << 20)
          .value());
  for (const json& item : golden.at("cases")) {
    ExpectCase(**tokenizer, item, /*shows_controls=*/true);
  }
  const auto pair =
      (*tokenizer)
          ->EncodeSequence(golden.at("cases")[2].at("text").get<std::string>(),
                           golden.at("cases")[3].at("text").get<std::string>(), {}, {});
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(RawIds(pair->ids), golden.at("pair").get<std::vector<int32_t>>());
  // "<end_of_turn>" ends a text although the metadata only name <eos>.
  EXPECT_THAT(*ReadGenerationConfig(*source, 512)->eos_token_ids, ElementsAre(1, 19));
  EXPECT_TRUE(ChatTemplate::Load(*source).ok());
}

/// Ids of llama.cpp, and texts of the SentencePiece library.
TEST_F(GgufTest, PiecesWithSpaceInFrontHaveTheReferencesIds) {
  const auto source = ModelSource::Open(SourcePath("tests/reference/golden/gguf/pieces.gguf"));
  ASSERT_TRUE(source.ok()) << source.status();
  const auto tokenizer = OpenTokenizer(*source);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const json golden = json::parse(
      ReadFile(SourcePath("tests/reference/golden/gguf/pieces_ids.json"), int64_t{1} << 20)
          .value());
  int num_decoded = 0;
  for (const json& item : golden.at("cases")) {
    ExpectCase(**tokenizer, item, /*shows_controls=*/false);
    num_decoded += item.contains("decoded");
  }
  EXPECT_GT(num_decoded, 10);
}

TEST_F(GgufTest, SpelledControlTokenStaysText) {
  const auto source = ModelSource::Open(SourcePath("tests/reference/golden/gguf/gemma3.gguf"));
  ASSERT_TRUE(source.ok()) << source.status();
  const auto tokenizer = OpenTokenizer(*source);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const std::string text = "<start_of_turn>model<0x41><table>";
  const auto ids = (*tokenizer)->Encode(text, {.add_special_tokens = false});
  ASSERT_TRUE(ids.ok()) << ids.status();
  for (const TokenId id : *ids) EXPECT_FALSE((*tokenizer)->IsSpecial(id)) << Raw(id);
  EXPECT_EQ(ids->back(), TokenId{14});  // not a control token
  EXPECT_EQ((*tokenizer)->Decode(*ids), text);
}

TEST_F(GgufTest, MergesFollowScoresThenPieces) {
  const auto merges = PieceMerges({{"a"}, {"b"}, {"ab", -2}, {"aa", -1}, {"aaa", -1}, {"\n\n"}});
  ASSERT_TRUE(merges.ok()) << merges.status();
  EXPECT_THAT(*merges, ElementsAre("a a", "a aa", "aa a", "a b"));
  EXPECT_THAT(std::string(PieceMerges({{std::string(257, 'a')}}).status().message()),
              HasSubstr("has 257 bytes, more than 256"));
}

TEST_F(GgufTest, TokenizerAndTemplateComeFromTheMetadata) {
  const auto source = ModelSource::Open(SourcePath("tests/reference/golden/gguf/llama.gguf"));
  ASSERT_TRUE(source.ok()) << source.status();
  const auto tokenizer = OpenTokenizer(*source);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->size(), 95);
  const auto ids = (*tokenizer)->Encode("abcb<user>");
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_THAT(*ids, ElementsAre(TokenId{92}, TokenId{91}, TokenId{65}, TokenId{94}));
  const auto generation = ReadGenerationConfig(*source, 100);
  EXPECT_THAT(*generation->eos_token_ids, ElementsAre(93));
  EXPECT_TRUE(ChatTemplate::Load(*source).ok());
}

TEST_F(GgufTest, PartsAreOneModel) {
  const std::string parts = SourcePath("tests/reference/golden/gguf/parts-0000");
  const auto first = ReadFile(parts + "1-of-00002.gguf", int64_t{1} << 20).value();
  const auto second = ReadFile(parts + "2-of-00002.gguf", int64_t{1} << 20).value();
  const auto whole = ModelSource::Open(SourcePath("tests/reference/golden/gguf/llama.gguf"));
  const auto joined = ModelSource::Open(parts + "1-of-00002.gguf");
  ASSERT_TRUE(joined.ok()) << joined.status();
  ThreadPool pool(1);
  const std::vector<TokenId> tokens = RandomTokens(20, 100, /*seed=*/5);
  EXPECT_EQ(RunChain(**Decoder::Load(*joined, std::nullopt, pool), tokens),
            RunChain(**Decoder::Load(*whole, std::nullopt, pool), tokens));

  const auto error = [&](const std::string& path) {
    return std::string(ModelSource::Open(path).status().message());
  };
  EXPECT_THAT(error(parts + "2-of-00002.gguf"), HasSubstr("this is part 2; open the first"));
  EXPECT_THAT(error(dir_.Write("m.gguf", first)), HasSubstr("must end in -00001-of-00002.gguf"));
  const std::string path = dir_.Write("m-00001-of-00002.gguf", first);
  EXPECT_THAT(error(path), HasSubstr("m-00002-of-00002.gguf"));
  dir_.Write("m-00002-of-00002.gguf", first);
  EXPECT_THAT(error(path), HasSubstr("says it is part 1 of 2, not 2 of 2"));
  dir_.Write("m-00002-of-00002.gguf",
             FileOf({Pair("split.count", 2, Bytes<uint16_t>(2)), IntPair("split.no", 1)}, {}, 0));
  EXPECT_THAT(error(path), HasSubstr("split.tensors.count: 21, but the parts have 11"));
  dir_.Write("m-00002-of-00002.gguf", FileOf({IntPair("split.count", 2), IntPair("split.no", 1),
                                              TextPair("general.architecture", "qwen2")},
                                             {}, 0));
  EXPECT_THAT(error(path), HasSubstr("general.architecture: differs from the first part's"));
  dir_.Write("m-00002-of-00002.gguf", second);
  EXPECT_EQ(error(path), "");
}

TEST_F(GgufTest, DamagedHeadersAreRejected) {
  const std::string arch = TextPair("general.architecture", "llama");
  const GgufTensor good{"token_embd.weight", {32, 2}, 0, 0};
  EXPECT_THAT(Error("GGUF"), HasSubstr("fewer than 24 bytes"));
  EXPECT_THAT(Error("GGML" + std::string(40, '\0')), HasSubstr("does not begin with \"GGUF\""));
  EXPECT_THAT(Error("GGUF" + Bytes<uint32_t>(1) + std::string(40, '\0')), HasSubstr("version 1"));
  EXPECT_THAT(
      Error("GGUF" + Bytes<uint32_t>(3) + Bytes<uint64_t>(1u << 20) + std::string(40, '\0')),
      HasSubstr("1048576 tensors, more than"));
  EXPECT_THAT(Error("GGUF" + Bytes<uint32_t>(3) + Bytes<uint64_t>(0) + Bytes<uint64_t>(UINT64_MAX)),
              HasSubstr("18446744073709551615 metadata pairs, more than 0"));
  EXPECT_THAT(Error(FileOf({arch, arch}, {}, 0)), HasSubstr("occurs twice"));
  EXPECT_THAT(Error(FileOf({Pair("k", 9, Bytes<uint32_t>(9) + Bytes<uint64_t>(1))}, {}, 64)),
              HasSubstr("an array of type 9 is not supported"));
  EXPECT_THAT(Error(FileOf({Pair("k", 9, Bytes<uint32_t>(0) + Bytes<uint64_t>(1u << 30))}, {}, 64)),
              HasSubstr("1073741824 elements of an array, more than"));
  EXPECT_THAT(Error(FileOf({Pair("k", 13, "")}, {}, 64)), HasSubstr("unknown type 13"));
  EXPECT_THAT(Error(FileOf({Pair("k", 10, Bytes(UINT64_MAX))}, {}, 0)), HasSubstr("below 2^63"));
  EXPECT_THAT(Error(FileOf({Pair("k", 8, Bytes<uint64_t>(1000))}, {}, 0)),
              HasSubstr("1000 bytes of a text, more than"));
  EXPECT_THAT(Error(FileOf({arch, IntPair("general.alignment", 0)}, {}, 0)),
              HasSubstr("general.alignment: 0 not in [1, "));
  const auto with = [&](const std::vector<GgufTensor>& tensors) {
    return Error(FileOf({arch}, tensors, 256));
  };
  EXPECT_THAT(with({good, good}), HasSubstr("occurs twice"));
  EXPECT_THAT(with({good, {"output.weight", {32}, 0, 64}}), HasSubstr("overlap"));
  EXPECT_THAT(with({{"token_embd.weight", {32, 3}, 0, 0}}), HasSubstr("exceed the 256 bytes"));
  EXPECT_THAT(with({{"token_embd.weight", {32}, 0, UINT64_MAX / 2}}),
              HasSubstr("no multiple of 32"));
  EXPECT_THAT(with({{"token_embd.weight", {32}, 0, (UINT64_MAX / 2) & ~31ull}}),
              HasSubstr("exceed the 256 bytes"));
  EXPECT_THAT(with({{"token_embd.weight", {1ull << 40, 1ull << 40}, 0, 0}}), HasSubstr("2^63"));
  EXPECT_THAT(with({{"token_embd.weight", {0}, 0, 0}}), HasSubstr("an extent of 0"));
  EXPECT_THAT(with({{"token_embd.weight", {}, 0, 0}}), HasSubstr("0 dimensions"));
  EXPECT_THAT(with({{"token_embd.weight", {48}, 8, 0}}), HasSubstr("no whole blocks of Q8_0"));
  EXPECT_THAT(with({{"token_embd.weight", {256}, 16, 0}}),
              AllOf(HasSubstr("IQ2_XXS is not supported"), HasSubstr("Q4_K")));
  EXPECT_THAT(with({{"token_embd.weight", {256}, 99, 0}}), HasSubstr("type 99"));
  EXPECT_THAT(with({{"token_embd.weight", {32}, 27, 0}}),
              HasSubstr("\"token_embd.weight\": weights of type I64"));
  EXPECT_THAT(with({{"blk.1.ffn_up.weight", {32}, 0, 0}, {"blk.01.ffn_up.weight", {32}, 0, 128}}),
              HasSubstr("is another one's, too: model.layers.1.mlp.up_proj.weight"));
  EXPECT_THAT(with({{"rope_other.weight", {64}, 0, 0}}),
              HasSubstr("tensor \"rope_other.weight\" is not part of a llama model"));
  // Data that no tensor has: one is missing from the header.
  EXPECT_THAT(with({{"output.weight", {32}, 0, 0}}), HasSubstr("no tensor has the last 128 bytes"));
  EXPECT_THAT(with({{"output.weight", {32}, 0, 128}}),
              HasSubstr("no tensor has the 128 bytes before \"output.weight\""));
}

TEST_F(GgufTest, LlamaBpeAddsBosUnlessToldOtherwise) {
  const auto first = [&](const std::vector<std::string>& more) {
    const auto source = ModelSource::Open(dir_.Write("model.gguf", SmallFile(more)));
    EXPECT_TRUE(source.ok()) << source.status();
    return (*OpenTokenizer(*source))->Encode("ab")->front();
  };
  const std::string key = "tokenizer.ggml.add_bos_token";
  EXPECT_EQ(first({}), TokenId{4});
  EXPECT_EQ(first({Pair(key, 7, Bytes<uint8_t>(1))}), TokenId{4});
  EXPECT_EQ(first({Pair(key, 7, Bytes<uint8_t>(0))}), TokenId{2});
  EXPECT_EQ(first({TextPair("tokenizer.ggml.pre", "gpt-2")}), TokenId{2});
}

/// The factors are transformers' for factor 32, theta 500,000 and 16 dimensions.
TEST_F(GgufTest, RopeFactorsAreTheScalingOfLlama3) {
  const std::vector<float> factors = {1, 1, 1, 1, 3.292262554168701f, 32, 32, 32};
  const auto file = [&](const std::vector<float>& values, const std::vector<std::string>& more) {
    std::string bytes =
        FileOf(SmallPairs(more), {kSmallEmbedding, {"rope_freqs.weight", {8}, 0, 768}}, 800);
    std::memcpy(bytes.data() + bytes.size() - 32, values.data(), 32);
    return bytes;
  };
  const auto source = ModelSource::Open(dir_.Write("model.gguf", file(factors, {})));
  ASSERT_TRUE(source.ok()) << source.status();
  const RopeScaling scaling = ReadModelConfig(*source)->rope_scaling;
  EXPECT_EQ(scaling.type, RopeScaling::Type::kLlama3);
  EXPECT_EQ(scaling.factor, 32.0);
  EXPECT_EQ(scaling.low_freq_factor, 1.0);
  EXPECT_EQ(scaling.high_freq_factor, 4.0);
  EXPECT_EQ(scaling.original_max_position_embeddings, 8192);

  const auto part = [&](uint32_t number, const std::vector<std::string>& pairs) {
    std::vector<std::string> all = pairs;
    all.push_back(IntPair("split.count", 2));
    all.push_back(IntPair("split.no", number));
    return FileOf(all, {{"rope_freqs.weight", {8}, 0, 0}}, 32);
  };
  const std::string first = dir_.Write("m-00001-of-00002.gguf", part(0, SmallPairs()));
  dir_.Write("m-00002-of-00002.gguf", part(1, {}));
  EXPECT_THAT(std::string(ModelSource::Open(first).status().message()),
              HasSubstr("m-00002-of-00002.gguf: tensor rope_freqs.weight is in an earlier part"));

  std::vector<float> others = factors;
  others[4] = 3.3f;
  EXPECT_THAT(Error(file(others, {})), HasSubstr("does not hold the factors of Llama 3's scaling"));
  others[4] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Error(file(others, {})), HasSubstr("does not hold the factors of Llama 3's scaling"));
  EXPECT_THAT(Error(file(factors, {Pair("llama.rope.scaling.factor", 6, Bytes(2.0f))})),
              HasSubstr("rope.scaling.type and tensor rope_freqs.weight together"));
}

TEST_F(GgufTest, RopeScalingIsLinearWithoutType) {
  const auto source = ModelSource::Open(
      dir_.Write("model.gguf", SmallFile({Pair("llama.rope.scaling.factor", 6, Bytes(4.0f))})));
  ASSERT_TRUE(source.ok()) << source.status();
  const RopeScaling scaling = ReadModelConfig(*source)->rope_scaling;
  EXPECT_EQ(scaling.type, RopeScaling::Type::kLinear);
  EXPECT_EQ(scaling.factor, 4.0);
}

TEST_F(GgufTest, ContradictoryMetadataAreRejected) {
  EXPECT_EQ(Error(SmallFile()), "");
  EXPECT_THAT(Error(SmallFile({TextPair("general.type", "adapter")})),
              HasSubstr("general.type: \"adapter\", not \"model\""));
  EXPECT_THAT(Error(SmallFile({IntsPair("tokenizer.ggml.token_type", {1, 1, 99, 1, 3, 3})})),
              HasSubstr("token 2 has type 99, not in [1, 6]"));
  EXPECT_THAT(Error(SmallFile({TextsPair("tokenizer.ggml.merges", {"a b", "b a", "a b"})})),
              HasSubstr("\"a b\" occurs twice"));
  EXPECT_THAT(
      Error(SmallFile({TextsPair("tokenizer.ggml.tokens", {"a", "b", "c", "d", "e", "f", "g"}),
                       IntsPair("tokenizer.ggml.token_type", {1, 1, 1, 1, 3, 3, 1})})),
      HasSubstr("7 tokens for the 6 rows of token_embd.weight"));
}

TEST_F(GgufTest, MetadataOfPiecesAreChecked) {
  const auto error = [&](const std::vector<std::string>& more) {
    std::vector<std::string> pairs = more;
    pairs.push_back(TextPair("tokenizer.ggml.model", "llama"));
    return Error(SmallFile(pairs));
  };
  const std::string no_prefix = Pair("tokenizer.ggml.add_space_prefix", 7, Bytes<uint8_t>(0));
  const auto scores = [](const std::vector<float>& values) {
    std::string list = Bytes<uint32_t>(6) + Bytes<uint64_t>(values.size());
    for (const float value : values) list += Bytes(value);
    return Pair("tokenizer.ggml.scores", 9, list);
  };
  EXPECT_EQ(error({no_prefix, scores({-2, -3, -0.f, -1, 0, 0})}), "");
  EXPECT_THAT(error({no_prefix}), HasSubstr("tokenizer.ggml.scores: missing"));
  EXPECT_THAT(error({no_prefix, scores({1, 2})}), HasSubstr("2 scores for 6 tokens"));
  EXPECT_THAT(error({no_prefix, scores({0, 0, 0, 0, 0, std::numeric_limits<float>::infinity()})}),
              HasSubstr("that of token 5 is not finite"));
  EXPECT_EQ(error({scores({-2, -3, -0.f, -1, 0, 0})}), "");
  EXPECT_THAT(
      error({no_prefix, Pair("tokenizer.ggml.remove_extra_whitespaces", 7, Bytes<uint8_t>(1))}),
      HasSubstr("remove_extra_whitespaces: \"true\" is not supported"));
  EXPECT_THAT(error({no_prefix, TextPair("tokenizer.ggml.precompiled_charsmap", "x")}),
              HasSubstr("precompiled_charsmap: \"a normalizer\" is not supported; none is"));
}

/// What llama.cpp knows of Gemma 3 rather than its files.
TEST_F(GgufTest, Gemma3TakesWhatLlamaCppKnows) {
  const auto read = [&](const std::vector<std::string>& more) {
    std::vector<std::string> pairs = {TextPair("general.architecture", "gemma3")};
    for (const std::string& pair : SmallPairs()) {
      std::string renamed = pair;
      const size_t at = renamed.find("llama.");
      if (at == 8) renamed = Bytes<uint64_t>(pair[0] + 1) + "gemma3." + pair.substr(8 + 6);
      if (!renamed.starts_with(Text("general.architecture"))) pairs.push_back(renamed);
    }
    pairs.insert(pairs.end(), more.begin(), more.end());
    return ModelSource::Open(dir_.Write("model.gguf", FileOf(pairs, {kSmallEmbedding}, 768)));
  };
  const auto all_full = read({});
  ASSERT_TRUE(all_full.ok()) << all_full.status();
  const auto config = ReadModelConfig(*all_full);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->architecture, "Gemma3ForCausalLM");
  EXPECT_TRUE(config->windows.empty());
  EXPECT_EQ(config->attention_scale, 0.25);
  EXPECT_EQ(config->rope_theta, 500000.0);

  const auto windowed = read({IntPair("gemma3.attention.sliding_window", 64),
                              IntPair("gemma3.attention.sliding_window_pattern", 2),
                              Pair("gemma3.rope.freq_base_swa", 6, Bytes(2000.0f)),
                              TextPair("gemma3.rope.scaling.type", "linear"),
                              Pair("gemma3.rope.scaling.factor", 6, Bytes(8.0f))});
  ASSERT_TRUE(windowed.ok()) << windowed.status();
  const auto second = ReadModelConfig(*windowed);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(second->windows, ElementsAre(64));
  EXPECT_EQ(second->window_rope_theta, 2000.0);
  EXPECT_EQ(second->rope_scaling.factor, 8.0);

  const auto capped = read({Pair("gemma3.final_logit_softcapping", 6, Bytes(30.0f))});
  EXPECT_THAT(std::string(capped.status().message()),
              HasSubstr("gemma3.final_logit_softcapping: not supported: it may change the result"));
}

TEST_F(GgufTest, MetadataThatIsNotKnownIsRejected) {
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string file = LlamaBytes();
    const size_t at = file.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    EXPECT_EQ(from.size(), to.size());
    return Error(file.replace(at, from.size(), to));
  };
  EXPECT_THAT(changed(Text("llama"), Text("grogu")),
              HasSubstr("\"grogu\" is not supported; llama, qwen2, qwen3, qwen35, qwen2moe"));
  EXPECT_THAT(changed("gpt-2", "gpt-9"), HasSubstr("\"gpt-9\" is not supported; qwen2"));
  EXPECT_THAT(changed("gpt2", "bert"), HasSubstr("\"bert\" is not supported"));
  EXPECT_THAT(changed("llama.block_count", "llama.blockXcount"),
              HasSubstr("llama.blockXcount: not supported: it may change the result"));
  EXPECT_THAT(changed("tokenizer.ggml.merges", "tokenizer.ggml.mergeX"),
              HasSubstr("tokenizer.ggml.merges: missing"));
  EXPECT_THAT(changed("abc", "ab\xFF"), HasSubstr("token 91 is not UTF-8"));
}

/// Truncated at every length, and with any byte changed: an error or a model, never a crash.
TEST_F(GgufTest, MutatedFilesEndInAnErrorOrAModel) {
  const std::string good = LlamaBytes();
  std::mt19937 random(11);
  const size_t header = good.find("blk.0.") + 2000;
  for (size_t size = 0; size < header; size += 1 + random() % 40) {
    EXPECT_NE(Error(good.substr(0, size)), "") << size;
  }
  for (int i = 0; i < 300; ++i) {
    std::string file = good;
    for (int k = 0; k < 1 + i % 3; ++k) {
      file[random() % header] = static_cast<char>(random());
    }
    Error(file);
  }
}

TEST_F(GgufTest, ChangedFileIsNoticed) {
  const std::string path = dir_.Write("m.gguf", LlamaBytes());
  const auto source = ModelSource::Open(path);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_TRUE(source->CheckUnchanged().ok());
  dir_.Write("m.gguf", LlamaBytes() + "x");
  EXPECT_THAT(std::string(source->CheckUnchanged().message()), HasSubstr("has changed"));
  EXPECT_TRUE(absl::IsNotFound(ModelSource::Open(dir_.Join("none.gguf")).status()));
}

}  // namespace
}  // namespace shortlist

#include "text/tokenizer.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/text/sentencepiece/oracle.h"
#include "tests/text/test_util.h"

namespace shortlist {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::unique_ptr<Tokenizer> Open(const std::string& model, const std::string& config = "") {
  auto tokenizer = OpenBytes(model, config);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

std::string Error(const std::string& model, const std::string& config) {
  const auto tokenizer = OpenBytes(model, config);
  EXPECT_EQ(tokenizer.status().code(), absl::StatusCode::kInvalidArgument) << config;
  return std::string(tokenizer.status().message());
}

std::vector<int32_t> RawIds(const absl::StatusOr<std::vector<TokenId>>& ids) {
  EXPECT_TRUE(ids.ok()) << ids.status();
  std::vector<int32_t> raw;
  for (const TokenId id : *ids) raw.push_back(Raw(id));
  return raw;
}

// Ids: 0 <unk>, 1 <s>, 2 </s>, 3 space, 4 a, 5 b, 6 space with a.
std::string AbModel(bool add_dummy_prefix = true) {
  return SmallModel(Piece("\u2581") + Piece("a") + Piece("b") + Piece("\u2581a"), add_dummy_prefix);
}

TEST(TokenizerTest, BosFollowsCheckpoint) {
  EXPECT_THAT(RawIds(Open(AbModel())->Encode("ab")), ElementsAre(1, 6, 5));
  EXPECT_THAT(RawIds(Open(AbModel(), R"({"add_bos_token": false})")->Encode("ab")),
              ElementsAre(6, 5));
  EXPECT_THAT(RawIds(Open(AbModel(), R"({"add_bos_token": null})")->Encode("ab")),
              ElementsAre(6, 5));
  EXPECT_THAT(RawIds(Open(AbModel(), R"({"add_eos_token": true})")->Encode("ab")),
              ElementsAre(1, 6, 5, 2));
  EXPECT_THAT(RawIds(Open(AbModel(), R"({"bos_token": null})")->Encode("ab")), ElementsAre(6, 5));
  EXPECT_THAT(RawIds(Open(AbModel(), R"({"bos_token": {"content": "</s>"}})")->Encode("ab")),
              ElementsAre(2, 6, 5));
  EXPECT_THAT(RawIds(Open(AbModel(/*add_dummy_prefix=*/false))->Encode("ab")),
              ElementsAre(1, 4, 5));
  EXPECT_THAT(RawIds(Open(AbModel(/*add_dummy_prefix=*/false))->Encode("")), ElementsAre(1));
}

TEST(TokenizerTest, RejectsConfigurationsByName) {
  EXPECT_THAT(Error(AbModel(), R"({"add_bos_token": "yes"})"), HasSubstr("add_bos_token"));
  EXPECT_THAT(Error(AbModel(), R"({"bos_token": "<start>"})"),
              HasSubstr("bos_token \"<start>\" is not a control piece"));
  EXPECT_THAT(Error(AbModel(), R"({"eos_token": "a"})"),
              HasSubstr("eos_token \"a\" is not a control"));
  EXPECT_THAT(Error(AbModel(), R"({"eos_token": 7})"), HasSubstr("eos_token is not a string"));
  EXPECT_THAT(Error(AbModel(), R"({"bos_token": null, "add_bos_token": true})"),
              HasSubstr("there is no BOS token"));
  EXPECT_THAT(Error(AbModel(), R"({"eos_token": null, "add_eos_token": true})"),
              HasSubstr("there is no EOS token"));
  EXPECT_THAT(Error(AbModel(), R"({"tokenizer_class": "T5Tokenizer"})"), HasSubstr("T5Tokenizer"));
  EXPECT_THAT(Error(AbModel(), R"({"add_prefix_space": false})"), HasSubstr("add_prefix_space"));
  EXPECT_THAT(Error(AbModel(), R"({"added_tokens_decoder": {"7": {"content": "<|im_end|>"}}})"),
              HasSubstr("has id 7, not in [0, 7)"));
  EXPECT_THAT(Error(AbModel(), R"({"added_tokens_decoder": {"x": 1}})"), HasSubstr("id x"));
  EXPECT_THAT(Error(AbModel(), R"({"added_tokens_decoder": {"5": {"content": "<|im_end|>"}}})"),
              HasSubstr("\"<|im_end|>\" has id 5, which is \"b\" in tokenizer.model"));
  EXPECT_THAT(Error(AbModel(), R"({"pad_token": "[PAD]"})"),
              HasSubstr("pad_token \"[PAD]\" is not a piece of tokenizer.model"));
  EXPECT_THAT(Error(AbModel(), R"({"additional_special_tokens": ["<s>", "<|im_start|>"]})"),
              HasSubstr("\"<|im_start|>\" is not a piece of tokenizer.model"));
  EXPECT_TRUE(OpenBytes(AbModel(), R"({"pad_token": "<unk>", "mask_token": "a"})").ok());
  EXPECT_THAT(Error(AbModel(), "[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(Error(AbModel(), "{"), HasSubstr("tokenizer_config.json"));
  EXPECT_TRUE(OpenBytes(AbModel(), R"({"tokenizer_class": "LlamaTokenizerFast"})").ok());
  EXPECT_THAT(RawIds(Open(AbModel(), R"({"tokenizer_class": "GemmaTokenizer"})")->Encode("ab")),
              ElementsAre(1, 6, 5));
  EXPECT_TRUE(OpenBytes(AbModel(), R"({"added_tokens_decoder": {"2": {"content": "</s>"}}})").ok());
}

TEST(TokenizerTest, AddedTokensOutsideTheModelAreRejected) {
  const auto dir = FreshDir();
  std::ofstream(dir / "tokenizer.model") << AbModel();
  const auto error = [&](const char* name, const std::string& contents) {
    std::ofstream(dir / name) << contents;
    const auto tokenizer = OpenTokenizer(ModelSource::OfDirectory(dir.string()));
    std::filesystem::remove(dir / name);
    return tokenizer.ok() ? "" : std::string(tokenizer.status().message());
  };
  EXPECT_EQ(error("added_tokens.json", R"({"</s>": 2})"), "");
  EXPECT_THAT(error("added_tokens.json", R"({"<|im_end|>": 7})"),
              HasSubstr("added_tokens.json: added token \"<|im_end|>\" has id 7, not in [0, 7)"));
  EXPECT_THAT(error("added_tokens.json", R"({"<|im_end|>": "7"})"), HasSubstr("no whole number"));
  EXPECT_EQ(error("special_tokens_map.json", R"({"pad_token": "<unk>"})"), "");
  EXPECT_THAT(error("special_tokens_map.json", R"({"pad_token": "[PAD]"})"),
              HasSubstr("pad_token \"[PAD]\" is not a piece of tokenizer.model"));
}

TEST(TokenizerTest, MissingAndDamagedFilesAreNamed) {
  EXPECT_EQ(OpenTokenizer(ModelSource::OfDirectory("/no/such/dir")).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(
      std::string(OpenTokenizer(ModelSource::OfDirectory("/no/such/dir")).status().message()),
      HasSubstr("/no/such/dir/tokenizer.model"));
  EXPECT_THAT(Error("", ""), HasSubstr("tokenizer.model: empty file"));
  EXPECT_THAT(Error("nonsense", ""), HasSubstr("tokenizer.model: not a SentencePiece model"));

  const auto dir = FreshDir();
  std::ofstream(dir / "tokenizer.model") << "x";
  std::filesystem::resize_file(dir / "tokenizer.model", (int64_t{64} << 20) + 1);
  EXPECT_THAT(std::string(OpenTokenizer(ModelSource::OfDirectory(dir.string())).status().message()),
              HasSubstr("67108865 bytes, more than the 67108864"));
  std::filesystem::remove_all(dir);
}

TEST(TokenizerTest, DanglingConfigurationIsNamed) {
  const auto dir = FreshDir();
  std::ofstream(dir / "tokenizer.model", std::ios::binary) << AbModel();
  std::filesystem::create_symlink(dir / "nowhere", dir / "tokenizer_config.json");
  const absl::Status status = OpenTokenizer(ModelSource::OfDirectory(dir.string())).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tokenizer_config.json: a symbolic link"));
  std::filesystem::remove_all(dir);
}

TEST(TokenizerTest, ErrorsShortenLongInput) {
  const std::string name(100'000, 'x');
  for (const std::string& config :
       {R"({"bos_token": ")" + name + R"("})", R"({"tokenizer_class": ")" + name + R"("})",
        R"({"added_tokens_decoder": {"7": {"content": ")" + name + R"("}}})"}) {
    EXPECT_LT(Error(AbModel(), config).size(), 500u);
  }
}

TEST(TokenizerTest, InvalidUtf8NamesTheByte) {
  const auto tokenizer = Open(AbModel());
  for (const std::string bad :
       {"ab\xFF", "ab\xC0\x80", "ab\xED\xA0\x80", "ab\xF4\x90\x80\x80", "ab\xE4"}) {
    const auto ids = tokenizer->Encode(bad);
    EXPECT_EQ(ids.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(ids.status().message()), HasSubstr("not valid UTF-8 at byte 2"));
  }
  const auto long_text = tokenizer->Encode(std::string((16 << 20) + 1, 'a'));
  EXPECT_THAT(std::string(long_text.status().message()), HasSubstr("16777217 bytes"));
}

TEST(TokenizerTest, ControlSpellingsInTextAreText) {
  for (const std::string& path : TokenizerModels()) {
    SCOPED_TRACE(path);
    const auto tokenizer = Open(ReadAll(path), R"({"add_bos_token": false})");
    std::string text = "a";
    for (int32_t id = 0; id < tokenizer->size(); ++id) {
      text += std::string(tokenizer->ControlPiece(TokenId{id}));
    }
    for (const int32_t id : RawIds(tokenizer->Encode(text + "</s> <s>"))) {
      EXPECT_FALSE(tokenizer->IsSpecial(TokenId{id})) << id;
    }
  }
}

TEST(TokenizerTest, ControlSpellingsAreTokensOnRequest) {
  const auto ids = [](const std::string& config, const std::string& text,
                      std::vector<ByteRange> literal = {}) {
    const auto tokenizer = OpenBytes(
        SmallModel(Piece("\u2581") + Piece("a") + Piece("<") + Piece("s") + Piece(">")), config);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
    const auto encoded =
        (*tokenizer)
            ->Encode(text,
                     {.add_special_tokens = false, .parse_special = true, .literal = literal});
    EXPECT_TRUE(encoded.ok()) << encoded.status();
    return encoded.value_or(std::vector<TokenId>());
  };
  EXPECT_EQ(ids("", "a<s>a<s> a"), ToTokenIds({3, 4, 1, 4, 1, 3, 4}));
  EXPECT_EQ(ids("", "a<s>a<s> a", {{5, 6}}), ToTokenIds({3, 4, 1, 4, 5, 6, 7, 3, 4}));
  EXPECT_EQ(ids(R"({"legacy": true})", "<s>a<s> a"), ToTokenIds({1, 3, 4, 1, 3, 4}));
  const std::string strips =
      R"({"added_tokens_decoder": {"1": {"content": "<s>", "lstrip": true, "rstrip": true}}})";
  EXPECT_EQ(ids(strips, "a <s> a"), ToTokenIds({3, 4, 1, 4}));
}

TEST(TokenizerTest, ControlTokensDoNotRaiseLimit) {
  const auto tokenizer = Open(SmallModel(Piece("a")));
  const std::string half(70'000, 'z');
  const auto ids = tokenizer->Encode(half + "</s>" + half, {.parse_special = true});
  EXPECT_EQ(ids.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(TokenizerTest, TextThatBecomesControlTokenIsRejected) {
  const auto tokenizer = Open(SmallModel(Piece("\u2581") + Piece("@", kControl)));
  EXPECT_EQ(tokenizer->Encode("@").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(TokenizerTest, LongTextsEncode) {
  const auto tokenizer = Open(ReadAll(TokenizerModels().at(0)));
  std::string text;
  while (text.size() < 300'000) text += "lorem ipsum 12345 \u3042";
  const auto ids = tokenizer->Encode(text);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(tokenizer->Decode(*ids), text);
  EXPECT_TRUE(tokenizer->Encode(std::string(300'000, 'a')).ok());
  EXPECT_TRUE(tokenizer->Encode(std::string(300'000, ' ')).ok());
}

TEST(TokenizerTest, DecodeRemovesOnlyAddedSpace) {
  const auto with = Open(AbModel());
  EXPECT_EQ(with->Decode(ToTokenIds({1, 6, 6, 2})), "a a");
  EXPECT_EQ(with->Decode(ToTokenIds({3, 6})), " a");
  EXPECT_EQ(with->Decode(ToTokenIds({0, 6})), " \u2047  a");
  EXPECT_TRUE(with->adds_leading_space());
  const auto without = Open(AbModel(/*add_dummy_prefix=*/false));
  EXPECT_EQ(without->Decode(ToTokenIds({1, 6, 6})), " a a");
  EXPECT_EQ(without->Decode({}), "");
}

TEST(TokenizerTest, UnknownTokenDecodesAsModelDefines) {
  const auto tokenizer = Open(SmallModel(Piece("a"), /*add_dummy_prefix=*/true,
                                         /*trainer=*/Field(44, std::string("?"))));
  EXPECT_EQ(tokenizer->Decode(ToTokenIds({0, 3})), "?a");
  EXPECT_FALSE(tokenizer->IsSpecial(TokenId{0}));
}

/// Random ids whose byte pieces form UTF-8.
std::vector<int> RandomWellFormedIds(std::mt19937& random, const SentencePieceOracle& oracle) {
  std::vector<int> ids;
  for (uint32_t count = random() % 12; count > 0; --count) {
    const int id = static_cast<int>(random() % (random() % 4 == 0 ? 8 : oracle.size()));
    if (oracle.ByteId(0) >= 0 && random() % 3 == 0) {
      for (const char byte : Utf8(RandomCodePoint(random))) {
        ids.push_back(oracle.ByteId(static_cast<uint8_t>(byte)));
      }
    } else if (!oracle.IsByte(id)) {
      ids.push_back(id);
    }
  }
  return ids;
}

TEST(TokenizerTest, DecodesLikeSentencePiece) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const std::string& path : TokenizerModels()) {
    SCOPED_TRACE(path);
    const SentencePieceOracle oracle(path);
    const auto tokenizer = Open(ReadAll(path), R"({"add_bos_token": false})");
    ASSERT_EQ(tokenizer->size(), oracle.size());
    // Pieces that begin with a space, to meet them at the start often.
    std::vector<int> spaced;
    for (int id = 0; id < oracle.size(); ++id) {
      if (tokenizer->TokenBytes(TokenId{id}).starts_with(' ')) spaced.push_back(id);
    }
    for (int round = 0; round < 3000; ++round) {
      std::vector<int> ids = RandomWellFormedIds(random, oracle);
      for (uint32_t count = random() % 3; count > 0; --count) {
        ids.insert(ids.begin(), spaced[random() % spaced.size()]);
      }
      if (random() % 3 == 0) ids.insert(ids.begin(), static_cast<int>(random() % 3));
      ASSERT_EQ(tokenizer->Decode(ToTokenIds(ids)), oracle.Decode(ids))
          << testing::PrintToString(ids);
    }
  }
}

TEST(TokenizerTest, BrokenBytePiecesDecodeLikeSentencePiece) {
  std::mt19937 random(/*seed=*/3);
  int num_compared = 0;
  for (const std::string& path : TokenizerModels()) {
    SCOPED_TRACE(path);
    const SentencePieceOracle oracle(path);
    if (oracle.ByteId(0) < 0) continue;
    const auto tokenizer = Open(ReadAll(path), R"({"add_bos_token": false})");
    const std::string bytes = "a\x80\x9F\xBF\xC0\xC3\xE0\xE5\x8F\xAB\xED\xF0\x90\x98\xF4\xFF";
    for (int round = 0; round < 3000; ++round, ++num_compared) {
      std::vector<int> ids;
      for (uint32_t count = random() % 10; count > 0; --count) {
        const int id = static_cast<int>(random() % oracle.size());
        // A control piece between bytes parts them in SentencePiece.
        const bool is_text = !oracle.IsByte(id) && !tokenizer->IsSpecial(TokenId{id});
        const auto byte = static_cast<uint8_t>(bytes[random() % bytes.size()]);
        ids.push_back(is_text && random() % 4 == 0 ? id : oracle.ByteId(byte));
      }
      ASSERT_EQ(tokenizer->Decode(ToTokenIds(ids)), oracle.Decode(ids))
          << testing::PrintToString(ids);
    }
  }
  EXPECT_GT(num_compared, 0);
}

TEST(TokenizerTest, EncodesLikeSentencePiece) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const std::string& path : TokenizerModels()) {
    SCOPED_TRACE(path);
    const SentencePieceOracle oracle(path);
    const auto tokenizer = Open(ReadAll(path), R"({"add_bos_token": false})");
    for (int round = 0; round < 300; ++round) {
      std::string text;
      for (uint32_t count = random() % 40; count > 0; --count) {
        text += random() % 2 ? std::string("the  int<0x41>\n").substr(random() % 15, random() % 8)
                             : Utf8(RandomCodePoint(random));
      }
      ASSERT_THAT(RawIds(tokenizer->Encode(text)), ElementsAreArray(oracle.Encode(text)));
    }
  }
}

TEST(TokenizerTest, DemoTokenizerRoundTripsEveryText) {
  const auto tokenizer = Open(ReadAll(TokenizerModels().at(0)));
  std::mt19937 random(/*seed=*/1);
  for (int round = 0; round < 500; ++round) {
    std::string text(random() % 3, ' ');
    for (uint32_t count = random() % 20; count > 0; --count) {
      const char32_t c = RandomCodePoint(random);
      // U+2581 comes back as a space: it is how SentencePiece writes one.
      if (c != U'\u2581') text += Utf8(c);
    }
    const auto ids = tokenizer->Encode(text);
    ASSERT_TRUE(ids.ok());
    ASSERT_EQ(tokenizer->Decode(*ids), text);
  }
}

TEST(TokenizerTest, FingerprintFollowsItsDefinition) {
  // <unk> -> " \u2047 ", then the spellings of the control tokens, then " " and "a".
  const auto tokenizer = Open(SmallModel(Piece("\u2581") + Piece("a")));
  std::string bytes;
  for (const std::string& token : {std::string(" \u2047 "), std::string("<s>"), std::string("</s>"),
                                   std::string(" "), std::string("a")}) {
    bytes += std::string{static_cast<char>(token.size()), '\0', '\0', '\0'} + token;
  }
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  char expected[32];
  std::snprintf(expected, sizeof(expected), "fnv1a64:%016llx",
                static_cast<unsigned long long>(hash));
  EXPECT_EQ(tokenizer->Fingerprint(), expected);
}

TEST(TokenizerTest, FingerprintDistinguishesTokenizers) {
  std::map<std::string, std::string> path_of;
  for (const std::string& path : TokenizerModels()) {
    const std::string fingerprint =
        Open(ReadAll(path), R"({"add_bos_token": false})")->Fingerprint();
    EXPECT_TRUE(path_of.emplace(fingerprint, path).second) << path << " " << path_of[fingerprint];
  }
  EXPECT_NE(Open(SmallModel(Piece("a") + Piece("b")))->Fingerprint(),
            Open(SmallModel(Piece("b") + Piece("a")))->Fingerprint());
  EXPECT_NE(Open(SmallModel(Piece("ab") + Piece("c")))->Fingerprint(),
            Open(SmallModel(Piece("a") + Piece("bc")))->Fingerprint());
}

TEST(TokenizerTest, ShippedListHasDemoFingerprint) {
  const auto root = std::filesystem::path(SHORTLIST_SOURCE_DIR);
  const auto tokenizer =
      OpenTokenizer(ModelSource::OfDirectory((root / "models/demo/target").string()));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const auto list = nlohmann::json::parse(ReadAll((root / "vocab_lists/demo.vocab.json").string()));
  EXPECT_EQ(list["fingerprint"], (*tokenizer)->Fingerprint());
  EXPECT_EQ(list["vocab_size"], (*tokenizer)->size());
  const std::vector<int32_t> pinned = list["pinned"];
  EXPECT_EQ(pinned.size(), 3u);  // not the bytes: they are ranked as all else is
  for (int32_t id = 0; id < (*tokenizer)->size(); ++id) {
    if ((*tokenizer)->IsSpecial(TokenId{id})) {
      EXPECT_THAT(pinned, Contains(id));
    }
  }
}

TEST(TokenizerTest, AnyThreadMayEncode) {
  const auto tokenizer = Open(ReadAll(TokenizerModels().at(0)));
  const auto expected = tokenizer->Encode("the quick brown fox");
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong{0};
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        const auto ids = tokenizer->Encode("the quick brown fox");
        if (*ids != *expected || tokenizer->Decode(*ids) != "the quick brown fox") ++num_wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

TEST(TokenizerTest, SharedTokenizersArePresent) {
  if (TokenizerModels().size() < 5) {
    GTEST_SKIP() << "no tokenizers under " << SharedData() << ": only the demo model was tested";
  }
}

}  // namespace
}  // namespace shortlist

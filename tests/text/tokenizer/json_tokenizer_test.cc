#include "text/tokenizer/json_tokenizer.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/text/test_util.h"

namespace shortlist {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;

/// Byte-level BPE over a, b and the space; "<e>" is special, "<t>" is not.
json Small() {
  return json::parse(R"({
    "added_tokens": [{"id": 5, "content": "<e>", "special": true, "normalized": false,
                      "single_word": false, "lstrip": false, "rstrip": false},
                     {"id": 6, "content": "<t>", "special": false, "normalized": false,
                      "single_word": false, "lstrip": false, "rstrip": false}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
    "post_processor": null,
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4},
              "merges": ["a b", ["Ġ", "ab"]]}})");
}

absl::StatusOr<std::unique_ptr<Tokenizer>> Parse(const json& document,
                                                 const json& config = json::object()) {
  return ParseJsonTokenizer(document, config);
}

std::string Error(const json& document, const json& config = json::object()) {
  const auto tokenizer = Parse(document, config);
  EXPECT_EQ(tokenizer.status().code(), absl::StatusCode::kInvalidArgument) << document;
  return std::string(tokenizer.status().message());
}

json With(const char* pointer, const json& value) {
  json document = Small();
  document[json::json_pointer(pointer)] = value;
  return document;
}

std::vector<int> Ids(const Tokenizer& tokenizer, std::string_view text,
                     const EncodeOptions& options = {}) {
  const auto ids = tokenizer.Encode(text, options);
  EXPECT_TRUE(ids.ok()) << ids.status();
  std::vector<int> raw;
  for (const TokenId id : *ids) raw.push_back(Raw(id));
  return raw;
}

TEST(JsonTokenizerTest, ErrorsShortenLongInput) {
  const std::string name(100'000, 'x');
  for (const char* member : {"/normalizer", "/pre_tokenizer", "/decoder", "/post_processor"}) {
    EXPECT_LT(Error(With(member, {{"type", name}})).size(), 500u) << member;
  }
  EXPECT_LT(Error(With("/model/type", name)).size(), 500u);
  EXPECT_LT(Error(With("/pre_tokenizer",
                       {{"type", "Split"}, {"pattern", {{"String", "a"}}}, {"behavior", name}}))
                .size(),
            500u);
  EXPECT_LT(Error(With("/pre_tokenizer", {{"type", "Metaspace"}, {"prepend_scheme", name}})).size(),
            500u);
}

TEST(JsonTokenizerTest, TypedSpecialTokensStayText) {
  const auto tokenizer = Parse(Small());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_THAT(Ids(**tokenizer, "ab<e> ab<t>"),
              ElementsAre(3, 4, 6));  // "<", "e", ">" have no token
  EXPECT_THAT(Ids(**tokenizer, "ab<e> ab<t>", {.parse_special = true}), ElementsAre(3, 5, 4, 6));
  EXPECT_EQ((*tokenizer)->size(), 7);
  EXPECT_TRUE((*tokenizer)->IsSpecial(TokenId{5}));
  EXPECT_EQ((*tokenizer)->ControlPiece(TokenId{5}), "<e>");
  EXPECT_EQ((*tokenizer)->TokenBytes(TokenId{4}), " ab");
  EXPECT_EQ((*tokenizer)->Decode(ToTokenIds({4, 5, 6})), " ab<t>");
}

TEST(JsonTokenizerTest, ConfigurationNamesAndAddsTokens) {
  const auto tokenizer =
      Parse(Small(), json::parse(R"({"bos_token": "<e>", "eos_token": {"content": "<x>"},
               "added_tokens_decoder": {"9": {"content": "<x>", "special": true}}})"));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->bos(), TokenId{5});
  EXPECT_EQ((*tokenizer)->eos(), TokenId{9});
  EXPECT_EQ((*tokenizer)->size(), 10);
  EXPECT_EQ((*tokenizer)->TokenBytes(TokenId{8}), "");  // a gap
  EXPECT_TRUE((*tokenizer)->IsSpecial(TokenId{8}));
}

/// As transformers has it (tests/reference/make_tokenizer_classes_golden.py).
TEST(JsonTokenizerTest, BosAndEosMatchReferenceClasses) {
  const json golden = json::parse(ReadAll(std::string(SHORTLIST_SOURCE_DIR) +
                                          "/tests/reference/golden/tokenizer_classes.json"));
  json document = golden["tokenizer"];
  for (const json& row : golden["rows"]) {
    SCOPED_TRACE(row.dump());
    document["post_processor"] =
        golden["post_processors"][row["post_processor"].get<std::string>()];
    const auto tokenizer = Parse(document, row["config"]);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    const std::vector<int> ids = Ids(**tokenizer, "text");
    // Qwen 2's class has no unknown token: characters that are no tokens give no ids.
    EXPECT_EQ(!ids.empty() && ids.front() == 1, row["bos"].get<bool>());
    EXPECT_EQ(!ids.empty() && ids.back() == 2, row["eos"].get<bool>());
    EXPECT_THAT(Ids(**tokenizer, "text", {.add_special_tokens = false}), Each(Gt(2)));
  }
}

// tokenizers 0.23.
TEST(JsonTokenizerTest, MarksMergeAcrossDroppedCharacters) {
  const json document = {{"model",
                          {{"type", "BPE"},
                           {"vocab", {{"▁", 0}, {"▁▁", 1}, {"c", 2}}},
                           {"merges", json::array({json::array({"▁", "▁"})})}}}};
  const auto tokenizer = ParseJsonTokenizer(document, json::object(), json::object());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_THAT(Ids(**tokenizer, "▁\t▁\nc"), ElementsAre(1, 2));
}

TEST(JsonTokenizerTest, IdsOfClassMustExist) {
  json document = Small();
  document["model"] = {{"type", "WordPiece"}, {"unk_token", "a"}, {"vocab", {{"a", 0}, {"b", 1}}}};
  document["added_tokens"] = json::array();
  const json config = {
      {"tokenizer_class", "BertTokenizer"}, {"cls_token", nullptr}, {"sep_token", nullptr}};
  // transformers takes ids 2 and 3.
  const auto tokenizer = ParseJsonTokenizer(document, config, {{"vocab_size", 2}});
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_THAT((*tokenizer)->warnings(), Contains(HasSubstr("puts cls_token, sep_token before")));
  EXPECT_THAT(Ids(**tokenizer, "a"), ElementsAre(0));

  document["model"] = {
      {"type", "Unigram"}, {"unk_id", 0}, {"vocab", json::array({json::array({"a", 0.0})})}};
  const auto refused =
      ParseJsonTokenizer(document, {{"tokenizer_class", "T5Tokenizer"}}, json::object());
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("takes id 2 as the unknown token"));
}

TEST(JsonTokenizerTest, GapBeforeAddedTokenIsWarning) {
  json document = Small();
  document["added_tokens"] = json::array({{{"id", 9}, {"content", "<x>"}}});
  const auto tokenizer = ParseJsonTokenizer(document, json::object(), json::object());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_THAT((*tokenizer)->warnings(), Contains(HasSubstr("has id 9, but the next free id is")));
}

TEST(JsonTokenizerTest, CodeLlamaWithoutBosHasNone) {
  // Its own "<s>" would have id 7, for which the model has no embedding.
  const auto tokenizer =
      ParseJsonTokenizer(Small(), {{"tokenizer_class", "CodeLlamaTokenizer"}}, {{"vocab_size", 7}});
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_THAT(Ids(**tokenizer, "a"), ElementsAre(0));
  EXPECT_THAT((*tokenizer)->warnings(),
              Contains(HasSubstr("puts bos_token before or after a text")));
}

TEST(JsonTokenizerTest, RejectsByName) {
  EXPECT_THAT(Error(json::array()), HasSubstr("not a JSON object"));
  EXPECT_THAT(Error(json::object()), HasSubstr("no \"model\""));
  EXPECT_THAT(Error(With("/model/type", "Markov")), HasSubstr("model: type \"Markov\""));
  EXPECT_THAT(Error(With("/model/type", 3)), HasSubstr("\"type\" is not a string"));
  EXPECT_THAT(Error(With("/model/vocab", json::array())), HasSubstr("\"vocab\" is not an object"));
  EXPECT_THAT(Error(With("/model/vocab/a", -1)),
              HasSubstr("is -1, not an integer in [0, 4194303]"));
  EXPECT_THAT(Error(With("/model/vocab/a", uint64_t{1} << 63)), HasSubstr("9223372036854775808"));
  EXPECT_THAT(Error(With("/model/vocab/a", 0.5)), HasSubstr("0.5, not an integer"));
  EXPECT_THAT(Error(With("/model/vocab/a", "0")), HasSubstr("\"0\", not an integer"));
  EXPECT_THAT(Error(With("/model/vocab/b", 0)), HasSubstr("both have id 0"));
  EXPECT_THAT(Error(With("/model/vocab/zz", 9)),  // added tokens are 5 and 6
              HasSubstr("no token has id 7, although ids go to 9 (2 are missing)"));
  EXPECT_THAT(Error(With("/model/merges", "a b")), HasSubstr("\"merges\" is not an array"));
  EXPECT_THAT(Error(With("/model/merges/0", "a")), HasSubstr("merge 0 is not a pair"));
  EXPECT_THAT(Error(With("/model/merges/0", "a b c")), HasSubstr("merge 0 is not a pair"));
  EXPECT_THAT(Error(With("/model/merges/1", {"a", "a"})), HasSubstr("\"aa\" is not in the vocab"));
  EXPECT_THAT(Error(With("/model/unk_token", "<u>")), HasSubstr("unk_token \"<u>\" is not in"));
  EXPECT_THAT(Error(With("/model/dropout", 0.1)), HasSubstr("dropout"));
  EXPECT_THAT(Error(With("/added_tokens/0/id", 0)), HasSubstr("\"<e>\" has id 0, which is \"a\""));
  EXPECT_THAT(Error(With("/added_tokens/0/id", 6)),
              HasSubstr("\"<t>\" has id 6, which is \"<e>\""));
  EXPECT_THAT(Error(With("/added_tokens/0/id", 4194304)), HasSubstr("4194304, not an integer in"));
  EXPECT_THAT(Error(With("/added_tokens/0/content", "")), HasSubstr("0 bytes, not in [1, 1024]"));
  EXPECT_THAT(Error(With("/added_tokens/0/content", "a")), HasSubstr("the vocabulary gives it 0"));
  EXPECT_THAT(Error(With("/added_tokens/0/lstrip", 1)), HasSubstr("lstrip"));
  EXPECT_THAT(Error(With("/normalizer", {{"type", "Magic"}})),
              HasSubstr("normalizer type \"Magic\""));
  EXPECT_THAT(Error(With("/pre_tokenizer", {{"type", "Magic"}})), HasSubstr("pre_tokenizer: type"));
  for (const char* kind : {"String", "Regex"}) {
    const json replace = {{"type", "Replace"}, {"pattern", {{kind, ""}}}, {"content", "-"}};
    EXPECT_THAT(Error(With("/normalizer", replace)),
                HasSubstr("normalizer: Replace with an empty pattern"));
    EXPECT_THAT(
        Error(With("/normalizer", {{"type", "Sequence"}, {"normalizers", json::array({replace})}})),
        HasSubstr("normalizer: Replace with an empty pattern"));
  }
  for (const char* delimiter : {"", "ab"}) {
    EXPECT_THAT(
        Error(With("/pre_tokenizer", {{"type", "CharDelimiterSplit"}, {"delimiter", delimiter}})),
        HasSubstr("is not one character"));
  }
  EXPECT_THAT(Error(With("/decoder", {{"type", "CTC"}})), HasSubstr("decoder: type \"CTC\""));
  // Steps that see the text of all tokens at once.
  const auto after = [](const char* first, json step) {
    return With("/decoder", {{"type", "Sequence"}, {"decoders", {{{"type", first}}, step}}});
  };
  for (const char* first : {"ByteLevel", "Fuse"}) {
    const json replace = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "b"}};
    EXPECT_THAT(Error(after(first, replace)),
                HasSubstr(std::string("type \"Replace\" after ") + first + " is not supported"));
    const json strip = {{"type", "Strip"}, {"content", "a"}, {"start", 1}, {"stop", 0}};
    EXPECT_THAT(Error(after(first, strip)),
                HasSubstr(std::string("after ") + first + " is not supported"));
  }
  // A small file of many references to a long token.
  const json token = {{"SpecialToken", {{"id", "t"}}}};
  json single(200, token);
  single.push_back({{"Sequence", {{"id", "A"}}}});
  const json bomb = {{"type", "TemplateProcessing"},
                     {"single", single},
                     {"special_tokens", {{"t", {{"ids", json(200, 0)}}}}}};
  EXPECT_THAT(Error(With("/post_processor", bomb)),
              HasSubstr("post_processor: a template of more than 1000 tokens"));
  EXPECT_THAT(Error(With("/post_processor", {{"type", "Magic"}})),
              HasSubstr("post_processor: type"));
  EXPECT_THAT(Error(With("/post_processor",
                         {{"type", "BertProcessing"}, {"sep", {"x", 7}}, {"cls", {"y", 0}}})),
              HasSubstr("token id 7 not in [0, 7)"));
  EXPECT_THAT(
      Error(With("/pre_tokenizer",
                 {{"type", "Split"}, {"pattern", {{"Regex", "(a"}}}, {"behavior", "Isolated"}})),
      HasSubstr("missing closing parenthesis"));
  const auto no_room = ParseJsonTokenizer(Small(), {{"bos_token", "<none>"}}, {{"vocab_size", 7}});
  EXPECT_THAT(std::string(no_room.status().message()),
              HasSubstr("bos_token \"<none>\" is no token"));
  EXPECT_THAT(Error(Small(), {{"added_tokens_decoder", {{"x", {{"content", "y"}}}}}}),
              HasSubstr("has id x"));
  EXPECT_THAT(Error(With("/model", json::parse(R"({"type": "Unigram", "vocab": [["a", 0]]})"))),
              HasSubstr("no \"unk_id\""));
  EXPECT_THAT(Error(With("/model",
                         json::parse(R"({"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1})"))),
              HasSubstr("\"unk_id\" is 1"));
  EXPECT_THAT(
      Error(With("/model", json::parse(R"({"type": "Unigram", "vocab": [["a"]], "unk_id": 0})"))),
      HasSubstr("vocab[0] is not a pair"));
  for (const char* type : {"WordPiece", "WordLevel"}) {
    EXPECT_THAT(Error(With("/model", {{"type", type}, {"vocab", {{"a", 0}}}})),
                HasSubstr("no \"unk_token\""));
    EXPECT_THAT(
        Error(With("/model", {{"type", type}, {"vocab", {{"a", 0}}}, {"unk_token", "[UNK]"}})),
        HasSubstr("unk_token \"[UNK]\" is not in the vocabulary"));
  }
}

TEST(JsonTokenizerTest, DecoderThatGrowsTokensIsRejected) {
  const auto steps = [](size_t count, const char* from, const char* to) {
    const json step = {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
    return With("/decoder", {{"type", "Sequence"}, {"decoders", std::vector<json>(count, step)}});
  };
  EXPECT_TRUE(Parse(steps(8, "a", "aa")).ok());  // 256 bytes of one
  EXPECT_THAT(Error(steps(60, "a", "aa")), HasSubstr("decoder: token \"a\" becomes longer than"));
  EXPECT_THAT(Error(steps(101, "a", "b")), HasSubstr("decoder: more than 100 steps"));
}

/// Every member of a tokenizer replaced by every kind of value: an error or a tokenizer, never a
/// crash.
TEST(JsonTokenizerTest, WrongMemberTypesNeverCrash) {
  const json document =
      json::parse(ReadAll(std::string(SHORTLIST_SOURCE_DIR) +
                          "/tests/reference/golden/tokenizers/llama3.json"))["tokenizer"];
  json small = Small();
  for (const char* part : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    small[part] = document[part];
  }
  small["normalizer"] = json::parse(R"({"type": "Sequence", "normalizers": [{"type": "NFC"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "a"},
      {"type": "Precompiled", "precompiled_charsmap": "QAAAAA=="},
      {"type": "Strip", "strip_left": true, "strip_right": true}]})");
  const std::vector<json> values = {
      nullptr, true,          -1,         1e300,         uint64_t{1} << 63, "",
      "x",     json::array(), {"a", "b"}, json::object()};
  const json flat = small.flatten();
  for (const auto& [pointer, unused] : flat.items()) {
    // The member itself, and every one that it is in.
    for (json::json_pointer at(pointer); !at.empty(); at.pop_back()) {
      for (const json& value : values) {
        json damaged = small;
        damaged[at] = value;
        const auto tokenizer = Parse(damaged);
        if (tokenizer.ok()) (*tokenizer)->Encode(" ab<e>\u00e9").IgnoreError();
      }
      json without = small;
      json& parent = without[at.parent_pointer()];
      if (parent.is_object()) parent.erase(at.back());
      Parse(without).IgnoreError();
    }
  }
}

/// tokenizers 0.23: Split at "" or at the empty expression cuts around each character, and Replace
/// of what may be empty puts its content where nothing matches, but not into an empty text.
TEST(JsonTokenizerTest, EmptyMatchesFollowReference) {
  const auto ids = [](json document, const std::string& text) {
    document["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"-", 2}, {"ab", 3}};
    document["model"]["merges"] = {"a b"};
    const auto tokenizer = Parse(document);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
    return Ids(**tokenizer, text);
  };
  for (const char* kind : {"String", "Regex"}) {
    json split = {{"type", "Split"}, {"pattern", {{kind, ""}}}, {"behavior", "Isolated"}};
    EXPECT_THAT(ids(With("/pre_tokenizer", split), "ab"), ElementsAre(0, 1));
    split["behavior"] = "Removed";
    EXPECT_THAT(ids(With("/pre_tokenizer", split), "ab"), ElementsAre(0, 1));
    split["invert"] = true;
    EXPECT_THAT(ids(With("/pre_tokenizer", split), "ab"), ElementsAre());
  }
  const auto replaced = [&](const char* expression, const std::string& text) {
    const json step = {{"type", "Replace"}, {"pattern", {{"Regex", expression}}}, {"content", "-"}};
    return ids(
        With("/normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "Strip"}}, step}}}),
        text);
  };
  EXPECT_THAT(replaced("x*", "axxb"), ElementsAre(2, 0, 2, 1, 2));
  EXPECT_THAT(replaced("(?=b)", "ab"), ElementsAre(0, 2, 1));
  EXPECT_THAT(replaced("x*", " "), ElementsAre());
}

TEST(JsonTokenizerTest, CatastrophicRegexIsError) {
  const auto tokenizer = Parse(
      With("/pre_tokenizer",
           {{"type", "Split"}, {"pattern", {{"Regex", "(a+a+)+[bc]"}}}, {"behavior", "Isolated"}}));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const auto ids = (*tokenizer)->Encode(std::string(100, 'a'));
  EXPECT_EQ(ids.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(JsonTokenizerTest, LongLinesOfEveryFamilyEncode) {
  for (const char* family : {"gpt2", "llama2", "bert", "xlm_r", "clip", "words"}) {
    SCOPED_TRACE(family);
    const json golden =
        json::parse(ReadAll(std::string(SHORTLIST_SOURCE_DIR) +
                            "/tests/reference/golden/tokenizers/" + family + ".json"));
    const auto tokenizer = Parse(golden["tokenizer"]);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    for (const std::string unit :
         {"a", " ", "\n", "ab ", "\u0301", "\u5b57", "<s>", "1", ".", "\t "}) {
      std::string text;
      while (text.size() < 200'000) text += unit;
      EXPECT_TRUE((*tokenizer)->Encode(text).ok()) << unit;
      EXPECT_TRUE((*tokenizer)->Encode(text, {.parse_special = true}).ok()) << unit;
    }
  }
}

TEST(JsonTokenizerTest, AnyThreadMayEncode) {
  const json golden = json::parse(
      ReadAll(std::string(SHORTLIST_SOURCE_DIR) + "/tests/reference/golden/tokenizers/qwen2.json"));
  const auto tokenizer = Parse(golden["tokenizer"]);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 20; ++round) {
        for (size_t i = 0; i < golden["cases"].size(); ++i) {
          const json& row = golden["cases"][(i + 17 * thread) % golden["cases"].size()];
          const auto ids = (*tokenizer)->Encode(row["text"].get_ref<const std::string&>());
          const std::vector<int> expected = row["ids"];
          if (!ids.ok() || *ids != ToTokenIds(expected)) ++num_wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

TEST(OpenTokenizerTest, ChoosesByExistingFiles) {
  const auto dir = FreshDir();
  const auto open = [&] { return OpenTokenizer(ModelSource::OfDirectory(dir.string())); };
  EXPECT_EQ(open().status().code(), absl::StatusCode::kNotFound);
  std::ofstream(dir / "a.tiktoken") << "YQ== 0\nYg== 2\n";
  EXPECT_THAT(std::string(open().status().message()), HasSubstr("no token has id 1"));
  std::ofstream(dir / "a.tiktoken") << "YQ== 0\n";
  EXPECT_THAT(std::string(open().status().message()), HasSubstr("a.tiktoken: 1 ranks"));
  std::ofstream(dir / "b.tiktoken") << "YQ== 0\n";
  EXPECT_THAT(std::string(open().status().message()), HasSubstr("which of them"));
  std::ofstream(dir / "tokenizer.model") << "YQ== 0\nYg== x\n";
  EXPECT_THAT(std::string(open().status().message()),
              HasSubstr("tokenizer.model: line 2 is no token in Base64"));
  std::ofstream(dir / "tokenizer.model") << "YQ== 0\nYQ== 1\n";
  EXPECT_THAT(std::string(open().status().message()), HasSubstr("\"a\" appears twice"));
  std::ofstream(dir / "tokenizer.json") << Small();
  ASSERT_TRUE(open().ok()) << open().status();
  EXPECT_THAT(Ids(**open(), "ab"), ElementsAre(3));
  EXPECT_TRUE(OpenTokenizerFile((dir / "tokenizer.json").string()).ok());
  std::ofstream(dir / "tokenizer.json") << "{";
  EXPECT_THAT(std::string(open().status().message()), HasSubstr("tokenizer.json: not valid JSON"));
  std::filesystem::remove_all(dir);
}

TEST(OpenTokenizerTest, QwenRanksGiveExpectedIds) {
  const auto dir = SharedData() / "tokenizers";
  if (!std::filesystem::exists(dir / "qwen"))
    GTEST_SKIP() << "no tokenizers under " << SharedData();
  const auto tokenizer = OpenTokenizer(ModelSource::OfDirectory((dir / "qwen").string()));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->size(), 151851);
  const std::string marker = "\n__ggml_vocab_test__\n";
  std::string input = ReadAll((dir / "ggml-vocab/ggml-vocab-qwen2.gguf.inp").string());
  std::ifstream output(dir / "ggml-vocab/ggml-vocab-qwen2.gguf.out");
  int num_blocks = 0;
  for (std::string line; std::getline(output, line); ++num_blocks) {
    const size_t end = input.find(marker);
    const std::string text = input.substr(0, end);
    input = end == std::string::npos ? "" : input.substr(end + marker.size());
    std::istringstream numbers(line);
    std::vector<int> expected;
    for (int id = 0; numbers >> id;) expected.push_back(id);
    EXPECT_EQ(Ids(**tokenizer, text), expected) << text;
    EXPECT_EQ((*tokenizer)->Decode(ToTokenIds(expected)), text);
  }
  EXPECT_GT(num_blocks, 40);
}

}  // namespace
}  // namespace shortlist

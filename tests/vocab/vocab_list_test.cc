#include "vocab/vocab_list.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kFingerprint = "fnv1a64:0123456789abcdef";
const VocabTarget kTarget{.vocab_size = 10, .fingerprint = kFingerprint};

absl::StatusOr<VocabList> ReadText(const std::string& text) {
  return ReadVocabList(WriteTemp("list.txt", text), kTarget);
}

absl::StatusOr<VocabList> ReadJson(const std::string& text) {
  return ReadVocabList(WriteTemp("list.vocab.json", text), kTarget);
}

/// A good document with `ids`, `counts` and `pinned` as given.
std::string Document(const std::string& ids, const std::string& counts = "[]",
                     const std::string& pinned = "[]") {
  return std::string(R"({"format": "shortlist-vocab", "version": 1, "vocab_size": 10,)") +
         R"("fingerprint": ")" + kFingerprint + R"(", "source": "s", "ids": )" + ids +
         R"(, "counts": )" + counts + R"(, "pinned": )" + pinned + "}";
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// Checks code and message; every message names the file.
void ExpectError(const absl::StatusOr<VocabList>& list, const std::string& words,
                 absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  ASSERT_FALSE(list.ok()) << words;
  EXPECT_EQ(list.status().code(), code) << list.status();
  EXPECT_THAT(std::string(list.status().message()), HasSubstr(words));
  EXPECT_THAT(std::string(list.status().message()), HasSubstr("list."));
}

TEST(VocabListTest, ArchiveErrorSuggestsConvert) {
  ExpectError(ReadText("PK\x03\x04..."), "`shortlist vocab convert` makes a list of it");
}

TEST(VocabListTest, PlainTextIsTrimmedUnrankedAndInOrder) {
  const auto list = ReadText("  7\r\n\n\t3 \n \n0");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(RawIds(list->ids), ElementsAre(7, 3, 0));
  EXPECT_EQ(list->vocab_size, 10);
  EXPECT_FALSE(list->ranked);
  EXPECT_THAT(list->counts, IsEmpty());
}

TEST(VocabListTest, ByteOrderMarkIsSkippedInEveryFormat) {
  const std::string mark = "\xEF\xBB\xBF";
  const auto text = ReadText(mark + "5\n7\n");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(RawIds(text->ids), ElementsAre(5, 7));
  const auto document = ReadJson(mark + Document("[5, 7]"));
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(document->ids, text->ids);
}

TEST(VocabListTest, PlainTextErrorsNameLineValueAndBound) {
  ExpectError(ReadText("1\n\n10\n"), "token id 10 at line 3 not in [0, 10)");
  ExpectError(ReadText("-1"), "token id -1 at line 1 not in [0, 10)");
  ExpectError(ReadText("99999999999999999999"), "token id 99999999999999999999 at line 1 not in");
  ExpectError(ReadText("-99999999999999999999"), "at line 1 not in [0, 10)");
  ExpectError(ReadText("5\n6\n5\n"), "token id 5 at line 3 repeats line 1");
  ExpectError(ReadText("5\nfive\n"), "\"five\" at line 2 is not a token id");
  ExpectError(ReadText("5 6\n"), "\"5 6\" at line 1 is not a token id");
  ExpectError(ReadText("5.0\n"), "\"5.0\" at line 1");
  ExpectError(ReadText("+5\n"), "\"+5\" at line 1");
  ExpectError(ReadText("0x5\n"), "\"0x5\" at line 1");
  ExpectError(ReadText(std::string("5\0\n", 3)), "at line 1 is not a token id");
  ExpectError(ReadText("5\n\xEF\xBB\xBF"
                       "6\n"),
              "at line 2 is not a token id");
  ExpectError(ReadText(std::string(100000, 'x')), "x...\" at line 1 is not a token id");
  ExpectError(ReadText(" \n \n"), "no token id");
  ExpectError(ReadText(""), "no token id");
}

TEST(VocabListTest, MissingFilesAndDirectoriesAreErrors) {
  EXPECT_EQ(ReadVocabList(TempPath("absent.txt"), kTarget).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadVocabList(TempPath("absent.json"), kTarget).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_FALSE(ReadVocabList(testing::TempDir(), kTarget).ok());
  EXPECT_FALSE(ReadVocabList("/dev/zero", kTarget).ok());
  EXPECT_FALSE(ReadVocabList("", kTarget).ok());
}

TEST(VocabListTest, OversizedFileIsRejectedUnread) {
  const std::string path = WriteTemp("list.txt", "1\n");
  std::filesystem::resize_file(path, (int64_t{256} << 20) + 1);
  ExpectError(ReadVocabList(path, kTarget), "268435457 bytes, more than the 268435456");
  std::filesystem::remove(path);
}

TEST(VocabListTest, ReadsADocument) {
  const auto list = ReadJson(Document("[4, 2, 9]", "[7, 7, 0]", "[2, 1]"));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_TRUE(list->ranked);
  EXPECT_THAT(RawIds(list->ids), ElementsAre(4, 2, 9));
  EXPECT_THAT(list->counts, ElementsAre(7, 7, 0));
  EXPECT_THAT(RawIds(list->pinned), ElementsAre(2, 1));
  EXPECT_EQ(list->source, "s");
}

TEST(VocabListTest, DocumentErrorsNameIndexValueAndBound) {
  ExpectError(ReadJson(Document("[1, 10]")), "ids[1]: 10 not in [0, 9]");
  ExpectError(ReadJson(Document("[1, -1]")), "ids[1]: -1 not in [0, 9]");
  ExpectError(ReadJson(Document("[1, 2, 1]")), "ids[2]: token id 1 repeats ids[0]");
  ExpectError(ReadJson(Document("[1.0]")), "ids[0]: 1.0 is not an integer below 2^63");
  ExpectError(ReadJson(Document("[1e0]")), "ids[0]: 1.0 is not an integer");
  ExpectError(ReadJson(Document("[\"1\"]")), "ids[0]: \"1\" is not an integer");
  ExpectError(ReadJson(Document("[null]")), "ids[0]: null is not an integer");
  ExpectError(ReadJson(Document("[[1]]")), "ids[0]: [1] is not an integer");
  ExpectError(ReadJson(Document("[9223372036854775808]")), "ids[0]: 9223372036854775808 is not");
  ExpectError(ReadJson(Document("[4294967297]")), "ids[0]: 4294967297 not in [0, 9]");
  ExpectError(ReadJson(Document("[1e400]")), "list.vocab.json");
  ExpectError(ReadJson(Document("[]")), "ids: no token id");
  ExpectError(ReadJson(Document("{}")), "ids: {} is not an array");
  ExpectError(ReadJson(Document("[1, 2]", "[1]")), "1 count for 2 ids");
  ExpectError(ReadJson(Document("[1, 2]", "[1, 2]")), "counts[1]: 2 above counts[0], 1");
  ExpectError(ReadJson(Document("[1, 2]", "[1, -2]")), "counts[1]: -2 not in [0,");
  ExpectError(ReadJson(Document("[1, 2]", "[1.5, 1]")), "counts[0]: 1.5 is not an integer");
  ExpectError(ReadJson(Document("[1, 2]", "[]", "[3, 3]")), "pinned[1]: token id 3 repeats");
  ExpectError(ReadJson(Document("[1, 2]", "[]", "[10]")), "pinned[0]: 10 not in [0, 9]");
}

TEST(VocabListTest, SuccessorsAreOneListPerToken) {
  const auto read = [](const std::string& successors) {
    return ReadJson(Replaced(Document("[1, 2]"), "\"counts\"",
                             "\"successors\": " + successors + ", \"counts\""));
  };
  const auto list = read("[[1, 9], [], [], [4], [], [], [], [], [], [0]]");
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->successors.size(), 10u);
  EXPECT_THAT(RawIds(list->successors[0]), ElementsAre(1, 9));
  EXPECT_THAT(RawIds(list->successors[1]), IsEmpty());
  EXPECT_THAT(RawIds(list->successors[9]), ElementsAre(0));
  EXPECT_TRUE(read("[]").ok());

  ExpectError(read("[[1], [2]]"), "successors of 2 tokens for a vocab_size of 10");
  ExpectError(read("[[], [1, 10], [], [], [], [], [], [], [], []]"),
              "successors[1][1]: 10 not in [0, 9]");
  ExpectError(read("[[-1], [], [], [], [], [], [], [], [], []]"),
              "successors[0][0]: -1 not in [0, 9]");
  ExpectError(read("[[], [], [3, 4, 3], [], [], [], [], [], [], []]"),
              "successors[2][2]: token id 3 repeats successors[2][0]");
  ExpectError(read("[[], [1.5], [], [], [], [], [], [], [], []]"),
              "successors[1][0]: 1.5 is not an integer");
  ExpectError(read("[1]"), "successors[0]: 1 is not an array");
  ExpectError(read("7"), "successors: 7 is not an array");
}

TEST(VocabListTest, DocumentHeaderIsChecked) {
  const std::string good = Document("[1]");
  ASSERT_TRUE(ReadJson(good).ok());
  ExpectError(ReadJson(Replaced(good, "shortlist-vocab", "other")), "format \"other\"");
  ExpectError(ReadJson(Replaced(good, "\"version\": 1", "\"version\": 3")), "version 3");
  ExpectError(ReadJson(Replaced(good, "\"source\"", "\"ranked\": true, \"source\"")),
              "unknown member \"ranked\"");
  ExpectError(ReadJson(Replaced(good, "\"version\": 1", "\"version\": \"1\"")), "version: \"1\"");
  ExpectError(ReadJson(Replaced(good, "\"version\": 1,", "")), "no member \"version\"");
  ExpectError(ReadJson(Replaced(good, "\"ids\": [1],", "")), "no member \"ids\"");
  ExpectError(ReadJson(Replaced(good, "\"pinned\"", "\"pined\"")), "unknown member \"pined\"");
  ExpectError(ReadJson(Replaced(good, "\"source\": \"s\"", "\"source\": 5")), "source: 5");
  ExpectError(ReadJson(Replaced(good, "\"vocab_size\": 10", "\"vocab_size\": 0")),
              "vocab_size 0 not in [1, 16777216]");
  ExpectError(ReadJson(Replaced(good, "\"vocab_size\": 10", "\"vocab_size\": 9223372036854775807")),
              "not in [1, 16777216]");
  const std::string bound = Replaced(
      good, "\"version\": 1", R"("version": 2, "ids_fingerprint": "fnv1a64:0123456789abcdef")");
  ASSERT_TRUE(ReadJson(bound).ok());
  for (const char* const wrong : {"x", "fnv1a64:", "fnv1a64:0123456789abcdeg",
                                  "fnv1a64:0123456789abcdef0", "FNV1A64:0123456789abcdef"}) {
    ExpectError(
        ReadJson(Replaced(bound, "fnv1a64:0123456789abcdef\",", std::string(wrong) + "\",")),
        "ids_fingerprint: \"");
  }
  ExpectError(ReadJson("[1, 2]"), "not a JSON object");
  ExpectError(ReadJson(good.substr(0, good.size() - 4)), "not valid JSON");
  ExpectError(ReadJson(""), "not valid JSON");
  ExpectError(ReadJson(std::string(1000000, '[')), "nested deeper than");
  ExpectError(ReadJson(Document("[1], \"ids\": [2]")), "appears twice");
}

TEST(VocabListTest, ListOfAnotherModelIsRejected) {
  ExpectError(ReadJson(Replaced(Document("[1]"), "0123", "ffff")),
              "fingerprint fnv1a64:ffff456789abcdef, the target's is fnv1a64:0123456789abcdef",
              absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(ReadJson(Replaced(Document("[1]"), kFingerprint, "")).ok());
}

TEST(VocabListTest, ListFitsModelWithMoreRowsThanIds) {
  VocabList list{
      .vocab_size = 151646, .fingerprint = kFingerprint, .ids = Ids({5, 151645}), .ranked = true};
  list.successors.resize(list.vocab_size);
  list.successors[2] = Ids({6});
  const std::string path = TempPath("list.qwen.json");
  ASSERT_TRUE(WriteVocabList(path, list).ok());
  for (const VocabTarget& target :
       {VocabTarget{151936}, VocabTarget{151936, kFingerprint}, VocabTarget{151646}}) {
    const auto read = ReadVocabList(path, target);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->vocab_size, target.vocab_size);
    EXPECT_EQ(std::ssize(read->successors), target.vocab_size);
    EXPECT_TRUE(read->Validate().ok());
  }
  ExpectError(ReadVocabList(path, {151645, kFingerprint}), "token id 151645 not in [0, 151645)",
              absl::StatusCode::kFailedPrecondition);
  ExpectError(ReadVocabList(path, {151645}), "token id 151645 not in [0, 151645)",
              absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(ReadVocabList(path, {151646 + 1024}).ok());
  ExpectError(ReadVocabList(path, {151646 + 1025}), "vocab_size 151646 is not the target's 152671",
              absl::StatusCode::kFailedPrecondition);
  ExpectError(ReadVocabList(path, {400000, kFingerprint}),
              "vocab_size 151646 is not the target's 400000",
              absl::StatusCode::kFailedPrecondition);
  ExpectError(ReadVocabList(path, {50257}), "vocab_size 151646 is not the target's 50257",
              absl::StatusCode::kFailedPrecondition);
}

TEST(VocabListTest, ListOfModelRowsFitsItsTokenizer) {
  const VocabList list{.vocab_size = 151936, .ids = Ids({5, 151645})};
  const std::string path = TempPath("list.rows.json");
  ASSERT_TRUE(WriteVocabList(path, list).ok());
  EXPECT_EQ(ReadVocabList(path, {151646})->vocab_size, 151646);
}

TEST(VocabListTest, RoundTrips) {
  VocabList list{.vocab_size = 10,
                 .fingerprint = kFingerprint,
                 .source = "a \"quoted\"\nsource \xC3\xA4 and a broken byte \xFF",
                 .ids = Ids({5, 3}),
                 .counts = {9223372036854775807, 1},
                 .pinned = Ids({7}),
                 .ranked = true,
                 .successors = {10, Ids({4, 8})}};
  const std::string path = TempPath("written.vocab.json");
  ASSERT_TRUE(WriteVocabList(path, list).ok());
  const auto read = ReadVocabList(path, kTarget);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->ids, list.ids);
  EXPECT_EQ(read->counts, list.counts);
  EXPECT_EQ(read->pinned, list.pinned);
  EXPECT_EQ(read->successors, list.successors);
  EXPECT_EQ(read->fingerprint, list.fingerprint);
  EXPECT_THAT(read->source, HasSubstr("\"quoted\"\nsource \xC3\xA4"));

  EXPECT_TRUE(read->ranked);

  list.counts = {1, 2};
  EXPECT_FALSE(WriteVocabList(path, list).ok());
  EXPECT_TRUE(ReadVocabList(path, kTarget).ok());
  list.counts.clear();
  EXPECT_FALSE(WriteVocabList(TempPath("no/such/dir.vocab.json"), list).ok());
}

TEST(VocabListTest, PackedAndUnrankedListsRoundTrip) {
  const VocabList list{.vocab_size = 10, .ids = Ids({7, 2, 5}), .pinned = Ids({9, 2})};
  for (const std::string name : {"list.vocab.json.xz", "list.vocab.json"}) {
    const std::string path = TempPath(name);
    ASSERT_TRUE(WriteVocabList(path, list).ok());
    const auto read = ReadVocabList(path, kTarget);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->ids, list.ids);
    EXPECT_EQ(read->pinned, list.pinned);
    EXPECT_FALSE(read->ranked);
  }
  const std::string text = TempPath("list.ids.txt");
  ASSERT_TRUE(WriteVocabList(text, list).ok());
  EXPECT_THAT(RawIds(ReadVocabList(text, kTarget)->ids), ElementsAre(7, 2, 5, 9));
  ExpectError(ReadJson(Replaced(Replaced(Document("[1]", "[3]"), "1,", "2,"), "\"source\"",
                                "\"ranked\": false, \"source\"")),
              "counts of a list that is not ranked");
}

/// Tokens "t0", "t1" and so on, but `changed`, which is "x".
VocabTarget Spelled(int64_t vocab_size, int32_t changed = -1) {
  static std::map<int32_t, std::string> spellings;
  for (int32_t id = -1; id < vocab_size; ++id) spellings[id] = "t" + std::to_string(id);
  return {.vocab_size = vocab_size,
          .fingerprint = "fnv1a64:" + std::to_string(vocab_size) + "." + std::to_string(changed),
          .spelling = [changed](TokenId id) -> std::string_view {
            return Raw(id) == changed ? "x" : spellings.at(Raw(id));
          },
          .num_spelled = vocab_size};
}

TEST(VocabListTest, ListFitsTokenizerWithEqualIds) {
  VocabList list{.ids = Ids({5, 3}), .counts = {7, 2}, .pinned = Ids({8}), .ranked = true};
  list.successors.resize(12);
  list.successors[2] = Ids({6});
  ASSERT_TRUE(BindList(Spelled(12), list).ok());
  const std::string path = TempPath("list.bound.json");
  ASSERT_TRUE(WriteVocabList(path, list).ok());

  for (const int64_t vocab_size : {9, 12, 50}) {
    const auto read = ReadVocabList(path, Spelled(vocab_size));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->vocab_size, vocab_size);
    EXPECT_EQ(std::ssize(read->successors), vocab_size);
    EXPECT_EQ(read->ids, list.ids);
    EXPECT_TRUE(read->Validate().ok());
  }
  // Tokens that it does not name may differ, those that it names may not.
  for (const int32_t other : {0, 1, 4, 7, 9, 11}) {
    EXPECT_TRUE(ReadVocabList(path, Spelled(12, other)).ok()) << other;
  }
  for (const int32_t named : {2, 3, 5, 6, 8}) {
    ExpectError(ReadVocabList(path, Spelled(12, named)),
                "its ids have the fingerprint fnv1a64:", absl::StatusCode::kFailedPrecondition);
  }
  ExpectError(ReadVocabList(path, Spelled(8)), "token id 8 not in [0, 8)",
              absl::StatusCode::kFailedPrecondition);
  // Without spellings it fits by the whole tokenizer.
  EXPECT_TRUE(ReadVocabList(path, {12, Spelled(12).fingerprint}).ok());
  ExpectError(ReadVocabList(path, {50, Spelled(50).fingerprint}),
              "made for the tokenizer with fingerprint", absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(BindList(Spelled(8), list).code(), absl::StatusCode::kOutOfRange);
}

TEST(VocabListTest, UnknownTargetTakesSizeFromList) {
  const auto text = ReadVocabList(WriteTemp("list.any.txt", "7\n3\n"), {});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->vocab_size, 8);
  EXPECT_EQ(ReadVocabList(WriteTemp("list.any.json", Document("[1]")), {})->vocab_size, 10);
  ExpectError(ReadVocabList(WriteTemp("list.big.txt", "2147483647\n"), {}),
              "token id 2147483647 at line 1 not in [0, 16777216)");
}

}  // namespace
}  // namespace shortlist

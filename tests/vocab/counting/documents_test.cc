#include "vocab/counting/documents.h"

#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Returns the documents read `bytes` at a time, and the status at their end.
std::pair<std::vector<Document>, absl::Status> ReadAll(const std::string& contents, bool is_jsonl,
                                                       const DocumentFields& fields = {},
                                                       int64_t bytes = 100) {
  std::istringstream in(contents);
  auto documents = Documents::Open("-", is_jsonl, fields, in);
  if (!documents.ok()) return {{}, documents.status()};
  std::vector<Document> all;
  while (true) {
    const auto read = (*documents)->Read(bytes);
    if (!read.ok()) return {all, read.status()};
    if (read->empty()) return {all, absl::OkStatus()};
    all.insert(all.end(), read->begin(), read->end());
  }
}

std::vector<std::string> Texts(const std::vector<Document>& documents) {
  std::vector<std::string> texts;
  for (const Document& document : documents) texts.push_back(document.text);
  return texts;
}

TEST(DocumentsTest, RowsHoldTextsPromptsAndCategories) {
  const auto [rows, status] =
      ReadAll(R"({"q": ["a", "b"], "text": ["x", null, "y"], "category": "c"})"
              "\n\n  \r\n"
              R"("alone")"
              "\n"
              R"({"q": "p", "text": "z", "category": 5})"
              "\n"
              R"({"q": "nothing"})",
              /*is_jsonl=*/true, {.prompt = "q"});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Texts(rows), ElementsAre("x", "y", "alone", "z"));
  EXPECT_EQ(rows[0].prompt, "a");
  EXPECT_EQ(rows[1].prompt, "b");
  EXPECT_EQ(rows[1].category, "c");
  EXPECT_EQ(rows[2].prompt, "");
  EXPECT_EQ(rows[3].prompt, "p");
  EXPECT_EQ(rows[3].category, "");
}

TEST(DocumentsTest, BadRowIsNamedAndEarlierRowsAreKept) {
  const std::string good = R"({"text": "x"})"
                           "\n";
  for (const auto& [bad, words] : std::vector<std::pair<std::string, std::string>>{
           {"{\"text\": 5}", "line 3: \"text\" is neither a string nor an array of them: 5"},
           {"[1]", "line 3: neither an object nor a string"},
           {"{\"text\": \"x", "line 3: "},
           {std::string(100000, '['), "line 3: "},
           {std::string("\0\xFF", 2), "line 3: "}}) {
    const auto [rows, status] = ReadAll(good + good + bad + "\n" + good, /*is_jsonl=*/true);
    EXPECT_EQ(rows.size(), 2u);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
}

TEST(DocumentsTest, TextIsSplitAtLinesAndJoinsToWhole) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const int kind : {0, 1, 2}) {  // lines; one long line; code points of three bytes
    std::string text;
    while (text.size() < 500000) {
      text += kind == 2 ? "\xE4\xBD\xA0" : "word" + std::to_string(random() % 99);
      if (kind == 0 && random() % 7 == 0) text += random() % 3 == 0 ? "\n\n  " : "\n";
    }
    const auto [pieces, status] = ReadAll(text, /*is_jsonl=*/false, {}, 300000);
    ASSERT_TRUE(status.ok());
    EXPECT_GT(pieces.size(), 5u);
    std::string joined;
    for (size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_EQ(pieces[i].continues, i > 0);
      if (kind == 0 && i > 0) {
        EXPECT_EQ(joined.back(), '\n');
        EXPECT_EQ(pieces[i].text.find_first_not_of(" \n"), 0u);
      }
      joined += pieces[i].text;
    }
    EXPECT_EQ(joined, text);
  }
}

TEST(DocumentsTest, InvalidUtf8IsReplaced) {
  const auto [pieces, status] = ReadAll("a\xFFz", /*is_jsonl=*/false);
  EXPECT_THAT(Texts(pieces), ElementsAre("a\xEF\xBF\xBDz"));
}

TEST(DocumentsTest, RowsMayHoldTokens) {
  const auto [rows, status] = ReadAll(R"({"text": [5, -1, 18446744073709551615]})"
                                      "\n"
                                      R"({"text": []})"
                                      "\n"
                                      R"({"text": [5, "x"]})",
                                      /*is_jsonl=*/true);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_THAT(rows[0].ids, ElementsAre(5, -1, -1));
  EXPECT_THAT(std::string(status.message()), HasSubstr("line 3"));
}

TEST(DocumentsTest, FileNameSelectsJsonl) {
  EXPECT_TRUE(IsJsonl("a.jsonl"));
  EXPECT_TRUE(IsJsonl("a.jsonl.zst"));
  EXPECT_TRUE(IsJsonl("a.ndjson.gz"));
  EXPECT_FALSE(IsJsonl("a.json"));
  EXPECT_FALSE(IsJsonl("jsonl.xz"));
}

}  // namespace
}  // namespace shortlist

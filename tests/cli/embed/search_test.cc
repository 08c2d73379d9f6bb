#include "cli/embed/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/embed/rerank.h"
#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/runtime/tiny_encoder.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kTexts[] = "return the string\n\none token\nyou have not\nthe text of it\n";

class SearchTest : public ::testing::Test {
 protected:
  SearchTest() {
    embedder_.AddModules(/*normalize=*/true);
    search_.encoding.model.model = embedder_.Write();
    search_.query = "one token";
    search_.json = true;
    rerank_.encoding.model.model = classifier_.Write();
    rerank_.query = "one token";
    rerank_.json = true;
  }

  Outcome RunSearch(const std::string& input = kTexts) {
    std::istringstream in(input);
    std::ostringstream out;
    const absl::Status status = Search(search_, in, out);
    return {status, out.str()};
  }
  Outcome RunRerank(const std::string& input = kTexts) {
    std::istringstream in(input);
    std::ostringstream out;
    const absl::Status status = Rerank(rerank_, in, out);
    return {status, out.str()};
  }

  static std::vector<nlohmann::json> Rows(const Outcome& outcome) {
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    std::vector<nlohmann::json> rows;
    for (const std::string& line : Lines(outcome.out)) rows.push_back(nlohmann::json::parse(line));
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i]["rank"], i + 1);
      if (i > 0) {
        EXPECT_LE(rows[i]["score"], rows[i - 1]["score"]);
      }
    }
    return rows;
  }

  static void ExpectRefused(const Outcome& outcome, const std::string& words) {
    EXPECT_FALSE(outcome.status.ok() || absl::IsInternal(outcome.status)) << outcome.status;
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(words));
    EXPECT_EQ(outcome.out, "");
  }

  TinyEncoder embedder_, classifier_{"bert_classification"};
  SearchFlags search_;
  RerankFlags rerank_;
  const TempDir dir_;
};

TEST_F(SearchTest, TextIsMostSimilarToItself) {
  const auto rows = Rows(RunSearch());
  ASSERT_THAT(rows, SizeIs(4));
  EXPECT_EQ(rows[0]["text"], "one token");
  EXPECT_EQ(rows[0]["index"], 1);
  EXPECT_EQ(rows[0]["line"], 3);
  EXPECT_NEAR(rows[0]["score"].get<double>(), 1.0, 1e-6);
  search_.top = 2;
  EXPECT_EQ(Rows(RunSearch()), std::vector(rows.begin(), rows.begin() + 2));
  search_.json = false;
  const std::vector<std::string> lines = Lines(RunSearch().out);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0], "rank     score    line  text");
  EXPECT_EQ(lines[1], "   1    1.0000       3  one token");
}

TEST_F(SearchTest, TableEscapesControlCharacters) {
  search_.json = false;
  search_.in.jsonl = true;
  const Outcome outcome = RunSearch(R"("a\nb\u001b[31m\u009bc\u00e4\u007f")");
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_THAT(Lines(outcome.out)[1], HasSubstr("       1  a b [31m  c\xC3\xA4 "));
}

TEST_F(SearchTest, PromptsPrecedeQueryAndTexts) {
  embedder_.AddFile("config_sentence_transformers.json",
                    {{"prompts", {{"query", "the "}, {"document", "return the "}}}});
  search_.query = "return the string";
  const auto rows = Rows(RunSearch("the return the string\nstring\n"));
  EXPECT_LT(rows[0]["score"], 0.9999);
  search_.query = "return the string";
  EXPECT_NEAR(Rows(RunSearch("string\n"))[0]["score"].get<double>(),
              rows[rows[0]["index"] == 1 ? 0 : 1]["score"].get<double>(), 1e-6);
}

TEST_F(SearchTest, IndexKeepsVectors) {
  const Outcome want = RunSearch();
  search_.index_path = dir_.Join("index.npy");
  EXPECT_EQ(RunSearch().out, want.out);
  EXPECT_TRUE(fs::exists(search_.index_path));
  const auto written = fs::last_write_time(search_.index_path);
  EXPECT_EQ(RunSearch().out, want.out);
  EXPECT_EQ(fs::last_write_time(search_.index_path), written);
  ExpectRefused(RunSearch("one\n"), "\"num_texts\" 4, this run has 1");
  ExpectRefused(RunSearch("one\ntwo\nthree\nfour\n"), "\"texts\"");

  const std::string whole = ReadFile(search_.index_path, 1 << 20).value();
  dir_.Write("index.npy", whole.substr(0, whole.size() - 1));
  ExpectRefused(RunSearch(), "bytes, not");
  std::string other = whole;
  other[128] ^= 1;
  dir_.Write("index.npy", other);
  ExpectRefused(RunSearch(), "its first vector is not what this model makes");
  std::string flipped = whole;
  flipped[flipped.size() - 2] ^= 1;
  dir_.Write("index.npy", flipped);
  ExpectRefused(RunSearch(), "index.npy: is damaged or was changed, its hash is xxh64:");
  dir_.Write("index.npy", whole);
  embedder_.SetTensor("encoder.layer.1.output.LayerNorm.bias", std::vector<float>(36, 0.25f));
  embedder_.Write();
  ExpectRefused(RunSearch(), "index.npy was made with another \"model.safetensors\"");
  fs::remove(search_.index_path + ".json");
  ExpectRefused(RunSearch(), "index.npy.json");
  search_.index_path = dir_.Join("index.bin");
  ExpectRefused(RunSearch(), "does not end in .npy");
}

TEST_F(SearchTest, RerankerRanksBestCandidates) {
  const auto reranked = Rows(RunRerank());
  ASSERT_THAT(reranked, SizeIs(4));
  search_.rerank_model = rerank_.encoding.model.model;
  EXPECT_EQ(Rows(RunSearch()), reranked);
  search_.top = 1;
  search_.num_candidates = 1;
  EXPECT_EQ(Rows(RunSearch())[0]["text"], "one token");
}

TEST_F(SearchTest, BadRerankerIsReportedBeforeEmbedding) {
  search_.index_path = dir_.Join("index.npy");
  search_.rerank_model = search_.encoding.model.model;
  ExpectRefused(RunSearch(), "makes vectors");
  search_.rerank_model = dir_.Join("none");
  ExpectRefused(RunSearch(), dir_.Join("none"));
  fs::remove(fs::path(rerank_.encoding.model.model) / "model.safetensors");
  search_.rerank_model = rerank_.encoding.model.model;
  ExpectRefused(RunSearch(), rerank_.encoding.model.model);
  EXPECT_FALSE(fs::exists(search_.index_path));
}

TEST_F(SearchTest, ScoresFollowFlag) {
  const auto sigmoid = Rows(RunRerank());
  rerank_.scores = EncodeWish::Scores::kRaw;
  const auto raw = Rows(RunRerank());
  for (size_t i = 0; i < raw.size(); ++i) {
    EXPECT_EQ(raw[i]["text"], sigmoid[i]["text"]);
    EXPECT_NEAR(sigmoid[i]["score"].get<double>(),
                1 / (1 + std::exp(-raw[i]["score"].get<double>())), 1e-6);
  }
  rerank_.scores = EncodeWish::Scores::kSoftmax;
  ExpectRefused(RunRerank(), "softmax over one label");
  rerank_.scores = EncodeWish::Scores::kSigmoid;
  rerank_.top = 2;
  rerank_.encoding.batch_tokens = 1;
  EXPECT_THAT(Rows(RunRerank()), SizeIs(2));
}

TEST_F(SearchTest, RejectsBadInput) {
  ExpectRefused(RunSearch(""), "holds no text");
  ExpectRefused(RunRerank("\n\n"), "holds no text");
  ExpectRefused(RunSearch("a\nb\xFF"), "standard input line 2: not valid UTF-8");
  ExpectRefused(RunRerank("a\nb\xFF"), "standard input line 2: not valid UTF-8");
  std::string text = "one\n\n";
  for (int i = 0; i < 40; ++i) text += "one ";
  search_.encoding.truncates = rerank_.encoding.truncates = false;
  ExpectRefused(RunSearch(text), "standard input line 3: more than 30 tokens");
  ExpectRefused(RunRerank(text), "standard input line 3: the pair has more than 30 tokens");
  search_.query = rerank_.query = "a\xFF";
  ExpectRefused(RunSearch(), "not valid UTF-8 at byte 1");
  ExpectRefused(RunRerank(), "not valid UTF-8 at byte 1");
  search_.query = rerank_.query = "";
  ExpectRefused(RunSearch(), "QUERY: the text is empty");
  ExpectRefused(RunRerank(), "--query: the text is empty");
}

TEST_F(SearchTest, RejectsUnsuitableModels) {
  std::swap(search_.encoding.model.model, rerank_.encoding.model.model);
  ExpectRefused(RunSearch(), "a classifier");
  ExpectRefused(RunRerank(), "makes vectors");
  TinyEncoder labels("bert_classification");
  labels.golden().config["id2label"] = {{"0", "no"}, {"1", "yes"}};
  labels.golden().config["label2id"] = {{"no", 0}, {"yes", 1}};
  for (StoredTensor& tensor : labels.golden().tensors) {
    if (!tensor.name.starts_with("classifier.")) continue;
    tensor.shape[0] = 2;
    tensor.bytes += tensor.bytes;
  }
  rerank_.encoding.model.model = labels.Write();
  ExpectRefused(RunRerank(), "has 2 labels, a reranker has 1");
  search_.rerank_model = rerank_.encoding.model.model;
  ExpectRefused(RunSearch(), "has 2 labels, a reranker has 1");
}

TEST_F(SearchTest, QueryIsAcceptedInEitherPlace) {
  const std::string in = dir_.Write("a.txt", kTexts);
  const Args model = {"--model", search_.encoding.model.model, "--in", in, "--top", "1"};
  const ProcessOutcome positional = RunBinary(Args{"search", "one token"} + model);
  EXPECT_EQ(positional.exit_code, 0) << positional.err;
  EXPECT_THAT(positional.out, HasSubstr("one token"));
  EXPECT_EQ(RunBinary(Args{"search", "--query", "one token"} + model).out, positional.out);
  const ProcessOutcome rerank =
      RunBinary({"rerank", "--model", rerank_.encoding.model.model, "--in", in, "--query", "one",
                 "--scores", "raw", "--top", "2"});
  EXPECT_EQ(rerank.exit_code, 0) << rerank.err;
  EXPECT_EQ(Lines(rerank.out).size(), 3u);
  const std::vector<Args> bad = {
      Args{"search"} + model,
      Args{"search", "one", "--candidates", "3"} + model,
      Args{"search", "one", "--top", "0"} + model,
      Args{"rerank", "--query", "one"} + model,
      Args{"rerank", "--model", rerank_.encoding.model.model, "--in", in},
      Args{"rerank", "--model", rerank_.encoding.model.model, "--in", in, "--query", "a",
           "--scores", "best"},
  };
  for (const Args& args : bad) {
    const ProcessOutcome outcome = RunBinary(args);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(SearchTest, SparseAndMultiVectorsRankTexts) {
  for (const auto& [scoring, words] :
       {std::pair(SearchScoring::kSparse, "makes no sparse vectors"),
        std::pair(SearchScoring::kColbert, "makes no multi-vectors")}) {
    search_.scoring = scoring;
    ExpectRefused(RunSearch(), words);
  }
  embedder_.AddHeads();
  for (const SearchScoring scoring : {SearchScoring::kSparse, SearchScoring::kColbert}) {
    search_.scoring = scoring;
    const auto rows = Rows(RunSearch());
    EXPECT_EQ(rows.size(), 4u);
    if (scoring == SearchScoring::kColbert) {
      // Each of its vectors is most like itself.
      EXPECT_EQ(rows[0]["text"], "one token");
      EXPECT_NEAR(rows[0]["score"].get<double>(), 1.0, 1e-5);
    }
    search_.index_path = dir_.Join("a.npy");
    ExpectRefused(RunSearch(), "--index: keeps dense vectors alone");
    search_.index_path.clear();
  }
}

}  // namespace
}  // namespace shortlist

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/byte_source.h"
#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/support/temp_dir.h"
#include "vocab/formats/list_file.h"

namespace shortlist {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char* const kText =
    "The vector class is a class of the standard library.\nint main() { return 0; }\n";

class VocabTest : public ::testing::Test {
 protected:
  static std::string Tokenizer() { return SourcePath("models/demo/target/tokenizer.model"); }
  static std::string DemoList() { return SourcePath("vocab_lists/demo.vocab.json"); }

  /// `shortlist vocab` with `args`, in this process.
  static Outcome Run(const Args& args, const std::string& input = "") {
    return RunVocab(args, input);
  }

  static void ExpectRefused(const Args& args, const std::string& words,
                            const std::string& input = "") {
    const Outcome outcome = Run(args, input);
    EXPECT_FALSE(outcome.status.ok()) << words;
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(words));
    EXPECT_EQ(outcome.out, "");
  }

  Args Build(const std::string& text, const std::string& out) const {
    return {"build", "--tokenizer", Tokenizer(), "--text", text, "--out", out, "--threads", "2"};
  }

  static VocabList ReadList(const std::string& path) {
    auto list = ReadListFile(path, {});
    EXPECT_TRUE(list.ok()) << list.status();
    return *list;
  }

  const TempDir dir_;
};

TEST_F(VocabTest, BuildCountsPackedTexts) {
  const std::string plain = dir_.Join("plain.vocab.json");
  ASSERT_TRUE(Run(Build(dir_.Write("a.txt", kText), plain)).status.ok());
  const VocabList list = ReadList(plain);
  EXPECT_TRUE(list.ranked);
  EXPECT_EQ(list.vocab_size, 16384);
  EXPECT_GT(list.ids.size(), 15u);
  EXPECT_GE(list.counts[0], 2);
  EXPECT_GE(list.pinned.size(), 256u);  // bytes and control tokens

  const std::string packed = dir_.Join("packed.vocab.json.xz");
  ASSERT_TRUE(Run(Build(dir_.Write("a.txt.xz", PackXz(kText)), packed)).status.ok());
  EXPECT_EQ(ReadList(packed).ids, list.ids);
  EXPECT_EQ(ReadList(packed).counts, list.counts);
  const std::string piped = dir_.Join("piped.vocab.json");
  ASSERT_TRUE(Run(Build("-", piped), kText).status.ok());
  EXPECT_EQ(ReadList(piped).ids, list.ids);

  // A list that was made for the tokenizer alone fits the model, whatever else that has.
  EXPECT_TRUE(Run({"check", plain, "--model", SourcePath("models/demo/target")}).status.ok());
}

TEST_F(VocabTest, RunResumesFromCounts) {
  std::string rows, more;
  for (int i = 0; i < 40; ++i)
    rows += R"({"text": "row )" + std::to_string(i) + " of a corpus\"}\n";
  const std::string path = dir_.Write("b.jsonl", rows + "{\"text\": 5}\n");
  const std::string counts = dir_.Join("b.counts"), out = dir_.Join("b.vocab.json");
  const Args args = Build(path, out) + Args{"--counts", counts};
  ExpectRefused(args, "line 41");
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_TRUE(std::filesystem::exists(counts));
  dir_.Write("b.jsonl", rows + "{\"text\": \"the end\"}\n");
  ASSERT_TRUE(Run(args).status.ok());

  const std::string at_once = dir_.Join("c.vocab.json");
  ASSERT_TRUE(Run(Build(path, at_once)).status.ok());
  EXPECT_EQ(ReadList(out).ids, ReadList(at_once).ids);
  EXPECT_EQ(ReadList(out).counts, ReadList(at_once).counts);
  EXPECT_EQ(ReadList(out).successors, ReadList(at_once).successors);

  // Counts of several runs make one list.
  const std::string added = dir_.Join("d.vocab.json"), copy = dir_.Join("copy.counts");
  std::filesystem::copy(counts, copy);
  ASSERT_TRUE(
      Run({"build", "--tokenizer", Tokenizer(), "--add-counts", counts, copy, "--out", added})
          .status.ok());
  EXPECT_EQ(ReadList(added).ids, ReadList(at_once).ids);
  EXPECT_EQ(ReadList(added).counts[0], 2 * ReadList(at_once).counts[0]);
  ExpectRefused(Build(dir_.Write("other.txt", kText), out) + Args{"--counts", counts},
                "holds counts of");
}

TEST_F(VocabTest, BuildRejectsBadInput) {
  const std::string out = dir_.Join("list.vocab.json");
  const std::string text = dir_.Write("a.txt", kText), empty = dir_.Write("empty.txt", "");
  ExpectRefused(Build(empty, out), "the texts hold no token");
  ExpectRefused(Build(text, out) + Args{"--top", "16000"}, "fewer than the 16000 asked for");
  ExpectRefused(Build(text, out) + Args{"--top", "16385"},
                "16385 ids asked for, not in [1, 16384]");
  ExpectRefused(Build(text, out) + Args{"--top", "0"}, "--top");
  ExpectRefused(Build(text, out) + Args{"--ratio", "nan"}, "'nan' not in (0, 1]");
  ExpectRefused(Build("nan@" + text, out), "weight nan not in (0, 1e+09]");
  ExpectRefused(Build("1e308@" + text, out), "weight 1e+308 not in (0, 1e+09]");
  ExpectRefused(Build("-1@" + text, out), "weight -1 not in");
  ExpectRefused(Build(dir_.Join("absent*"), out), "no such file");
  ExpectRefused(Build(dir_.path(), out), "a directory, not a file");
  ExpectRefused(Build(text, "/dev/full/list.txt"), "/dev/full/list.txt");
  ExpectRefused(Build(text, dir_.Join("nowhere/l.txt")), "--out " + dir_.Join("nowhere/l.txt") +
                                                             ": " + dir_.Join("nowhere/") +
                                                             ": No such file or directory");
  ExpectRefused(Build(text, out) + Args{"--counts", dir_.path()}, "--counts " + dir_.path());
  ExpectRefused({"build", "--tokenizer", Tokenizer(), "--out", out},
                "--text or --add-counts is required");
  ExpectRefused({"build", "--tokenizer", Tokenizer(), "--text", text},
                "--out or --counts is required");
  ExpectRefused({"build", "--text", text, "--out", out}, "[--model,--tokenizer] is required");
  const std::string cut = PackXz(std::string(kText)).substr(0, 60);
  ExpectRefused(Build(dir_.Write("cut.xz", cut), out), "cut.xz: damaged");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(VocabTest, ShowDescribesList) {
  const Outcome shown = Run({"show", DemoList(), "--tokenizer", Tokenizer()});
  ASSERT_TRUE(shown.status.ok()) << shown.status;
  EXPECT_THAT(shown.out, HasSubstr("of 16384"));
  EXPECT_THAT(shown.out, HasSubstr("control tokens"));
  EXPECT_THAT(shown.out, HasSubstr("ids, pinned first"));
  const json object = json::parse(Run({"show", DemoList(), "--json"}).out);
  EXPECT_EQ(object["vocab_size"], 16384);
  EXPECT_EQ(object["curve"].back()["share"], 1.0);
  ExpectRefused({"show", dir_.Join("absent.json")}, "no such file");

  const std::string hostile = dir_.Write(
      "l.vocab.json", R"({"format": "shortlist-vocab", "version": 2, "vocab_size": 9, "ids": [1],)"
                      R"("fingerprint": "", "source": "a\u001b[2J\nb\u009b\u00e9"})");
  EXPECT_THAT(Run({"show", hostile}).out, HasSubstr(R"(a\u001b[2J\u000ab\u009bé)"
                                                    "\n"));
}

/// Ids 0 to 599, of which 300 to 599 are pinned; each of the first 300 occurred once.
TEST_F(VocabTest, ShowAndDiffPutPinnedIdsFirst) {
  VocabList list{.vocab_size = 1000, .ranked = true};
  for (int32_t id = 0; id < 300; ++id) {
    list.ids.push_back(TokenId{id});
    list.counts.push_back(1);
    list.pinned.push_back(TokenId{300 + id});
  }
  const std::string path = dir_.Join("pinned.vocab.json"), other = dir_.Join("other.vocab.json");
  ASSERT_TRUE(WriteListFile(path, list).ok());
  const json curve = json::parse(Run({"show", path, "--json"}).out)["curve"];
  ASSERT_EQ(curve.size(), 2u);  // `:top=256` would be fewer than the pinned ids
  EXPECT_EQ(curve[0]["num_ids"], 512);
  EXPECT_DOUBLE_EQ(curve[0]["share"], 212.0 / 300);
  EXPECT_EQ(curve[1]["num_ids"], 600);
  EXPECT_EQ(curve[1]["share"], 1.0);

  list.pinned.clear();
  ASSERT_TRUE(WriteListFile(other, list).ok());
  const std::string diff = Run({"diff", path, other}).out;
  EXPECT_THAT(diff, HasSubstr("ids, pinned first"));
  EXPECT_THAT(diff, ::testing::Not(HasSubstr(":top=256")));  // the first does not have it
  EXPECT_THAT(diff, ::testing::Not(HasSubstr(":top=512")));  // the second does not
  EXPECT_THAT(Run({"diff", path, path}).out, HasSubstr(":top=512"));
}

TEST_F(VocabTest, CoverageCountsTokensInListOrSuccessors) {
  const std::string rows = dir_.Write(
      "rows.jsonl", R"({"question": "zygote", "answer": "zygote zygote", "category": "a"})"
                    "\n"
                    R"({"question": "the", "answer": "the class", "category": "b"})"
                    "\n");
  const Args args = {"coverage",      DemoList() + ":successors=64",
                     "--tokenizer",   Tokenizer(),
                     "--text",        rows,
                     "--text-key",    "answer",
                     "--prompts-key", "question",
                     "--json",        "--sizes",
                     "300,2048"};
  const auto covered = [&](const Args& more) {
    const Outcome outcome = Run(args + more);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    return json::parse(outcome.out)["rows"];
  };
  const json alone = covered({});
  ASSERT_EQ(alone.size(), 6u);  // two sizes, two categories and all
  EXPECT_EQ(alone[0]["num_tokens"].get<int>() + alone[2]["num_tokens"].get<int>(),
            alone[1]["num_tokens"]);
  const std::string svg = dir_.Join("plot.svg");
  const json with_rows = covered({"--dynamic-rows", "64", "--svg", svg});
  EXPECT_EQ(with_rows[0]["coverage"], 1.0);  // all tokens of the answer are the prompt's
  EXPECT_LT(alone[0]["coverage"], 1.0);
  EXPECT_GE(alone[3]["coverage"], alone[0]["coverage"]);
  EXPECT_TRUE(std::filesystem::exists(svg));
  const Args simple = {"coverage", DemoList(), "--tokenizer", Tokenizer(), "--text"};
  ExpectRefused(simple + Args{rows},
                "rows.jsonl: the texts hold no token; 2 rows are without \"text\" (--text-key)");
  const std::string text = dir_.Write("a.txt", kText);
  ExpectRefused(simple + Args{text, rows}, "rows.jsonl: the texts hold no token");
  ExpectRefused(simple + Args{"2@" + text}, "--text 2@" + text + ": texts are measured one by one");
  ExpectRefused(simple + Args{text, text}, "is given twice");
  ExpectRefused(simple + Args{text, "--svg", text}, "--svg " + text + ": the same file as --text");
  ExpectRefused({"coverage", DemoList() + ":auto", "--tokenizer", Tokenizer(), "--text", text},
                "a size that a running engine finds cannot be measured here");
  const std::string list = dir_.Join("copy.vocab.json");
  std::filesystem::copy(DemoList(), list);
  ExpectRefused(
      {"coverage", list + ":top=300", "--tokenizer", Tokenizer(), "--text", text, "--svg", list},
      "--svg " + list + ": the same file as " + list);
  ExpectRefused({"coverage", list + ":TOP=5", "--tokenizer", Tokenizer(), "--text", text},
                "\"TOP=5\" is no option of " + list);
  ExpectRefused(args + Args{"--sizes", "0"}, "--sizes");
  for (const std::string& sized :
       {std::string("full"), std::string("empty"), std::string("ratio:0.5"),
        DemoList() + ":top=300", DemoList() + ":ratio=0.1:successors=64",
        DemoList() + ":coverage=0.5"}) {
    const Args alone = {"coverage", sized, "--tokenizer", Tokenizer(), "--text", text};
    EXPECT_TRUE(Run(alone).status.ok()) << sized;
    ExpectRefused(alone + Args{"--sizes", "300"}, "--sizes: " + sized + " has a size of its own");
  }
}

/// Another thread gives a text ever new times of change. It cannot know when the text is read, so
/// that a run or two may come through.
TEST_F(VocabTest, CoverageRejectsTextThatChangesDuringRead) {
  std::string long_text;
  for (int i = 0; i < 4000; ++i) long_text += kText;
  const std::string text = dir_.Write("a.txt", long_text);
  const Args args = {"coverage", DemoList(), "--tokenizer", Tokenizer(), "--text", text};
  EXPECT_TRUE(Run(args).status.ok());

  std::atomic<bool> ended = false;
  std::thread toucher([&] {
    const auto begin = std::filesystem::last_write_time(text);
    for (int i = 1; !ended; ++i) {
      std::filesystem::last_write_time(text, begin + std::chrono::milliseconds(i));
    }
  });
  absl::Status status;
  for (int run = 0; run < 20 && status.ok(); ++run) status = Run(args).status;
  ended = true;
  toucher.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("a.txt: has changed while it was read: it had "));
}

TEST_F(VocabTest, MissingSizeDoesNotAffectOthers) {
  const std::string text = dir_.Write("a.txt", kText), small = dir_.Join("small.vocab.json");
  ASSERT_TRUE(Run({"convert", DemoList(), small, "--top", "1000"}).status.ok());
  const Args coverage = {"coverage", small, "--tokenizer", Tokenizer(), "--text", text, "--sizes"};
  const Outcome some = Run(coverage + Args{"500,1001,700,20000", "--json"});
  ASSERT_TRUE(some.status.ok()) << some.status;
  const json rows = json::parse(some.out)["rows"];
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["list"], small + ":top=500");
  EXPECT_GT(rows[1]["coverage"], rows[0]["coverage"]);
  EXPECT_EQ(rows[2]["list"], small + ":top=1001");
  EXPECT_THAT(std::string(rows[2]["error"]), HasSubstr("holds 1000 ids, fewer than the 1001"));
  EXPECT_THAT(std::string(rows[3]["error"]), HasSubstr("20000"));
  EXPECT_THAT(Run(coverage + Args{"500,1001"}).out,
              HasSubstr(":top=1001 | " + small + ": it holds 1000 ids"));
  ExpectRefused(coverage + Args{"1001,1002"}, "--sizes: ");

  const Args tune = Args{"tune"} + DemoPair() +
                    Args{"--vocab", small,           "--prompt", "The",    "--max-new-tokens",
                         "4",       "--repetitions", "1",        "--sizes"};
  const Outcome tuned = Run(tune + Args{"1001,512", "--json"});
  ASSERT_TRUE(tuned.status.ok()) << tuned.status;
  const json sizes = json::parse(tuned.out)["rows"];
  ASSERT_EQ(sizes.size(), 3u);
  EXPECT_EQ(sizes[1]["num_ids"], 512);
  EXPECT_EQ(sizes[2]["num_ids"], 1001);
  EXPECT_THAT(std::string(sizes[2]["error"]), HasSubstr("holds 1000 ids"));
  EXPECT_THAT(Run(tune + Args{"1001,512"}).out, HasSubstr("top 1001: "));
  ExpectRefused(tune + Args{"1001"}, "holds 1000 ids");
}

TEST_F(VocabTest, ConvertKeepsIdsAndOrder) {
  const std::string text = dir_.Join("a.txt"), torch = dir_.Join("a.pt"),
                    back = dir_.Join("b.vocab.json");
  ASSERT_TRUE(Run({"convert", DemoList(), text, "--top", "500"}).status.ok());
  ASSERT_TRUE(Run({"convert", text, torch}).status.ok());
  ASSERT_TRUE(Run({"convert", torch, back, "--tokenizer", Tokenizer(), "--ranked"}).status.ok());
  EXPECT_EQ(ReadList(back).ids, ReadList(text).ids);
  EXPECT_EQ(ReadList(back).ids.size(), 500u);
  EXPECT_TRUE(ReadList(back).ranked);
  EXPECT_NE(ReadList(back).ids_fingerprint, "");
  ExpectRefused({"convert", text, back, "--top", "5"}, "have no ranks");
  ExpectRefused({"convert", DemoList(), back, "--top", "99999"}, "--top 99999 not in");
  ExpectRefused({"convert", text, back, "--vocab-size", "3"}, "not in [0, 3)");
  ExpectRefused({"convert", dir_.Write("bad.pt", "x"), back}, "bad.pt");
  ExpectRefused({"convert", text, dir_.Join("a.foo")}, "a.foo: lists are written as .vocab.json");
  EXPECT_THAT(Run({"convert", back, text}).out,
              HasSubstr("in rank order: lost are the mark that they are ranked ("));
  ASSERT_TRUE(Run({"convert", back, back}).status.ok());  // it is read before it is written
}

TEST_F(VocabTest, ConvertPinsOrReportsWhatIsMissing) {
  const std::string ids = dir_.Write("ids.txt", "5000\n6000\n"), to = dir_.Join("to.vocab.json");
  const auto run = [&](const Args& more) {
    ::testing::internal::CaptureStderr();
    const Outcome outcome = Run(Args{"convert", ids, to} + more);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(run({}), HasSubstr("convert: not checked whether the list holds byte, control"));
  const std::string missing = run({"--tokenizer", Tokenizer()});
  EXPECT_THAT(missing, HasSubstr("convert: the list lacks "));
  EXPECT_THAT(missing, HasSubstr(" of a control token or a single byte (--pin control+bytes"));
  EXPECT_EQ(ReadList(to).NumIds(), 2);
  EXPECT_EQ(run({"--tokenizer", Tokenizer(), "--pin", "control+bytes"}), "");
  EXPECT_GT(ReadList(to).pinned.size(), 256u);
  EXPECT_EQ(ReadList(to).NumIds(), std::ssize(ReadList(to).pinned) + 2);
  run({"--tokenizer", Tokenizer(), "--pin", "control"});
  EXPECT_LT(ReadList(to).pinned.size(), 100u);
  // Pinned ids come first within --top.
  const int64_t num_pinned = std::ssize(ReadList(to).pinned);
  const Args cut = {"--tokenizer", Tokenizer(), "--pin", "control", "--ranked", "--top"};
  run(cut + Args{std::to_string(num_pinned + 1)});
  EXPECT_EQ(ReadList(to).NumIds(), num_pinned + 1);
  ExpectRefused(Args{"convert", ids, to} + cut + Args{std::to_string(num_pinned)},
                "keeps pinned ids alone");
  ExpectRefused({"convert", ids, to, "--pin", "control"}, "--pin needs --model or --tokenizer");
  // A list that pins all of them lacks none.
  run({"--tokenizer", Tokenizer(), "--pin", "control+bytes"});
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(Run({"convert", to, to, "--tokenizer", Tokenizer()}).status.ok());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

/// The rank of the document, pinned ids where they stand in it.
TEST_F(VocabTest, ConvertKeepsRankThroughEveryFormat) {
  std::vector<TokenId> rank = ReadList(DemoList()).ByRank();
  for (const std::string name : {"r.txt", "r.npy", "r.pt"}) {
    const std::string ids = dir_.Join(name), back = dir_.Join("back.vocab.json");
    ASSERT_TRUE(Run({"convert", DemoList(), ids}).status.ok());
    ASSERT_TRUE(Run({"convert", ids, back, "--tokenizer", Tokenizer(), "--ranked"}).status.ok());
    EXPECT_EQ(ReadList(back).ids, rank) << name;
  }
}

/// "N ids" of each command's output.
TEST_F(VocabTest, EveryCommandReportsSameNumberOfIds) {
  const std::string list = dir_.Join("l.vocab.json"), other = dir_.Join("o.vocab.json");
  const std::string num_ids = [&] {
    const Outcome built = Run(Build(dir_.Write("a.txt", kText), list) +
                              Args{"--min-pair-count", "1", "--common", "0"});
    EXPECT_TRUE(built.status.ok()) << built.status;
    const size_t begin = built.out.find(": ") + 2;
    return built.out.substr(begin, built.out.find(' ', begin) - begin);
  }();
  EXPECT_EQ(num_ids, std::to_string(ReadList(list).PinnedFirst().size()));
  EXPECT_GT(ReadList(list).NumIds(), std::ssize(ReadList(list).ids));  // some are pinned alone
  EXPECT_THAT(Run({"convert", list, other}).out, HasSubstr(": " + num_ids + " ids of "));
  EXPECT_THAT(Run({"merge", list, "--out", other}).out, HasSubstr(": " + num_ids + " ids of "));
  EXPECT_THAT(Run({"show", list}).out, HasSubstr("  " + num_ids + " of 16384"));
  EXPECT_EQ(json::parse(Run({"show", list, "--json"}).out)["num_ids"], std::stoll(num_ids));
  EXPECT_THAT(Run({"diff", list, list}).out, HasSubstr(" " + num_ids + "\n"));
  const std::string num_successors = std::to_string(ReadList(list).NumSuccessors());
  const Args check = {"check", list, "--tokenizer", Tokenizer()};
  EXPECT_THAT(Run(check).out, HasSubstr(": " + num_ids + " ids of 16384, " + num_successors +
                                        " successors, none taken (:successors=M takes M"));
  EXPECT_THAT(
      Run({"check", list + ":successors=2", "--tokenizer", Tokenizer()}).out,
      HasSubstr(num_successors + " successors, at most 0 of a token in addition to these ids\n"));
  EXPECT_THAT(Run({"check", DemoList() + ":top=512:successors=7", "--tokenizer", Tokenizer()}).out,
              HasSubstr(" successors, at most 7 of a token in addition to these ids\n"));
  EXPECT_THAT(Run({"check", dir_.Write("i.txt", "3\n"), "--tokenizer", Tokenizer()}).out,
              HasSubstr(": 1 id of 16384, no successors; it names no tokenizer"));
}

TEST_F(VocabTest, MergeAndDiffRequireOneTokenizer) {
  const std::string a = dir_.Join("a.vocab.json"), b = dir_.Join("b.vocab.json"),
                    both = dir_.Join("c.vocab.json");
  ASSERT_TRUE(Run(Build(dir_.Write("a.txt", "vector vector class"), a) + Args{"--pin", "none"})
                  .status.ok());
  ASSERT_TRUE(
      Run(Build(dir_.Write("b.txt", "whale whale sea"), b) + Args{"--pin", "none"}).status.ok());
  ASSERT_TRUE(Run({"merge", a, b, "--weight", "1", "3", "--out", both}).status.ok());
  EXPECT_EQ(ReadList(both).fingerprint, ReadList(a).fingerprint);
  ExpectRefused({"merge", a, b, a, "--out", both}, a + ": given twice");
  EXPECT_EQ(ReadList(both).ids_fingerprint, "");
  ASSERT_TRUE(Run({"merge", a, b, "--out", both, "--tokenizer", Tokenizer()}).status.ok());
  EXPECT_TRUE(Run({"check", both, "--tokenizer", Tokenizer()}).status.ok());
  const Outcome diff = Run({"diff", a, both, "--tokenizer", Tokenizer()});
  ASSERT_TRUE(diff.status.ok()) << diff.status;
  EXPECT_THAT(diff.out, HasSubstr("\" sea\""));
  EXPECT_THAT(diff.out, HasSubstr("only in the first:  \n"));

  VocabList foreign = ReadList(b);
  foreign.fingerprint = "fnv1a64:0000000000000000";
  foreign.ids_fingerprint.clear();
  const std::string other = dir_.Join("other.vocab.json");
  ASSERT_TRUE(WriteListFile(other, foreign).ok());
  ExpectRefused({"merge", a, other, "--out", both},
                "other.vocab.json: the tokenizer's fingerprint is");
  ExpectRefused({"merge", a, b, "--weight", "nan", "1", "--out", both}, "'nan' not in (0, 1e9]");
  ExpectRefused({"merge", a, b, "--weight", "1", "--out", both}, "1 weight for 2 lists");
  ExpectRefused({"diff", a, other}, "lists of other tokenizers");
  ExpectRefused({"check", other, "--tokenizer", Tokenizer()},
                "made for the tokenizer with fingerprint");
}

TEST_F(VocabTest, TuneNamesFastestSize) {
  const Outcome tuned =
      Run(Args{"tune"} + DemoPair() +
          Args{"--vocab", DemoList() + ":successors=64", "--prompt", "The `vector` class",
               "--max-new-tokens", "12", "--sizes", "512,2048", "--repetitions", "1", "--json"});
  ASSERT_TRUE(tuned.status.ok()) << tuned.status;
  const json object = json::parse(tuned.out);
  ASSERT_EQ(object["rows"].size(), 3u);
  EXPECT_EQ(object["rows"][0]["num_rows"], 16384);
  EXPECT_EQ(object["rows"][1]["num_rows"], 512 + 64);
  EXPECT_GT(object["rows"][1]["tokens_per_s"], 0.0);
  for (const json& row : object["rows"]) {
    EXPECT_GT(row["head_ms"], 0.0);
    EXPECT_GT(row["peak_bytes"], 0);
  }
  EXPECT_LT(object["rows"][1]["head_bytes"], object["rows"][0]["head_bytes"]);
  EXPECT_THAT(Run(Args{"tune"} + DemoPair() +
                  Args{"--vocab", DemoList(), "--prompt", "The", "--max-new-tokens", "2", "--sizes",
                       "512", "--repetitions", "1"})
                  .out,
              HasSubstr("saves bytes read per draft step (head MB/step), not memory"));
  ExpectRefused(Args{"tune", "--prompt", "x"} + DemoTarget() + Args{"--vocab", DemoList()},
                "tune needs --draft");
  ExpectRefused(Args{"tune", "--prompt", "x"} + DemoPair() + Args{"--vocab", DemoList() + ":top=5"},
                "without :top");
}

TEST_F(VocabTest, UnknownSubcommandGetsSuggestion) {
  ExpectRefused({"bild"}, "no subcommand bild; did you mean build?");
  ExpectRefused({"show", DemoList(), "--jsn"}, "show has no flag --jsn; did you mean --json?");
}

TEST(StaticVocabFlagsTest, OriginalNamesChooseBase) {
  const Args target = DemoTarget() + Args{"--prompt", "x"};
  const auto ratio =
      ParseRunFlags(target + Args{"--use-static-vocab", "--static-vocab-ratio", "0.25"});
  ASSERT_TRUE(ratio.ok()) << ratio.status();
  EXPECT_TRUE(ratio->vocab.use_static_vocab);
  EXPECT_EQ(ratio->vocab.static_vocab_ratio, 0.25);
  const auto path =
      ParseRunFlags(target + Args{"--use-static-vocab", "--custom-vocab-path", "list.pt"});
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(path->vocab.custom_vocab_path, "list.pt");
  EXPECT_EQ(ParseRunFlags(target + Args{"--use-static-vocab"})->vocab.static_vocab_ratio, 0.5);
  for (const Args& bad : {Args{"--static-vocab-ratio", "0.25"}, Args{"--custom-vocab-path", "f"},
                          Args{"--use-static-vocab", "--vocab", "full"},
                          Args{"--use-static-vocab", "--static-vocab-ratio", "nan"},
                          Args{"--use-static-vocab", "--static-vocab-ratio", "0"}}) {
    EXPECT_FALSE(ParseRunFlags(target + bad).ok());
  }
}

}  // namespace
}  // namespace shortlist

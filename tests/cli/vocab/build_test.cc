#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file.h"
#include "cli/vocab/corpus_counter.h"
#include "cli/vocab/counted_already.h"
#include "cli/vocab/file_lock.h"
#include "cli/vocab/stop_signals.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/cli_testing.h"
#include "tests/support/temp_dir.h"
#include "vocab/counting/count_file.h"
#include "vocab/formats/list_file.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t kMaxBytes = int64_t{1} << 30;
const char* const kText = "The vector class is a class of the standard library.\n";
const char* const kRows = "{\"text\": \"a class\", \"answer\": \"a vector\"}\n";

/// `shortlist vocab build`, with its input and output files.
class BuildTest : public ::testing::Test {
 protected:
  static std::string Tokenizer() { return SourcePath("models/demo/target/tokenizer.model"); }

  Args Build(const Args& args) const {
    return Args{"build", "--tokenizer", Tokenizer(), "--threads", "2"} + args;
  }
  Outcome Run(const Args& args, const std::string& input = "") {
    ::testing::internal::CaptureStderr();
    Outcome outcome = RunVocab(Build(args), input);
    err_ = ::testing::internal::GetCapturedStderr();
    return outcome;
  }
  void ExpectRefused(const Args& args, const std::string& words, const std::string& input = "") {
    const Outcome outcome = Run(args, input);
    EXPECT_FALSE(outcome.status.ok()) << words;
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(words));
    EXPECT_EQ(outcome.out, "");
  }
  static VocabList ReadList(const std::string& path) {
    auto list = ReadListFile(path, {});
    EXPECT_TRUE(list.ok()) << list.status();
    return *list;
  }
  static std::string Contents(const std::string& path) { return *ReadFile(path, kMaxBytes); }

  const TempDir dir_;
  std::string err_;
};

TEST_F(BuildTest, CountsOfChangedTextsAreRejected) {
  const std::string log = dir_.Write("log.txt", kText), counts = dir_.Join("c"),
                    out = dir_.Join("l.vocab.json");
  const Args args = {"--text", log, "--counts", counts, "--out", out};
  ASSERT_TRUE(Run(args).status.ok());
  EXPECT_EQ(err_, "");
  const VocabList once = ReadList(out);

  ASSERT_TRUE(Run(args).status.ok());
  EXPECT_EQ(err_, "build: counted already, not read: " + log + "\n");
  EXPECT_EQ(ReadList(out).counts, once.counts);

  const std::string kept = Contents(counts);
  std::ofstream(log, std::ios::app) << kText;
  ExpectRefused(args, counts + ": has counted " + log + " with 53 bytes of ");
  ExpectRefused(args, "and now it has 106 bytes of ");
  ExpectRefused(args, "name another file for --counts, or remove this one to count anew");
  // As long as it was, but of another time.
  fs::resize_file(log, 53);
  fs::last_write_time(log, fs::last_write_time(log) + std::chrono::seconds(5));
  ExpectRefused(args, "and now it has 53 bytes of ");
  EXPECT_EQ(Contents(counts), kept);
}

TEST_F(BuildTest, NamesFlagsThatExcludeAllSuccessors) {
  const std::string text = dir_.Write("a.txt", kText), out = dir_.Join("l.vocab.json");
  const auto line = [&](const Args& args) {
    return Run(Args{"--text", text, "--out", out} + args).out;
  };
  EXPECT_THAT(line({}), HasSubstr("(left out by --common 256"));
  EXPECT_THAT(line({"--common", "0", "--min-pair-count", "50"}),
              HasSubstr("(left out by --min-pair-count 50)"));
  EXPECT_THAT(line({"--common", "256", "--min-pair-count", "1"}),
              HasSubstr("(left out by --common 256)"));
  EXPECT_THAT(line({"--successors", "0"}), HasSubstr("(--successors 0)"));
  EXPECT_THAT(line({"--common", "0", "--min-pair-count", "1"}),
              ::testing::Not(HasSubstr("left out")));
}

TEST_F(BuildTest, FailedTextAllowsOtherTextsAfterIt) {
  const std::string bad = dir_.Write("bad.jsonl", std::string(kRows) + "{"),
                    counts = dir_.Join("c"), a = dir_.Write("a.txt", kText),
                    b = dir_.Write("b.txt", kText);
  ExpectRefused({"--text", bad, a, "--counts", counts}, "bad.jsonl line 2");
  dir_.Write("bad.jsonl", std::string(kRows) + kRows);
  ASSERT_TRUE(Run({"--text", bad, b, "--counts", counts}).status.ok());
  ASSERT_TRUE(Run({"--text", bad, b, a, "--counts", counts}).status.ok());
  EXPECT_EQ(err_, "build: counted already, not read: " + bad +
                      "\nbuild: counted already, not read: " + b + "\n");
  ASSERT_TRUE(Run({"--text", bad, "--counts", counts}).status.ok());
  EXPECT_THAT(err_, HasSubstr("counted already, not given now: " + a + "\n"));
}

TEST_F(BuildTest, CountsOfOtherRowKeysAreRejected) {
  const std::string rows = dir_.Write("r.jsonl", kRows), counts = dir_.Join("c");
  const Args args = {"--text", rows, "--counts", counts};
  ASSERT_TRUE(Run(args).status.ok());
  ExpectRefused(args + Args{"--text-key", "answer"},
                " as rows by --text-key text, and now it is to be rows by --text-key answer");
  ExpectRefused(args + Args{"--prompts-key", "answer"}, "--prompts-key answer");
  // Where no file has rows, no member matters.
  const std::string text = dir_.Write("a.txt", kText);
  const Args of_text = {"--text", text, "--counts", dir_.Join("t")};
  ASSERT_TRUE(Run(of_text).status.ok());
  ASSERT_TRUE(Run(of_text + Args{"--text-key", "answer"}).status.ok());
  ExpectRefused(of_text + Args{"--jsonl"}, " as text, and now it is to be rows");
}

TEST_F(BuildTest, StandardInputIsCountedOnce) {
  const std::string counts = dir_.Join("c");
  const Args args = {"--text", "-", "--counts", counts};
  ASSERT_TRUE(Run(args, kText).status.ok());
  ExpectRefused(args, "has counted standard input already, whose bytes come but once", kText);
}

TEST_F(BuildTest, OlderCountsAreAcceptedWithoutChangeDetection) {
  const std::string text = dir_.Write("a.txt", kText), counts = dir_.Join("c");
  const Args args = {"--text", text, "--counts", counts, "--out", dir_.Join("l.vocab.json")};
  ASSERT_TRUE(Run(args).status.ok());
  const VocabList list = ReadList(dir_.Join("l.vocab.json"));
  auto read = ReadCounts(counts, list.vocab_size, list.fingerprint, 1 << 20);
  ASSERT_TRUE(read.ok()) << read.status();
  read->corpora[0].files[0].bytes = -1;
  read->corpora[0].read_as.clear();
  ASSERT_TRUE(WriteCounts(counts, *read).ok());
  ASSERT_TRUE(Run(args).status.ok());
  EXPECT_THAT(err_, HasSubstr("counted already, not read: " + text +
                              " (whether it has changed since is not known: " + counts));
  EXPECT_EQ(ReadList(dir_.Join("l.vocab.json")).counts, list.counts);
}

TEST_F(BuildTest, OutputsMustDifferFromInputs) {
  const std::string text = dir_.Write("a.txt", kText), counts = dir_.Join("c.txt"),
                    link = dir_.Join("link.txt"), tokenizer = dir_.Join("t.txt");
  ASSERT_TRUE(Run({"--text", text, "--counts", counts}).status.ok());
  fs::create_symlink(text, link);
  fs::create_hard_link(text, dir_.Join("hard.txt"));
  fs::copy(Tokenizer(), tokenizer);
  const std::string kept = Contents(counts);
  ExpectRefused({"--text", text, "--out", text}, "--out " + text + ": the same file as --text ");
  ExpectRefused({"--text", text, "--out", link}, "--out " + link + ": the same file as --text ");
  ExpectRefused({"--text", text, "--out", dir_.Join("hard.txt")}, "the same file as --text ");
  ExpectRefused({"--text", text, "--counts", link}, "--counts " + link + ": the same file as ");
  ExpectRefused({"--text", text, "--counts", counts, "--out", counts},
                "the same file as --out " + counts);
  ExpectRefused({"--text", text, "--counts", dir_.Join("new.txt"), "--out", dir_.Join("new.txt")},
                "the same file as --out ");
  ExpectRefused({"--add-counts", counts, "--out", counts}, "the same file as --add-counts ");
  ExpectRefused({"--text", text, "--counts", counts, "--add-counts", counts, "--out",
                 dir_.Join("l.vocab.json")},
                "the same file as --add-counts ");
  const Outcome lost =
      RunVocab({"build", "--tokenizer", tokenizer, "--text", text, "--out", tokenizer});
  EXPECT_THAT(std::string(lost.status.message()), HasSubstr("the same file as --tokenizer "));
  EXPECT_EQ(Contents(text), kText);
  EXPECT_EQ(Contents(counts), kept);
  EXPECT_EQ(Contents(tokenizer), Contents(Tokenizer()));
  EXPECT_TRUE(Run({"--text", text, "--out", "/dev/null"}).status.ok());
}

TEST_F(BuildTest, NoInputIsCountedTwice) {
  const std::string text = dir_.Write("a.txt", kText), counts = dir_.Join("c"),
                    out = dir_.Join("l.vocab.json");
  ASSERT_TRUE(Run({"--text", text, "--counts", counts}).status.ok());
  ExpectRefused({"--text", text, text, "--out", out}, "--text " + text + " is given twice");
  ExpectRefused({"--text", text, dir_.Join("*.txt"), "--out", out}, "is given twice");
  ExpectRefused({"--text", "-", "-", "--out", out}, "--text - is given twice", kText);
  ExpectRefused({"--add-counts", counts, counts, "--out", out}, "is given twice");
  fs::create_symlink(text, dir_.Join("b.txt"));
  ExpectRefused({"--text", dir_.Join("*.txt"), "--out", out},
                "b.txt: the same file as --text " + text);
}

TEST_F(BuildTest, ListFormatIsKnownAndLossIsReported) {
  const std::string text = dir_.Write("a.txt", kText);
  for (const char* const name : {"l.vocab.json.gz", "l.foo", "l.txt.xz", "l.bin"}) {
    ExpectRefused({"--text", text, "--out", dir_.Join(name)},
                  "lists are written as .vocab.json, .vocab.json.xz, .txt, .pt, .npy or");
    EXPECT_FALSE(fs::exists(dir_.Join(name)));
  }
  for (const char* const name : {"l.txt", "l.pt", "l.npy", "l.safetensors"}) {
    const Outcome built =
        Run({"--text", text, "--min-pair-count", "1", "--common", "0", "--out", dir_.Join(name)});
    ASSERT_TRUE(built.status.ok()) << built.status;
    EXPECT_THAT(built.out, HasSubstr("lost are the mark that they are ranked, counts, successors, "
                                     "which are pinned (.vocab.json keeps all)"));
    EXPECT_THAT(built.out, HasSubstr(std::string_view(name).ends_with(".safetensors")
                                         ? "; ids alone, ascending: "
                                         : "; ids alone, in rank order: "));
  }
  EXPECT_THAT(Run({"--text", text, "--out", dir_.Join("l.vocab.json")}).out,
              Not(HasSubstr("lost")));
}

/// Compares the list made of counts with the list of all texts in one run.
TEST_F(BuildTest, CountsMergeInAnyTree) {
  std::vector<std::string> texts, counts;
  for (const std::string name : {"a", "b", "c", "d"}) {
    std::string words = kText;
    for (size_t i = 0; i < 3 * texts.size(); ++i) words += "int main() { return " + name + "; }\n";
    texts.push_back(dir_.Write(name + ".txt", words));
    counts.push_back(dir_.Join(name + ".counts"));
    ASSERT_TRUE(Run({"--text", texts.back(), "--counts", counts.back()}).status.ok());
  }
  const std::string at_once = dir_.Join("all.vocab.json");
  const Args more = {"--min-pair-count", "1", "--common", "0"};
  ASSERT_TRUE(Run(Args{"--text"} + texts + more + Args{"--out", at_once}).status.ok());
  const auto expect_all = [&](const Args& args) {
    const std::string out = dir_.Join("merged.vocab.json");
    const Outcome built = Run(args + more + Args{"--out", out});
    ASSERT_TRUE(built.status.ok()) << built.status;
    EXPECT_EQ(ReadList(out).ids, ReadList(at_once).ids);
    EXPECT_EQ(ReadList(out).counts, ReadList(at_once).counts);
    EXPECT_EQ(ReadList(out).successors, ReadList(at_once).successors);
  };
  const std::string ab = dir_.Join("ab"), abc = dir_.Join("abc"), cd = dir_.Join("cd"),
                    abcd = dir_.Join("abcd");
  const Outcome merged = Run({"--add-counts", counts[0], counts[1], "--counts", ab});
  ASSERT_TRUE(merged.status.ok()) << merged.status;
  EXPECT_THAT(merged.out, testing::StartsWith(ab + ": 2 corpora of "));
  expect_all({"--add-counts", ab, counts[2], counts[3]});
  // A chain, with a text in it; and a tree.
  const Args chain = {"--add-counts", ab, "--text", texts[2], "--counts", abc};
  ASSERT_TRUE(Run(chain).status.ok());
  expect_all({"--add-counts", abc, counts[3]});
  ASSERT_TRUE(Run({"--add-counts", counts[2], counts[3], "--counts", cd}).status.ok());
  ASSERT_TRUE(Run({"--add-counts", ab, cd, "--counts", abcd}).status.ok());
  expect_all({"--add-counts", abcd});
  // The same command again adds nothing, by whatever path; nor is anything lost without the flag.
  fs::create_symlink(ab, dir_.Join("link"));
  for (const Args& again :
       {chain, Args{"--add-counts", dir_.Join("link"), "--text", texts[2], "--counts", abc},
        Args{"--text", texts[2], "--counts", abc}}) {
    ASSERT_TRUE(Run(again).status.ok());
    EXPECT_EQ(err_.find("not given now: " + ab) != std::string::npos, again[0] == "--text");
    expect_all({"--add-counts", abc, counts[3]});
  }
  expect_all({"--text", texts[2], texts[3], "--counts", abc});
}

TEST_F(BuildTest, AddedCountsAreReadFromCurrentFile) {
  const std::string a = dir_.Write("a.txt", kText), b = dir_.Write("b.txt", kText),
                    counts = dir_.Join("c"), merged = dir_.Join("m"),
                    out = dir_.Join("l.vocab.json");
  const auto most = [&] {
    EXPECT_TRUE(Run({"--add-counts", counts, "--counts", merged, "--out", out}).status.ok());
    return ReadList(out).counts[0];
  };
  ASSERT_TRUE(Run({"--text", a, "--counts", counts}).status.ok());
  const int64_t once = most();
  ASSERT_TRUE(Run({"--text", a, b, "--counts", counts}).status.ok());
  EXPECT_EQ(most(), 2 * once);
  EXPECT_EQ(most(), 2 * once);
  ExpectRefused({"--add-counts", dir_.Join("absent"), "--counts", merged}, "absent: no such file");
  ExpectRefused({"--add-counts", merged, "--counts", merged}, "the same file as --add-counts ");
}

TEST_F(BuildTest, CountsOfConcurrentRunAreRejected) {
  const std::string a = dir_.Write("a.txt", kText), b = dir_.Write("b.txt", kText),
                    counts = dir_.Join("c"), link = dir_.Join("link");
  {
    const auto lock = FileLock::Take(counts);
    ASSERT_TRUE(lock.ok()) << lock.status();
    ExpectRefused({"--text", b, "--counts", counts}, counts + ": another run is writing to it");
    EXPECT_FALSE(fs::exists(counts));
    EXPECT_TRUE(Run({"--text", b, "--counts", dir_.Join("other")}).status.ok());
  }
  EXPECT_FALSE(fs::exists(counts + ".lock"));
  dir_.Write("c.lock", "");  // as a run that was killed leaves it
  ASSERT_TRUE(Run({"--text", a, "--counts", counts}).status.ok());
  EXPECT_FALSE(fs::exists(counts + ".lock"));
  // By whatever name, and once more after the other run.
  fs::create_symlink(counts, link);
  {
    const auto lock = FileLock::Take(link);
    ASSERT_TRUE(lock.ok()) << lock.status();
    ExpectRefused({"--text", a, b, "--counts", counts}, "another run is writing to it");
  }
  EXPECT_TRUE(Run({"--text", a, b, "--counts", link}).status.ok());
  EXPECT_EQ(*FileLock::Take("/dev/null"), nullptr);
}

TEST_F(BuildTest, WeightsOfAddedCountsAreKept) {
  const std::string a = dir_.Write("a.txt", kText), counts = dir_.Join("c"), m = dir_.Join("m"),
                    out = dir_.Join("l.vocab.json");
  ASSERT_TRUE(Run({"--text", a, "--counts", counts}).status.ok());
  ASSERT_TRUE(Run({"--add-counts", "3@" + counts, "--counts", m}).status.ok());
  ASSERT_TRUE(Run({"--add-counts", m, "--out", out}).status.ok());
  EXPECT_THAT(ReadList(out).source, HasSubstr("weight 3"));
}

TEST_F(BuildTest, BinaryFilesAreRejectedBeforeCounting) {
  const std::string table = dir_.Write("t.parquet", "PAR1\x15\4" + std::string(99, '\0') + "PAR1"),
                    counts = dir_.Join("c"), out = dir_.Join("l.vocab.json");
  ExpectRefused({"--text", table, "--out", out},
                table + ": a Parquet file, and only text and rows");
  ExpectRefused({"--text", "-", "--out", out}, "standard input: an SQLite database",
                std::string("SQLite format 3\0", 16));
  EXPECT_FALSE(fs::exists(out));
}

TEST_F(BuildTest, RowsWithoutPromptAreReported) {
  const std::string rows = dir_.Write("r.jsonl", kRows), out = dir_.Join("l.vocab.json");
  ASSERT_TRUE(Run({"--text", rows, "--prompts-key", "quest", "--out", out}).status.ok());
  EXPECT_THAT(err_, HasSubstr("1 row without \"quest\" was read without a prompt"));
  ASSERT_TRUE(Run({"--text", rows, "--prompts-key", "answer", "--out", out}).status.ok());
  EXPECT_EQ(err_, "");
}

TEST_F(BuildTest, ListErrorsAreReportedBeforeCounting) {
  const std::string a = dir_.Write("a.txt", kText), b = dir_.Write("b.txt", kText),
                    counts = dir_.Join("c"), added = dir_.Join("added"),
                    out = dir_.Join("l.vocab.json");
  ASSERT_TRUE(Run({"--text", b, "--counts", added}).status.ok());
  const Args args = {"--text", a, "--counts", counts, "--out", out};
  ExpectRefused({"--text", "2@" + a, b, "--counts", counts, "--out", out},
                "1 of 2 corpora have a weight");
  ExpectRefused(args + Args{"--add-counts", "3@" + added}, "1 of 2 corpora have a weight");
  ExpectRefused(args + Args{"--top", "16385"}, "16385 ids asked for, not in [1, 16384]");
  ExpectRefused(args + Args{"--top", "5"}, "pinned ids are more than the 5 asked for");
  ExpectRefused(args + Args{"--add-counts", dir_.Write("bad", "x")}, "not a file of counts");
  EXPECT_FALSE(fs::exists(counts));
  // Counts alone are no mix yet; what they are is kept, and has to fit in the end.
  ASSERT_TRUE(Run({"--text", "2@" + a, b, "--counts", counts}).status.ok());
  ExpectRefused({"--text", "2@" + a, "--counts", counts, "--out", out},
                "1 of 2 corpora have a weight");
  ExpectRefused({"--text", "2@" + a, "1@" + b, "--counts", counts, "--out", out}, "another weight");
  EXPECT_FALSE(fs::exists(out));
}

TEST_F(BuildTest, CountFileLimitsAreReportedBeforeCounting) {
  const std::string text = dir_.Write("\xFF.txt", kText), counts = dir_.Join("c");
  ExpectRefused({"--text", text, "--counts", counts}, "\xEF\xBF\xBD.txt: not valid UTF-8 at byte");
  ExpectRefused({"--text", dir_.Join("*.txt"), "--counts", counts}, "not valid UTF-8 at byte");
  ExpectRefused({"--text", dir_.Write("a.jsonl", kRows), "--text-key", "\xFF", "--counts", counts},
                "not valid UTF-8 at byte 0");
  EXPECT_TRUE(Run({"--text", text, "--out", dir_.Join("l.vocab.json")}).status.ok());
  Args many = {"--counts", counts, "--text"};
  for (int i = 0; i <= kMaxCountedCorpora; ++i) {
    many.push_back(dir_.Write("n" + std::to_string(i), kText));
  }
  ExpectRefused(many, "1025 corpora, more than the 1024 that a file of counts holds");
  EXPECT_FALSE(fs::exists(counts));
}

TEST(ProgressNoteTest, ReportsShareAndTimeLeft) {
  EXPECT_EQ(ProgressNote(200'000'000, 800'000'000, 60), "; 25% of 800 MB, 3 min left");
  EXPECT_EQ(ProgressNote(400'000'000, 800'000'000, 60), "; 50% of 800 MB, 60 s left");
  EXPECT_EQ(ProgressNote(800'000'001, 800'000'000, 60), "; 100% of 800 MB, 0 s left");
  EXPECT_EQ(ProgressNote(0, 800'000'000, 60), "");
  EXPECT_EQ(ProgressNote(7, 0, 60), "");  // size unknown: standard input
}

/// `count` rows of some 2,000 bytes that need no tokenizer.
std::string ManyRows(int count) {
  std::string row = R"({"text":[7)";
  for (int i = 0; i < 999; ++i) row += ",7";
  row += "]}\n";
  std::string rows;
  for (int i = 0; i < count; ++i) rows += row;
  return rows;
}

TEST_F(BuildTest, SignalKeepsCountsAndSameCommandResumes) {
  const std::string pipe = dir_.Join("r.jsonl"), counts = dir_.Join("c"),
                    out = dir_.Join("l.vocab.json"), err = dir_.Join("err");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string rows = ManyRows(1500);  // more than a batch
  Args full =
      Args{SHORTLIST_BINARY, "vocab"} + Build({"--text", pipe, "--counts", counts, "--out", out});
  std::vector<char*> argv;
  for (std::string& arg : full) argv.push_back(arg.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  {
    std::ofstream writer(pipe);  // waits until the process reads, which heeds signals by then
    writer << rows << std::flush;
    kill(child, SIGTERM);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_THAT(Contents(err), HasSubstr("build: stopped; what is counted is kept in " + counts));
  EXPECT_FALSE(fs::exists(out));

  fs::remove(pipe);
  dir_.Write("r.jsonl", "\"another\"\n" + rows);
  const auto expect_refused = [&](const std::string& words) {
    ExpectRefused({"--text", pipe, "--counts", counts, "--out", out}, words);
  };
  expect_refused(" documents of " + pipe + ", whose first ones are others now: name another file");
  dir_.Write("r.jsonl", kRows);
  expect_refused(" documents of " + pipe + ", which now has 1: name another file for --counts");
  dir_.Write("r.jsonl", rows);
  ASSERT_TRUE(Run({"--text", pipe, "--counts", counts, "--out", out}).status.ok());
  EXPECT_EQ(ReadList(out).counts[0], 1500 * 1000);
}

/// Counts of one row of the file, from which a run resumes.
class ResumedCountTest : public ::testing::Test {
 protected:
  static constexpr int64_t kVocabSize = 16;

  ResumedCountTest() {
    const std::vector<Document> first = {{.ids = {7}}};
    CorpusCounts& corpus = counts_.corpora.emplace_back(path_, 0.0, kVocabSize, 1 << 10);
    corpus.open_file = path_;
    corpus.num_documents = 1;
    corpus.documents_crc = AddCrc(first, 0);
    corpus.read_as = "rows by --text-key text";
    EXPECT_TRUE(CountDocuments(first, encode_, pool_, corpus).ok());
  }

  absl::Status Count() {
    ::testing::internal::CaptureStderr();
    std::istringstream in;
    const absl::Status status = CorpusCounter({.max_pairs = 1 << 10, .counts_path = dir_.Join("c")},
                                              encode_, pool_, counts_)
                                    .Count({{.name = path_, .files = {path_}}}, in);
    err_ = ::testing::internal::GetCapturedStderr();
    return status;
  }

  const TempDir dir_;
  const std::string path_ = dir_.Join("r.jsonl");
  const EncodeText encode_ = [](std::string_view) { return std::vector<TokenId>(); };
  ThreadPool pool_{1};
  Counts counts_{.vocab_size = kVocabSize, .fingerprint = "f"};
  std::string err_;
};

TEST_F(ResumedCountTest, ChangedDocumentsAreRejected) {
  dir_.Write("r.jsonl", "{\"text\": [8]}\n{\"text\": [9]}\n");
  const absl::Status status = Count();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(": has counted 1 document of " + path_ + ", whose first ones are others"));
  EXPECT_EQ(counts_.corpora[0].num_tokens, 1);
}

TEST_F(ResumedCountTest, UncountedRestMayChange) {
  dir_.Write("r.jsonl", "{\"text\": [7]}\n{\"text\": [9]}\n");
  const absl::Status status = Count();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(counts_.corpora[0].num_tokens, 2);
  EXPECT_EQ(counts_.corpora[0].files.size(), 1u);
  EXPECT_EQ(err_, "");
}

TEST_F(ResumedCountTest, OlderCountsCannotDetectChanges) {
  counts_.corpora[0].documents_crc.reset();
  dir_.Write("r.jsonl", "{\"text\": [8]}\n{\"text\": [9]}\n");
  ASSERT_TRUE(Count().ok());
  EXPECT_THAT(err_, HasSubstr("whether " + path_ + ", counted in part, has changed since is not"));
  EXPECT_EQ(counts_.corpora[0].tokens[9], 1);
}

/// Counts of a text with which something happens while its tokens are counted.
class ChangingTextTest : public ::testing::Test {
 protected:
  absl::Status Count(const std::function<void()>& change) {
    dir_.Write("t.txt", kText);
    const EncodeText encode = [&change](std::string_view) {
      change();
      return std::vector<TokenId>{7};
    };
    ThreadPool pool(1);
    std::istringstream in;
    counts_ = {.vocab_size = 16, .fingerprint = "f"};
    return CorpusCounter({.max_pairs = 1 << 10}, encode, pool, counts_)
        .Count({{.name = path_, .files = {path_}}}, in);
  }

  void ExpectRefused(const std::function<void()>& change, const std::string& words) {
    const absl::Status status = Count(change);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(path_ + ": has changed while it was read: it had 53 bytes of "));
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
    EXPECT_TRUE(counts_.corpora[0].files.empty());  // none is counted to its end
  }

  const TempDir dir_;
  const std::string path_ = dir_.Join("t.txt");
  Counts counts_;
};

TEST_F(ChangingTextTest, FileThatChangesDuringReadIsRejected) {
  ASSERT_EQ(std::string_view(kText).size(), 53u);
  ExpectRefused([&] { fs::resize_file(path_, 10); }, ", and now it has 10 bytes of ");
  ExpectRefused([&] { fs::resize_file(path_, 0); }, ", and now it has 0 bytes of ");
  ExpectRefused([&] { fs::resize_file(path_, 60); }, ", and now it has 60 bytes of ");
  ExpectRefused(
      [&] { fs::last_write_time(path_, fs::file_time_type::clock::now() + std::chrono::hours(1)); },
      ", and now it has 53 bytes of ");
  ExpectRefused([&] { fs::rename(dir_.Write("other.txt", "other"), path_); },
                ", and now it has 5 bytes of ");
  ExpectRefused([&] { fs::remove(path_); }, ", and now its name leads to no file");
}

TEST_F(ChangingTextTest, ChangeWithRestoredTimeIsRejected) {
  const auto write_and_set_back = [&] {
    const auto written = fs::last_write_time(path_);
    const int64_t before = LookAt(path_).changed_ns;
    // The clock of files may tick only every few milliseconds.
    for (int i = 0; i < 1000 && LookAt(path_).changed_ns == before; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::ofstream(path_) << std::string(53, 'x');
      fs::last_write_time(path_, written);
    }
  };
  ExpectRefused(write_and_set_back, ", but was changed at ");
}

TEST_F(ChangingTextTest, UnchangedFileIsCounted) {
  const absl::Status status = Count([] {});
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(counts_.corpora[0].files.size(), 1u);
}

TEST_F(ResumedCountTest, SignalEndsRunBeforeRereading) {
  dir_.Write("r.jsonl", "{\"text\": [7]}\n");
  counts_.corpora[0].num_documents = 2;  // one more than there is to read
  {
    const StopSignals signals;
    std::raise(SIGTERM);
    const absl::Status status = Count();
    EXPECT_TRUE(absl::IsCancelled(status)) << status;
  }
  EXPECT_EQ(ReadCounts(dir_.Join("c"), kVocabSize, "f", 1 << 10)->corpora[0].num_documents, 2);
  const StopSignals forgets;  // the stored signal
}

TEST(StopSignalsTest, SecondSignalEndsProcess) {
  for (const int second : {SIGINT, SIGTERM}) {
    const auto raise_two = [second] {
      const StopSignals signals;
      std::raise(SIGINT);
      if (StopSignals::Given() != SIGINT) _exit(1);
      std::raise(second);
      _exit(0);
    };
    EXPECT_EXIT(raise_two(), testing::KilledBySignal(second), "");
  }
}

}  // namespace
}  // namespace shortlist

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/model_source.h"
#include "io/safetensors.h"
#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/cli/vocab/draft_files.h"
#include "tests/support/temp_dir.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using ::testing::HasSubstr;

/// The tensors of a file as bytes.
std::map<std::string, std::string> TensorsOf(const std::string& path) {
  std::map<std::string, std::string> tensors;
  const auto file = OpenSafetensors(path);
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return tensors;
  for (const auto& [name, entry] : file->entries()) {
    std::string& bytes = tensors[name];
    bytes.resize(entry.num_bytes);
    EXPECT_TRUE(file->Read(entry, 0, entry.num_bytes, bytes.data()).ok());
  }
  return tensors;
}

/// `shortlist vocab reslice` on checkpoints for the demo target.
class ResliceTest : public ::testing::Test {
 protected:
  static std::string Target() { return SourcePath("models/demo/target"); }
  std::string Out() const { return dir_.Join("out"); }

  Outcome Run(const std::string& draft, const Args& more) const {
    return RunVocab(Args{"reslice", draft, "--model", Target(), "--out", Out()} + more);
  }
  void ExpectRefused(const std::string& draft, const Args& more, const std::string& words) const {
    const Outcome outcome = Run(draft, more);
    EXPECT_FALSE(outcome.status.ok()) << words;
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(words));
    EXPECT_EQ(outcome.out, "");
    EXPECT_FALSE(fs::exists(Out()));
    for (const auto& entry : fs::directory_iterator(dir_.path())) {
      EXPECT_EQ(entry.path().string().find("out.tmp"), std::string::npos) << entry.path();
    }
  }

  std::string Draft(const DraftFiles& files) const {
    files.WriteTo(dir_.Join("draft"));
    return dir_.Join("draft");
  }

  /// A list of text for these ids.
  std::string List(const std::vector<int64_t>& ids) const {
    std::string text;
    for (const int64_t id : ids) text += std::to_string(id) + "\n";
    return dir_.Write("list.txt", text);
  }

  /// The target's id of each row, as vLLM and SGLang compute it: the row plus d2t.
  std::vector<int64_t> EngineIds() const {
    const auto file = OpenSafetensors(Out() + "/model.safetensors");
    EXPECT_EQ(file->entries().at("d2t").dtype_name, "I64");
    std::vector<int64_t> ids = *file->ReadIntegers(file->entries().at("d2t"));
    for (size_t row = 0; row < ids.size(); ++row) ids[row] += static_cast<int64_t>(row);
    return ids;
  }

  /// Checks rows, mask and all other tensors of the output against `files`, whose row i is of
  /// `ids`[i].
  void ExpectCutOf(const DraftFiles& files, const std::vector<int64_t>& ids,
                   const std::vector<int64_t>& expected) const {
    ASSERT_EQ(EngineIds(), expected);
    auto source = TensorsOf(dir_.Join("draft") + "/model.safetensors");
    auto written = TensorsOf(Out() + "/model.safetensors");
    constexpr size_t kRowBytes = 2 * kDraftWidth;
    ASSERT_EQ(written["lm_head.weight"].size(), expected.size() * kRowBytes);
    for (size_t row = 0; row < expected.size(); ++row) {
      const size_t original = std::ranges::lower_bound(ids, expected[row]) - ids.begin();
      ASSERT_EQ(written["lm_head.weight"].substr(row * kRowBytes, kRowBytes),
                files.head.substr(original * kRowBytes, kRowBytes))
          << row;
    }
    std::string mask(kDemoVocab, '\0');
    for (const int64_t id : expected) mask[id] = 1;
    EXPECT_EQ(written["t2d"], mask);
    for (auto* tensors : {&source, &written}) {
      for (const char* const name : {"lm_head.weight", "d2t", "t2d"}) tensors->erase(name);
    }
    EXPECT_EQ(written, source);
    const ordered_json config =
        ParseOrderedJson(*ReadFile(Out() + "/config.json", kMaxConfigBytes));
    EXPECT_EQ(config["draft_vocab_size"], expected.size());
  }

  const TempDir dir_;
};

TEST_F(ResliceTest, ListSelectsRows) {
  const std::vector<int64_t> ids = FrequentIds(kDraftRows);
  DraftFiles files = DraftFiles::Of(ids);
  files.embedding = RowsOf(kDemoVocab, 16, /*seed=*/5);
  files.embedding_width = 16;
  const std::string draft = Draft(files);
  fs::copy(Target() + "/README.md", draft + "/README.md");
  // Every third id, and two that the head has no row for.
  std::vector<int64_t> wanted;
  for (size_t i = 0; i < ids.size(); i += 3) wanted.push_back(ids[i]);
  std::vector<int64_t> absent;
  for (int64_t id = kDemoVocab - 1; absent.size() < 2; --id) {
    if (!std::ranges::binary_search(ids, id)) absent.push_back(id);
  }
  std::vector<int64_t> asked = wanted;
  asked.insert(asked.end(), absent.begin(), absent.end());
  const Outcome outcome = Run(draft, {"--list", List(asked), "--pin", "none"});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  ExpectCutOf(files, ids, wanted);
  EXPECT_THAT(outcome.out, HasSubstr("1000 rows of 3000, from the draft's head, 0 of them pinned"));
  EXPECT_THAT(outcome.out,
              HasSubstr("without a row in the checkpoint: 2 ids: " + std::to_string(absent[0]) +
                        ", " + std::to_string(absent[1]) + "\n"));
  EXPECT_TRUE(fs::exists(Out() + "/README.md"));
  // The members of config.json keep their order.
  const ordered_json config = ParseOrderedJson(*ReadFile(Out() + "/config.json", kMaxConfigBytes));
  auto member = config.begin();
  for (const auto& [name, value] : files.config.items()) EXPECT_EQ((member++).key(), name);
}

TEST_F(ResliceTest, PinsAreKept) {
  const std::vector<int64_t> ids = FrequentIds(kDraftRows);
  const std::string draft = Draft(DraftFiles::Of(ids));
  const std::string list = SourcePath("vocab_lists/demo.vocab.json");
  const Outcome outcome = Run(draft, {"--list", list, "--rows", "1000"});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  ExpectCutOf(DraftFiles::Of(ids), ids, FrequentIds(1000));
  // Ids of the list after the last that was taken are not missed.
  EXPECT_THAT(outcome.out, ::testing::Not(HasSubstr("without a row")));
  fs::remove_all(Out());
  // A list without pins gets them all the same.
  const std::string rare = List({ids.back()});
  ASSERT_TRUE(Run(draft, {"--list", rare}).status.ok());
  const std::vector<int64_t> pinned = EngineIds();
  EXPECT_GT(pinned.size(), 256u);
  for (int64_t id = 1; id < 259; ++id) EXPECT_EQ(pinned[id - 1], id);  // control tokens and bytes
  fs::remove_all(Out());
  ExpectRefused(draft, {"--list", rare, "--rows", "100"}, "--rows 100 not in [");
}

TEST_F(ResliceTest, TextsSelectTheirTokens) {
  const std::vector<int64_t> ids = FrequentIds(kDraftRows);
  const std::string draft = Draft(DraftFiles::Of(ids));
  const std::string text = dir_.Write("text.txt", "the class of the class of the vector\n");
  const Outcome outcome = Run(draft, {"--text", text, "--pin", "none"});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  const std::vector<int64_t> all = EngineIds();
  EXPECT_THAT(outcome.out, HasSubstr("the rows hold "));
  fs::remove_all(Out());
  ASSERT_TRUE(Run(draft, {"--text", text, "--pin", "none", "--rows", "1"}).status.ok());
  const auto tokenizer = OpenTokenizer(ModelSource::OfDirectory(Target()));
  const std::vector<TokenId> the = *(*tokenizer)->Encode("the", {.add_special_tokens = false});
  EXPECT_EQ(EngineIds(), std::vector<int64_t>{Raw(the[0])});
  fs::remove_all(Out());
  ExpectRefused(draft, {"--text", text, "--pin", "none", "--rows", "2000"},
                "--rows 2000 not in [1, " + std::to_string(all.size()) + "]");
}

/// A head of the whole vocabulary; one that is tied to the embedding; one that is the target's.
TEST_F(ResliceTest, WholeHeadsAreCut) {
  const std::vector<int64_t> wanted = FrequentIds(700);
  std::vector<int64_t> all(kDemoVocab);
  for (int64_t id = 0; id < kDemoVocab; ++id) all[id] = id;
  DraftFiles files = DraftFiles::Of({});
  files.t2d_ids.reset();
  files.config["draft_vocab_size"] = nullptr;
  files.head = RowsOf(kDemoVocab, kDraftWidth, /*seed=*/6);
  ASSERT_TRUE(Run(Draft(files), {"--list", List(wanted), "--pin", "none"}).status.ok());
  ExpectCutOf(files, all, wanted);
  fs::remove_all(Out());
  ExpectRefused(Draft(files), {"--list", List(all)}, "names all 16384 ids: nothing is cut");

  DraftFiles tied = files;
  tied.embedding = std::exchange(tied.head, "");
  tied.embedding_width = kDraftWidth;
  tied.config["tie_word_embeddings"] = true;
  ASSERT_TRUE(Run(Draft(tied), {"--list", List(wanted), "--pin", "none"}).status.ok());
  ExpectCutOf(files, all, wanted);
  const auto config = ParseOrderedJson(*ReadFile(Out() + "/config.json", kMaxConfigBytes));
  EXPECT_EQ(config["tie_word_embeddings"], false);
  fs::remove_all(Out());

  DraftFiles borrowing = files;
  borrowing.head.clear();
  ExpectRefused(Draft(borrowing), {"--list", List(wanted)},
                "hidden_size 8, where the rows of the target's head have 256");
  borrowing.config["hidden_size"] = 256;
  const Outcome outcome = Run(Draft(borrowing), {"--list", List(wanted), "--pin", "none"});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_THAT(outcome.out, HasSubstr("from the target's head"));
  EXPECT_EQ(EngineIds(), wanted);
  const std::string head = TensorsOf(Out() + "/model.safetensors")["lm_head.weight"];
  const std::string rows = DemoTensor("model.embed_tokens.weight");
  for (size_t row = 0; row < wanted.size(); ++row) {
    EXPECT_EQ(head.substr(row * 512, 512), rows.substr(wanted[row] * 512, 512));
  }
}

TEST_F(ResliceTest, SpeculatorsConfigurationIsKept) {
  const std::vector<int64_t> ids = FrequentIds(kDraftRows);
  DraftFiles files = DraftFiles::Of(ids);
  files.layer = "layers.0.";
  files.config = {
      {"speculators_model_type", "eagle3"},
      {"transformer_layer_config", {{"vocab_size", kDemoVocab}, {"tie_word_embeddings", false}}},
      {"draft_vocab_size", kDraftRows},
      {"norm_before_residual", true}};
  const std::vector<int64_t> wanted = FrequentIds(500);
  ASSERT_TRUE(Run(Draft(files), {"--list", List(wanted), "--pin", "none"}).status.ok());
  ExpectCutOf(files, ids, wanted);
  files.config["draft_vocab_size"] = 500;
  EXPECT_EQ(ParseOrderedJson(*ReadFile(Out() + "/config.json", kMaxConfigBytes)), files.config);
}

/// Absolute ids become the offsets that engines expect.
TEST_F(ResliceTest, AbsoluteMapIsMended) {
  const std::vector<int64_t> ids = FrequentIds(kDraftRows);
  DraftFiles files = DraftFiles::Of(ids);
  files.d2t = ids;
  ASSERT_TRUE(Run(Draft(files), {"--list", List(ids), "--pin", "none"}).status.ok());
  ExpectCutOf(files, ids, ids);
}

TEST_F(ResliceTest, BadInputIsRejected) {
  const std::vector<int64_t> ids = FrequentIds(kDraftRows);
  const DraftFiles good = DraftFiles::Of(ids);
  const std::string list = List(ids), text = dir_.Write("text.txt", "the class\n");
  const auto refused = [&](const DraftFiles& files, const std::string& words) {
    ExpectRefused(Draft(files), {"--list", list}, words);
  };
  ExpectRefused(Draft(good), {}, "exactly one of --list and --text is required");
  ExpectRefused(Draft(good), {"--list", list, "--text", text}, "exactly one of --list and --text");
  ExpectRefused(Draft(good), {"--list", list, "--rows", "0"}, "--rows");
  ExpectRefused(Draft(good), {"--list", list, "--rows", "500"}, "have no ranks");
  ExpectRefused(Draft(good), {"--list", dir_.Join("absent.txt")}, "absent.txt: no such file");
  ExpectRefused(dir_.Join("nowhere"), {"--list", list}, "nowhere");
  DraftFiles files = good;
  files.d2t.assign(kDraftRows, 0);
  refused(files, "d2t names the first 3000 ids");
  files = good;
  files.head.resize(files.head.size() / 2);
  refused(files, "the head has 1500 rows, d2t 3000");
  files = good;
  files.head.replace(500, 2, "\xC0\x7F");
  refused(files, "1 row with NaN or infinity and 0 rows of zeros");
  files = good;
  files.config["draft_vocab_size"] = 1.5;
  refused(files, "draft_vocab_size 1.5 is not a number of rows");
  files = good;
  files.config["vocab_size"] = 32000;
  refused(files, "made for a vocabulary of 32000");
  files = good;
  files.d2t.clear();
  files.t2d_ids.reset();
  refused(files, "there is no d2t that maps them");
  files.layer = "layers.0.self.";
  files.head.clear();
  refused(files, "an EAGLE-1 or EAGLE-2 head");
  files.layer = "model.layers.0.self.";
  refused(files, "an EAGLE-1 or EAGLE-2 head");
  ExpectRefused(Target(), {"--list", list}, "a whole model: its head is the target's own");
  fs::remove(Draft(good) + "/config.json");
  ExpectRefused(dir_.Join("draft"), {"--list", list}, "config.json");
}

TEST_F(ResliceTest, ExistingFoldersAreKept) {
  const std::string draft = Draft(DraftFiles::Of(FrequentIds(kDraftRows)));
  const std::string list = List(FrequentIds(500));
  const auto run = [&](const std::string& out) {
    return RunVocab({"reslice", draft, "--model", Target(), "--list", list, "--out", out}).status;
  };
  EXPECT_THAT(std::string(run(draft).message()), HasSubstr("exists and is no empty folder"));
  EXPECT_THAT(std::string(run(draft + "/config.json").message()),
              HasSubstr("exists and is no empty folder"));
  EXPECT_THAT(std::string(run(dir_.Join("no/such")).message()),
              HasSubstr("cannot make the folder: No such file or directory"));
  fs::create_directory(dir_.Join("empty"));
  EXPECT_TRUE(run(dir_.Join("empty/")).ok());
  EXPECT_TRUE(fs::exists(dir_.Join("empty/model.safetensors")));
  EXPECT_FALSE(run(dir_.Join("empty")).ok());
}

/// A limit on the size of files, as a full disk has it: nothing is left behind.
TEST_F(ResliceTest, FailedWriteLeavesNothing) {
  const std::string draft = Draft(DraftFiles::Of(FrequentIds(kDraftRows)));
  const std::string list = List(FrequentIds(3000));
  const ProcessOutcome outcome =
      RunBinary({"vocab", "reslice", draft, "--model", Target(), "--list", list, "--out", Out()},
                "ulimit -f 20");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("model.safetensors: cannot write: File too large"));
  EXPECT_FALSE(fs::exists(Out()));
  for (const auto& entry : fs::directory_iterator(dir_.path())) {
    EXPECT_EQ(entry.path().string().find(".tmp."), std::string::npos) << entry.path();
  }
}

}  // namespace
}  // namespace shortlist

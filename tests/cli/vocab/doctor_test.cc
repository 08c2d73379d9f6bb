#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/model_source.h"
#include "io/safetensors_writer.h"
#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/cli/vocab/draft_files.h"
#include "tests/io/gguf_writer.h"
#include "tests/support/temp_dir.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// `shortlist vocab doctor` on checkpoints for the demo target.
class DoctorTest : public ::testing::Test {
 protected:
  static std::string Target() { return SourcePath("models/demo/target"); }

  std::string Text() const {
    return dir_.Write("text.txt", "The vector class is a class of the standard library.\n");
  }

  Outcome Run(const std::string& path, const Args& more = {}) const {
    return RunVocab(Args{"doctor", path, "--model", Target(), "--text", Text()} + more);
  }

  /// The codes of the faults, which the status names too.
  std::vector<std::string> Faults(const std::string& path) const {
    const Outcome outcome = Run(path, {"--json"});
    if (outcome.out.empty()) return {std::string(outcome.status.message())};
    std::vector<std::string> codes;
    const json report = json::parse(outcome.out);
    for (const json& fault : report["faults"]) codes.push_back(fault["code"]);
    EXPECT_EQ(outcome.status.ok(), codes.empty()) << outcome.status;
    for (const std::string& code : codes) {
      EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(code));
    }
    return codes;
  }

  std::vector<std::string> Faults(const DraftFiles& files) const {
    files.WriteTo(dir_.Join("draft"));
    return Faults(dir_.Join("draft"));
  }

  const TempDir dir_;
};

TEST_F(DoctorTest, SoundFilesHaveNoFault) {
  const std::vector<int64_t> ids = FrequentIds(kDraftRows);
  // A flat EAGLE-3 checkpoint.
  DraftFiles files = DraftFiles::Of(ids);
  EXPECT_THAT(Faults(files), IsEmpty());
  // One of speculators, with the target's embedding.
  DraftFiles speculators = DraftFiles::Of(ids);
  speculators.layer = "layers.0.";
  speculators.embedding = DemoTensor("model.embed_tokens.weight");
  speculators.config = {{"speculators_model_type", "eagle3"},
                        {"draft_vocab_size", kDraftRows},
                        {"transformer_layer_config", {{"vocab_size", kDemoVocab}}}};
  EXPECT_THAT(Faults(speculators), IsEmpty());
  // A head of the whole vocabulary, without a map.
  DraftFiles whole = DraftFiles::Of({});
  whole.t2d_ids.reset();
  whole.head = RowsOf(kDemoVocab, kDraftWidth, /*seed=*/4);
  whole.config["draft_vocab_size"] = nullptr;
  EXPECT_THAT(Faults(whole), IsEmpty());
  // The map alone, offsets without a mask.
  files.t2d_ids.reset();
  EXPECT_THAT(Faults(dir_.Write("map.safetensors", files.Safetensors())), IsEmpty());
  // A list.
  EXPECT_THAT(Faults(SourcePath("vocab_lists/demo.vocab.json")), IsEmpty());
  // GGUF, whose d2t holds ids.
  std::string data;
  for (const int64_t id : ids) data += Bytes(id);
  std::string gguf = FileOf({TextPair("general.architecture", "eagle3")},
                            {{"d2t", {ids.size()}, 27, 0}}, /*data_bytes=*/0);
  EXPECT_THAT(Faults(dir_.Write("draft.gguf", gguf + data)), IsEmpty());
}

TEST_F(DoctorTest, PlantedFaultsAreFound) {
  const std::vector<int64_t> ids = FrequentIds(kDraftRows);
  struct Fault {
    const char* code;
    std::function<void(DraftFiles&)> plant;
  };
  const Fault faults[] = {
      {"d2t-zero", [](DraftFiles& files) { files.d2t.assign(kDraftRows, 0); }},
      {"d2t-arange",
       [](DraftFiles& files) {
         for (int64_t i = 0; i < kDraftRows; ++i) files.d2t[i] = i;
         files.t2d_ids.reset();
       }},
      {"d2t-absolute", [&](DraftFiles& files) { files.d2t = ids; }},
      {"d2t-absolute",
       [&](DraftFiles& files) {
         files.d2t = ids;
         files.t2d_ids.reset();
       }},
      {"id-twice", [](DraftFiles& files) { files.d2t[100] = files.d2t[99] - 1; }},
      {"id-range", [](DraftFiles& files) { files.d2t[2999] = kDemoVocab; }},
      {"id-range", [](DraftFiles& files) { files.d2t[5] = INT64_MAX; }},
      {"t2d-differs", [](DraftFiles& files) { files.t2d_ids->pop_back(); }},
      {"t2d-empty", [](DraftFiles& files) { files.t2d_ids->clear(); }},
      {"t2d-length", [](DraftFiles& files) { files.t2d_len = 2 * kDemoVocab; }},
      {"bytes-missing",
       [&](DraftFiles& files) {
         const auto tokenizer = OpenTokenizer(ModelSource::OfDirectory(Target()));
         std::vector<int64_t> others = ids;
         std::erase_if(others, [&](int64_t id) {
           return (*tokenizer)->TokenBytes(TokenId{static_cast<int32_t>(id)}).size() == 1;
         });
         files = DraftFiles::Of(others);
       }},
      {"end-missing",
       [&](DraftFiles& files) {
         std::vector<int64_t> others = ids;
         std::erase(others, 2);
         files = DraftFiles::Of(others);
       }},
      {"embedding-differs",
       [](DraftFiles& files) { files.embedding = RowsOf(kDemoVocab, 256, /*seed=*/9); }},
      {"embedding-rows", [](DraftFiles& files) { files.embedding = RowsOf(3000, 256, 9); }},
      {"vocab-size", [](DraftFiles& files) { files.config["vocab_size"] = 32000; }},
      {"head-rows", [](DraftFiles& files) { files.head.resize(2900 * 2 * kDraftWidth); }},
      {"head-missing", [](DraftFiles& files) { files.head.clear(); }},
      {"draft-vocab-size", [](DraftFiles& files) { files.config["draft_vocab_size"] = 32000; }},
      {"draft-vocab-size", [](DraftFiles& files) { files.config["draft_vocab_size"] = 0; }},
      {"d2t-missing",
       [](DraftFiles& files) {
         files.d2t.clear();
         files.t2d_ids.reset();
       }},
      {"head-values", [](DraftFiles& files) { files.head.replace(500, 2, "\xC0\x7F"); }},
      {"head-values", [](DraftFiles& files) { files.head.replace(0, 16, std::string(16, '\0')); }},
  };
  for (const auto& [code, plant] : faults) {
    DraftFiles files = DraftFiles::Of(ids);
    plant(files);
    EXPECT_THAT(Faults(files), Contains(code));
  }
}

TEST_F(DoctorTest, ForeignTokenizersAreFound) {
  const std::vector<int64_t> ids = FrequentIds(kDraftRows);
  const std::string draft = dir_.Join("beside");
  DraftFiles::Of(ids).WriteTo(draft);
  fs::copy(Target() + "/tokenizer.model", draft + "/tokenizer.model");
  EXPECT_THAT(Faults(draft), IsEmpty());
  fs::remove(draft + "/tokenizer.model");
  json vocab;
  for (int64_t id = 0; id < kDemoVocab; ++id) vocab["x" + std::to_string(id)] = id;
  const json tokenizer = {
      {"model", {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", "x0"}}}};
  dir_.Write("beside/tokenizer.json", tokenizer.dump());
  EXPECT_THAT(Faults(draft), Contains("tokenizer-differs"));

  json list = {{"format", "shortlist-vocab"},
               {"version", 2},
               {"vocab_size", kDemoVocab},
               {"fingerprint", "fnv1a64:0000000000000000"},
               {"source", ""},
               {"ids", ids}};
  EXPECT_THAT(Faults(dir_.Write("foreign.vocab.json", list.dump())), Contains("tokenizer-differs"));
}

TEST_F(DoctorTest, ReportsWhatTextsLose) {
  const std::string text =
      dir_.Write("rows.jsonl",
                 "{\"text\": \"The library of 2024\", \"category\": \"English\"}\n"
                 "{\"text\": \"жизнь\", \"category\": \"Russian\"}\n");
  const std::string list = dir_.Join("all.txt");
  std::string all;
  const auto tokens = [&](const std::string& words) {
    return json::parse(RunVocab({"doctor", SourcePath("vocab_lists/demo.vocab.json"), "--model",
                                 Target(), "--text", dir_.Write("w.txt", words), "--json"})
                           .out)["num_tokens"]
        .get<int64_t>();
  };
  for (int64_t id = 0; id < kDemoVocab; ++id) all += std::to_string(id) + "\n";
  dir_.Write("all.txt", all);
  const Args args = {"doctor", list, "--model", Target(), "--text", text, "--json"};
  const Outcome whole = RunVocab(args);
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  json object = json::parse(whole.out);
  EXPECT_EQ(object["coverage"], 1.0);
  EXPECT_THAT(object["lost"], IsEmpty());
  ASSERT_EQ(object["texts"].size(), 2u);
  EXPECT_EQ(object["num_tokens"], tokens("The library of 2024") + tokens("жизнь"));
  const auto part = [&object](const char* kind, const std::string& name) {
    for (const json& row : object[kind]) {
      if (row["name"] == name) return row;
    }
    return json();
  };
  const int64_t num_cyrillic = part("scripts", "Cyrillic")["num_tokens"];
  EXPECT_GE(num_cyrillic, 5);
  EXPECT_GE(part("categories", "numbers")["num_tokens"], 1);

  // Few rows.
  std::string frequent;
  for (const int64_t id : FrequentIds(500)) frequent += std::to_string(id) + "\n";
  dir_.Write("all.txt", frequent);
  const Outcome few = RunVocab(args);
  object = json::parse(few.out);
  EXPECT_LT(object["coverage"], 1.0);
  EXPECT_GT(object["lost"].size(), 0u);
  EXPECT_EQ(object["num_lost"], part("texts", text + ", English")["num_lost"].get<int64_t>() +
                                    part("texts", text + ", Russian")["num_lost"].get<int64_t>());
  EXPECT_THAT(std::string(object["verdict"]), HasSubstr("SOUND"));

  const std::string shown = Run(list).out;
  EXPECT_THAT(shown, HasSubstr("script: Latin"));
  EXPECT_THAT(shown, HasSubstr("lost most often: "));
  EXPECT_THAT(shown, HasSubstr("SOUND: the head has rows for "));
}

TEST_F(DoctorTest, FaultEndsWithExitCodeTwo) {
  DraftFiles files = DraftFiles::Of(FrequentIds(kDraftRows));
  files.d2t.assign(kDraftRows, 0);
  files.WriteTo(dir_.Join("zero"));
  const Args args = {"vocab", "doctor", dir_.Join("zero"), "--model", Target(), "--text", Text()};
  const ProcessOutcome outcome = RunBinary(args);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.out, HasSubstr("fault d2t-zero: "));
  EXPECT_THAT(outcome.out, HasSubstr("FAULTY: 1 fault. Do not serve"));
  EXPECT_THAT(outcome.err, HasSubstr("zero: 1 fault: d2t-zero"));
}

TEST_F(DoctorTest, UnreadableFilesAreErrors) {
  const auto error = [this](const std::string& path) {
    const Outcome outcome = Run(path);
    EXPECT_EQ(outcome.out, "");
    return std::string(outcome.status.message());
  };
  EXPECT_THAT(error(dir_.Join("absent")), HasSubstr("absent"));
  EXPECT_THAT(error(dir_.Write("a.safetensors", "x")), HasSubstr("too short"));
  EXPECT_THAT(error(dir_.Write("a.bin", "x")), HasSubstr("a.bin"));
  EXPECT_THAT(error(dir_.Write("a.gguf", "x")), HasSubstr("a.gguf"));
  EXPECT_THAT(error(dir_.Write("a.pt", "x")), HasSubstr("a.pt"));
  EXPECT_THAT(error(dir_.Write("a.txt", "x")), HasSubstr("a.txt"));
  SafetensorsWriter writer;
  writer.Add("x", "U8", std::vector<int64_t>{1}, "x");
  EXPECT_THAT(error(dir_.Write("b.safetensors", writer.File())), HasSubstr("no tensor \"d2t\""));
}

}  // namespace
}  // namespace shortlist

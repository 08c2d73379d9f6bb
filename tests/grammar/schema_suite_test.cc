// Schemas with valid and invalid instances: JSON-Schema-Test-Suite, MaskBench and made-up ones, and
// those of SHORTLIST_RANDOM_SCHEMAS=FILE, which tests/reference/make_random_schemas.py writes. With
// SHORTLIST_SCHEMA_SAMPLES=FILE, random texts of each schema are written there for
// tests/reference/judge_schema_samples.py.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grammar/json_schema.h"
#include "nlohmann/json.hpp"
#include "tests/grammar/refusal_cause.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

constexpr int kNumSamples = 20;
constexpr size_t kMaxSampleBytes = 400;

std::string SharedData() {
  const char* dir = std::getenv("SHORTLIST_SHARED_DATA");
  return std::string(dir != nullptr ? dir : "/work/shared/data") + "/structured/";
}

std::vector<ordered_json> ReadLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<ordered_json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(ordered_json::parse(line));
  return lines;
}

/// Draws a text byte by byte; ends where it can, more likely the longer it is. Empty: no end found.
std::string Sample(Expressions& expressions, ExprId state, std::mt19937& random) {
  std::string text;
  while (text.size() < kMaxSampleBytes) {
    const ByteSet first = expressions.FirstBytes(state);
    if (expressions.IsNullable(state) && (first.empty() || random() % 4 == 0)) return text;
    if (first.empty()) return "";  // the expressions are full
    std::vector<uint8_t> bytes;
    const bool hurry = text.size() > 40;
    for (int byte = 0; byte < 256; ++byte) {
      if (!first.Contains(static_cast<uint8_t>(byte))) continue;
      const bool dull = byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte >= 0x80;
      if (!dull || first.size() < 8 || random() % 40 == 0) bytes.push_back(byte);
      const bool ends = byte == '"' || byte == '}' || byte == ']';
      if (ends && (hurry || random() % 2 == 0)) bytes.insert(bytes.end(), hurry ? 200 : 10, byte);
    }
    if (bytes.empty()) continue;
    text += static_cast<char>(bytes[random() % bytes.size()]);
    state = expressions.After(state, static_cast<uint8_t>(text.back()));
  }
  return "";
}

/// The keyword of an error, else its first words.
std::string ReasonOf(const absl::Status& status) {
  const std::string message(status.message());
  const size_t begin = message.find("keyword \"");
  if (begin == message.npos) return message.substr(message.find(": ") + 1).substr(0, 40);
  const size_t end = message.find('"', begin + 9);
  const std::string keyword = message.substr(begin + 9, end - begin - 9);
  return message.ends_with("not supported") || keyword == "$ref" || keyword == "format"
             ? keyword
             : absl::StrCat(keyword, message.substr(end + 1).substr(0, 40));
}

struct Counts {
  int schemas = 0, compiled = 0;
  int valid = 0;
  std::map<RefusalCause, int> causes;  // of valid instances
  int invalid = 0, invalid_accepted = 0;
  std::map<std::string, int> reasons;

  int num_refused(RefusalCause cause) const {
    const auto found = causes.find(cause);
    return found == causes.end() ? 0 : found->second;
  }
};

/// Checks the schemas of a file and prints what became of them.
class SchemaFileTest : public testing::Test {
 protected:
  void Run(const ordered_json& line) {
    ++counts_.schemas;
    Expressions expressions;
    const ordered_json& schema = line["schema"];
    const auto grammar = CompileJsonSchema(schema, JsonSchemaOptions{}, expressions);
    if (!grammar.ok()) {
      ++counts_.reasons[ReasonOf(grammar.status())];
      EXPECT_EQ(grammar.status().code(), absl::StatusCode::kInvalidArgument);
      return;
    }
    ++counts_.compiled;
    for (const ordered_json& test : line["tests"]) {
      Check(expressions, *grammar, line, schema, test);
    }
    if (samples_.is_open()) WriteSamples(expressions, *grammar, schema);
  }

  void Check(Expressions& expressions, ExprId grammar, const ordered_json& line,
             const ordered_json& schema, const ordered_json& test) {
    const ordered_json& data = test["data"];
    const bool accepted = Accepts(expressions, grammar, data.dump());
    if (!test["valid"].get<bool>()) {
      ++counts_.invalid;
      counts_.invalid_accepted += accepted;
      EXPECT_FALSE(accepted) << schema.dump().substr(0, 2000) << "\n" << data.dump();
      return;
    }
    ++counts_.valid;
    const RefusalCause cause = CauseOfRefusal(expressions, grammar, schema, data);
    ++counts_.causes[cause];
    if (cause != RefusalCause::kNone && std::getenv("SHORTLIST_SCHEMA_VERBOSE") != nullptr) {
      std::cout << "refused: " << static_cast<int>(cause) << " "
                << (line.contains("id") ? line["id"] : line["file"]) << " "
                << schema.dump().substr(0, 1500) << "\n  " << data.dump() << "\n";
    }
  }

  void WriteSamples(Expressions& expressions, ExprId grammar, const ordered_json& schema) {
    ordered_json samples = ordered_json::array();
    for (int i = 0; i < kNumSamples; ++i) {
      const std::string sample = Sample(expressions, grammar, random_);
      if (!sample.empty()) samples.push_back(sample);
    }
    samples_ << ordered_json{{"schema", schema}, {"samples", samples}}.dump() << "\n";
  }

  void Print(std::string_view name) {
    std::cout << name << ": " << counts_.compiled << " of " << counts_.schemas
              << " schemas compile; of " << counts_.valid
              << " valid instances refused: for the order of members "
              << counts_.causes[RefusalCause::kKeyOrder] << ", for the spelling of numbers "
              << counts_.causes[RefusalCause::kNumber] << ", for a format "
              << counts_.causes[RefusalCause::kFormat] << ", otherwise "
              << counts_.causes[RefusalCause::kOther]
              << "; invalid accepted: " << counts_.invalid_accepted << " of " << counts_.invalid
              << "\n";
    for (const auto& [reason, count] : counts_.reasons) {
      std::cout << "  " << count << " refused: " << reason << "\n";
    }
  }

  const Counts& counts() const { return counts_; }

  void RunFile(const std::string& path) {
    OpenSamples();
    for (const ordered_json& line : ReadLines(path)) {
      const std::string file = line.value("file", "");
      if (!file.empty() && line.dump().find("http://localhost:1234") != std::string::npos) continue;
      if (file == "optional/content.json") continue;  // annotations since 2019-09
      Run(line);
    }
    Print(path);
  }

 private:
  void OpenSamples() {
    const char* path = std::getenv("SHORTLIST_SCHEMA_SAMPLES");
    if (path != nullptr) samples_.open(path, std::ios::app);
  }

  Counts counts_;
  std::ofstream samples_;
  std::mt19937 random_{1};
};

TEST_F(SchemaFileTest, RandomInvalidInstancesRejected) {
  const char* path = std::getenv("SHORTLIST_RANDOM_SCHEMAS");
  if (path == nullptr) GTEST_SKIP() << "no random schemas: set SHORTLIST_RANDOM_SCHEMAS";
  RunFile(path);
}

struct Suite {
  const char* path;
  int min_compiled;
  int max_refused = 0;  // valid instances, for none of the known causes

  friend void PrintTo(const Suite& suite, std::ostream* out) { *out << suite.path; }
};

class SchemaSuiteTest : public SchemaFileTest, public testing::WithParamInterface<Suite> {};

TEST_P(SchemaSuiteTest, InvalidInstancesRejected) {
  const std::string path = SharedData() + GetParam().path;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "shared data absent: " << path;
  RunFile(path);
  EXPECT_GE(counts().compiled, GetParam().min_compiled);
  EXPECT_LE(counts().num_refused(RefusalCause::kOther), GetParam().max_refused);
}

INSTANTIATE_TEST_SUITE_P(
    All, SchemaSuiteTest,
    testing::Values(Suite{"maskbench/glaiveai2k.jsonl", 1693}, Suite{"maskbench/bfcl.jsonl", 1043},
                    Suite{"maskbench/handwritten.jsonl", 26},
                    Suite{"maskbench/synthesized.jsonl", 413}, Suite{"maskbench/mcpspec.jsonl", 45},
                    Suite{"json_schema_test_suite/draft7.jsonl", 248, 6},
                    Suite{"json_schema_test_suite/draft2020-12.jsonl", 263, 5}),
    [](const testing::TestParamInfo<Suite>& info) {
      std::string name = std::filesystem::path(info.param.path).stem();
      std::erase_if(name, [](char c) { return c == '-'; });
      return name;
    });

TEST(MadeUpSchemasTest, OutcomesAsExpected) {
  const std::string path = SharedData() + "made_up/schemas.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "shared data absent: " << path;
  for (const ordered_json& line : ReadLines(path)) {
    Expressions expressions;
    const auto grammar = CompileJsonSchema(line["schema"], JsonSchemaOptions{}, expressions);
    const std::string expected = line["expect"];
    // "ok", "400", or a choice with "or": "400 or bounded", "lazy states only".
    const bool must_fail = expected == "400";
    const bool may_fail = expected.find("400") != std::string::npos;
    EXPECT_TRUE(grammar.ok() ? !must_fail : may_fail)
        << line["name"] << ": " << expected << ", not " << grammar.status();
    std::cout << line["name"] << ": " << (grammar.ok() ? "ok" : grammar.status().message()) << "\n";
  }
}

}  // namespace
}  // namespace shortlist

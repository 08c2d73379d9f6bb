// Times grammars over real outputs, and writes which tokens each position allows.
//
//   grammar_masks VOCAB CASES [MASKS]
//
// VOCAB: one line for each token, its bytes in hexadecimal; an empty line is a token without bytes,
// and the last such token ends an output. CASES: one JSON object a line, {"kind": "json_schema",
// "structural_tag", "regex" or "ebnf", "grammar": the document or text, "compact": true or false,
// "tokens": [ids of an output]}. Writes to standard output, for each case, a JSON object with the
// time to compile in µs and the processor time of each position in ns, and again with everything
// known. To MASKS: for each position one bit per token, lowest id first.
//
// bench/grammar/compare_llguidance.py makes the files and compares.

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar_compiler.h"
#include "grammar/grammar_spec.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::ordered_json;
/// Time that this thread has run, so that other programs do not count.
int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::vector<std::string> ReadVocab(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> tokens;
  for (std::string line; std::getline(file, line);) {
    std::string& bytes = tokens.emplace_back();
    for (size_t i = 0; i + 1 < line.size(); i += 2) {
      bytes.push_back(static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16)));
    }
  }
  return tokens;
}

GrammarSpec SpecOf(const ordered_json& test) {
  GrammarSpec spec{.kind = GrammarSpec::Kind::kJsonSchema, .compact = test.value("compact", false)};
  const std::string kind = test["kind"];
  if (kind == "structural_tag") spec.kind = GrammarSpec::Kind::kStructuralTag;
  if (kind == "regex") spec.kind = GrammarSpec::Kind::kRegex;
  if (kind == "ebnf") spec.kind = GrammarSpec::Kind::kEbnf;
  if (kind == "regex" || kind == "ebnf") {
    spec.text = test["grammar"];
  } else {
    spec.schema = test["grammar"];
  }
  return spec;
}

void WriteMask(const TokenSet& set, size_t vocab_size, std::FILE* file) {
  std::vector<uint8_t> bits((vocab_size + 7) / 8, set.is_exception() ? 0xFF : 0);
  for (const TokenId id : set.ids()) bits[Raw(id) / 8] ^= 1 << (Raw(id) % 8);
  std::fwrite(bits.data(), 1, bits.size(), file);
}

/// Returns the time of each position.
std::vector<int64_t> Walk(const TokenConstraint& grammar, const std::vector<int32_t>& tokens,
                          size_t vocab_size, std::FILE* masks) {
  std::vector<int64_t> times;
  TokenConstraint::State state = grammar.Begin();
  for (size_t i = 0; i <= tokens.size(); ++i) {
    const int64_t start = NowNs();
    const TokenSet set = grammar.Allowed(state);
    times.push_back(NowNs() - start);
    if (masks != nullptr) WriteMask(set, vocab_size, masks);
    if (i == tokens.size() || !grammar.Allows(state, TokenId{tokens[i]})) break;
    state = grammar.Next(state, TokenId{tokens[i]});
  }
  return times;
}

int Run(const char* vocab, const char* cases, const char* masks_path) {
  const std::vector<std::string> bytes = ReadVocab(vocab);
  GrammarCompiler::Options options{
      .tokens = {bytes.begin(), bytes.end()},
      .encode = [](std::string_view) { return std::vector<TokenId>(); }};
  for (size_t id = bytes.size(); id-- > 0;) {
    if (!bytes[id].empty()) continue;
    options.end_ids = {TokenId{static_cast<int32_t>(id)}};
    break;
  }
  GrammarCompiler compiler(std::move(options));
  std::FILE* const masks = masks_path == nullptr ? nullptr : std::fopen(masks_path, "wb");
  std::ifstream file(cases);
  for (std::string line; std::getline(file, line);) {
    const ordered_json test = ordered_json::parse(line);
    const GrammarSpec spec = SpecOf(test);
    const int64_t start = NowNs();
    const auto grammar = compiler.Compile(spec);
    ordered_json result = {{"compile_us", (NowNs() - start) / 1000}};
    if (grammar.ok()) {
      const std::vector<int32_t> tokens = test["tokens"];
      result["ns"] = Walk(**grammar, tokens, bytes.size(), masks);
      result["ns_again"] = Walk(**grammar, tokens, bytes.size(), nullptr);
    } else {
      result["error"] = std::string(grammar.status().message());
    }
    std::cout << result.dump() << "\n";
  }
  if (masks != nullptr) std::fclose(masks);
  return 0;
}

}  // namespace
}  // namespace shortlist

int main(int argc, char** argv) {
  if (argc >= 3) return shortlist::Run(argv[1], argv[2], argc > 3 ? argv[3] : nullptr);
  std::cerr << "usage: grammar_masks VOCAB CASES [MASKS]\n";
  return 2;
}

// Grammars of requests: compile, walk a text through them, and complete it. The first byte chooses
// the kind: S JSON schema, R regular expression, E EBNF, P pattern of a JSON string, others
// structural tag. After a NUL, the input may contain a text.
//
//   fuzz_grammar -dict=fuzz/grammar.dict -max_len=4096 CORPUS fuzz/seeds/grammar

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "base/check.h"
#include "base/utf8.h"
#include "grammar/ebnf.h"
#include "grammar/grammar.h"
#include "grammar/json_schema.h"
#include "grammar/regex.h"
#include "grammar/structural_tag.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

constexpr int64_t kMaxBytes = int64_t{16} << 20;
constexpr int64_t kMaxCompletion = 2000;

absl::StatusOr<ExprId> Compile(char kind, const std::string& text, Expressions& expressions) {
  if (kind == 'R') return CompileRegex(text, expressions);
  if (kind == 'P') return CompileJsonPattern(text, expressions);
  if (kind == 'E') return CompileEbnf(text, expressions);
  const auto document = nlohmann::ordered_json::parse(text, /*cb=*/nullptr,
                                                      /*allow_exceptions=*/false);
  if (document.is_discarded()) return absl::InvalidArgumentError("no JSON");
  if (kind == 'S') return CompileJsonSchema(document, {}, expressions);
  return CompileStructuralTag(document, /*compact=*/false, expressions);
}

/// Follows a shortest rest of `state`, whose length must fall by one with each byte.
std::string Complete(const Grammar& grammar, ExprId state) {
  std::string rest;
  Expressions& expressions = grammar.expressions();
  for (int64_t length = expressions.MinLength(state); length > 0; --length) {
    ExprId next = expressions.Nothing();
    for (int byte = 0; byte < 256; ++byte) {
      const ExprId after = grammar.Next(state, static_cast<uint8_t>(byte));
      if (grammar.IsDead(after)) continue;
      SHORTLIST_CHECK(expressions.MinLength(after) >= length - 1);
      if (expressions.MinLength(after) > length - 1) continue;
      next = after;
      rest.push_back(static_cast<char>(byte));
      break;
    }
    if (grammar.is_full()) return "";
    SHORTLIST_CHECK(!grammar.IsDead(next));
    state = next;
  }
  SHORTLIST_CHECK(grammar.is_full() || grammar.Accepts(state));
  return rest;
}

void Run(std::string_view input) {
  if (input.empty()) return;
  const size_t nul = std::min(input.find('\0', 1), input.size());
  const std::string_view text = input.substr(std::min(nul + 1, input.size()));
  auto expressions = std::make_unique<Expressions>(kMaxBytes);
  const auto start = Compile(input[0], std::string(input.substr(1, nul - 1)), *expressions);
  if (!start.ok()) return;
  const auto created = Grammar::Create(std::move(expressions), *start);
  if (!created.ok()) return;
  const Grammar& grammar = **created;
  ExprId state = grammar.Begin();
  std::string prefix;
  for (const char byte : text) {
    const ExprId next = grammar.Next(state, static_cast<uint8_t>(byte));
    if (grammar.IsDead(next)) break;
    state = next;
    prefix.push_back(byte);
  }
  if (grammar.is_full() || grammar.expressions().MinLength(state) > kMaxCompletion) return;
  const std::string whole = prefix + Complete(grammar, state);
  if (grammar.is_full()) return;
  SHORTLIST_CHECK(grammar.Accepts(grammar.Next(grammar.Begin(), whole)) || grammar.is_full());
  SHORTLIST_CHECK(input[0] != 'S' || nlohmann::json::accept(whole));
  SHORTLIST_CHECK(!FindInvalidUtf8(whole).has_value());
}

}  // namespace
}  // namespace shortlist

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shortlist::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}

#include "grammar/grammar_compiler.h"

#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "grammar/expressions.h"
#include "grammar/grammar.h"
#include "grammar/json_schema.h"
#include "grammar/json_text.h"
#include "grammar/regex.h"
#include "grammar/structural_tag.h"
#include "grammar/token_trie.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

constexpr int64_t kMaxGrammarBytes = int64_t{64} << 20;

/// Equal for equal specs and salts only.
std::string KeyOf(const GrammarSpec& spec, std::string_view salt) {
  const nlohmann::ordered_json parts = {static_cast<int>(spec.kind),
                                        spec.compact,
                                        spec.schema,
                                        spec.text,
                                        spec.choices,
                                        std::string(salt)};
  return parts.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

absl::StatusOr<ExprId> Express(const GrammarSpec& spec, Expressions& expressions) {
  if (spec.kind == GrammarSpec::Kind::kRegex) return CompileRegex(spec.text, expressions);
  if (spec.kind == GrammarSpec::Kind::kStructuralTag) {
    return CompileStructuralTag(spec.schema, spec.compact, expressions);
  }
  const nlohmann::ordered_json schema = spec.kind == GrammarSpec::Kind::kJsonObject
                                            ? nlohmann::ordered_json{{"type", "object"}}
                                            : spec.schema;
  return CompileJsonSchema(schema, {.compact = spec.compact}, expressions);
}

absl::StatusOr<std::shared_ptr<const Grammar>> MakeGrammar(const GrammarSpec& spec) {
  if (spec.kind == GrammarSpec::Kind::kEbnf) return Grammar::OfEbnf(spec.text);
  if (spec.kind == GrammarSpec::Kind::kChoice) {
    if (!spec.choices.empty()) return Grammar::OfChoice(spec.choices);
    return absl::InvalidArgumentError("there is nothing to choose from");
  }
  auto expressions = std::make_unique<Expressions>(kMaxGrammarBytes);
  SHORTLIST_ASSIGN_OR_RETURN(const ExprId start, Express(spec, *expressions));
  return Grammar::Create(std::move(expressions), start);
}

/// With the tokens of strings in JSON texts, which nearly all grammars share.
std::shared_ptr<HeadCache> MakeHeadCache(std::span<const std::string_view> tokens) {
  auto heads = std::make_shared<HeadCache>(std::make_shared<const TokenTrie>(tokens));
  Expressions expressions;
  const JsonText text(expressions, /*max_white_space=*/0);
  heads->RepetitionsOf(text.PlainChar(), expressions);
  heads->RepetitionsOf(text.AnyChar(), expressions);
  return heads;
}

}  // namespace

GrammarCompiler::GrammarCompiler(Options options)
    : heads_(MakeHeadCache(options.tokens)),
      end_ids_(std::move(options.end_ids)),
      encode_(std::move(options.encode)),
      max_bytes_(options.max_bytes),
      max_used_bytes_(options.max_used_bytes) {}

absl::StatusOr<std::shared_ptr<const TokenConstraint>> GrammarCompiler::Compile(
    const GrammarSpec& spec, std::string_view salt) {
  std::string key = KeyOf(spec, salt);
  if (auto known = Find(key)) return known;
  SHORTLIST_RETURN_IF_ERROR(CheckUsed());
  absl::StatusOr<std::shared_ptr<const Grammar>> made = MakeGrammar(spec);
  if (absl::IsInvalidArgument(made.status())) return made.status();  // with TagErrorOf()
  if (!made.ok()) return absl::InvalidArgumentError(std::string(made.status().message()));
  std::shared_ptr<const Grammar> grammar = *std::move(made);
  auto sets = std::make_shared<TokenSets>(std::move(grammar), heads_);
  std::shared_ptr<const TokenConstraint> constraint =
      std::make_shared<const GrammarConstraint>(sets, end_ids_, encode_);
  // Most grammars that are too complex show it here, on the thread of the caller.
  constraint->Allowed(constraint->Begin());
  if (std::string failure = constraint->Failure(); !failure.empty()) {
    return absl::InvalidArgumentError(failure);
  }
  Keep({std::move(key), std::move(sets), constraint});
  return constraint;
}

/// Null: not kept. One that is full is of no use any more.
std::shared_ptr<const TokenConstraint> GrammarCompiler::Find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    if (it->key != key) continue;
    if (it->sets->grammar().is_full()) {
      kept_.erase(it);
      return nullptr;
    }
    kept_.splice(kept_.begin(), kept_, it);
    return it->constraint;
  }
  return nullptr;
}

/// Many requests may wait, each with a grammar of its own.
absl::Status GrammarCompiler::CheckUsed() {
  const std::lock_guard lock(mutex_);
  std::erase_if(used_, [](const std::weak_ptr<TokenSets>& sets) { return sets.expired(); });
  int64_t num_bytes = 0;
  for (const std::weak_ptr<TokenSets>& weak : used_) {
    const std::shared_ptr<TokenSets> sets = weak.lock();
    if (sets != nullptr) num_bytes += sets->grammar().num_bytes() + sets->num_bytes();
  }
  if (num_bytes < max_used_bytes_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the grammars of requests take ", num_bytes,
                                                   " bytes, more than ", max_used_bytes_,
                                                   "; try again later"));
}

void GrammarCompiler::Keep(Kept kept) {
  constexpr size_t kMostKept = 256;  // Find() looks at each
  const std::lock_guard lock(mutex_);
  used_.push_back(kept.sets);
  kept_.push_front(std::move(kept));
  int64_t num_bytes = 0;
  size_t count = 0;
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    num_bytes += it->num_bytes() + static_cast<int64_t>(it->key.size());
    if (++count == 1 || (num_bytes <= max_bytes_ && count <= kMostKept)) continue;
    kept_.erase(it, kept_.end());
    return;
  }
}

}  // namespace shortlist

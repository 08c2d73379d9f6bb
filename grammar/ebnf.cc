#include "grammar/ebnf.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "grammar/char_class.h"
#include "grammar/ebnf_scanner.h"

namespace shortlist {
namespace {

constexpr size_t kMaxEbnfBytes = size_t{1} << 20;
constexpr int kMaxEbnfNesting = 64;
constexpr int64_t kMaxEbnfCount = 1'000'000;
constexpr size_t kMaxEbnfRules = 100'000;

class EbnfParser {
 public:
  EbnfParser(std::string_view text, Expressions& expressions)
      : scanner_(text), expressions_(expressions) {}

  absl::StatusOr<ExprId> Run();

 private:
  struct Rule {
    RuleId id;
    size_t first_place;  // where the name stands first
    bool is_defined = false;
  };
  struct Counts {
    int64_t min, max;
  };

  absl::StatusOr<Rule*> RuleOf(std::string_view name, size_t place);
  absl::Status ParseRule();
  absl::StatusOr<ExprId> ParseAlternatives();
  absl::StatusOr<ExprId> ParseSequence();
  absl::StatusOr<ExprId> ParseItem();
  absl::StatusOr<ExprId> ParseGroup();
  absl::StatusOr<ExprId> ParseText(char quote);
  absl::StatusOr<ExprId> ParseClass();
  absl::StatusOr<ExprId> ParseRepetitions(ExprId item);
  absl::StatusOr<Counts> ParseCounts();
  absl::StatusOr<int64_t> ParseCount();

  EbnfScanner scanner_;
  Expressions& expressions_;
  absl::flat_hash_map<std::string, Rule> rules_;
  int nesting_ = 0;
};

absl::StatusOr<ExprId> EbnfParser::Run() {
  scanner_.SkipSpace();
  while (!scanner_.IsAtEnd()) SHORTLIST_RETURN_IF_ERROR(ParseRule());
  const Rule* undefined = nullptr;
  std::string_view undefined_name;
  for (const auto& [name, rule] : rules_) {
    if (rule.is_defined) continue;
    if (undefined != nullptr && undefined->first_place < rule.first_place) continue;
    undefined = &rule;
    undefined_name = name;
  }
  if (undefined != nullptr) {
    return scanner_.ErrorAt(undefined->first_place,
                            absl::StrCat("rule ", Excerpt(undefined_name), " is not defined"));
  }
  const auto root = rules_.find("root");
  if (root == rules_.end()) return absl::InvalidArgumentError("grammar: it has no rule root");
  return expressions_.Call(root->second.id);
}

absl::StatusOr<EbnfParser::Rule*> EbnfParser::RuleOf(std::string_view name, size_t place) {
  const auto found = rules_.find(std::string(name));
  if (found != rules_.end()) return &found->second;
  if (rules_.size() == kMaxEbnfRules) {
    return scanner_.ErrorAt(place, absl::StrCat("more than ", kMaxEbnfRules, " rules"));
  }
  const Rule rule{.id = expressions_.NewRule(std::string(name)), .first_place = place};
  return &rules_.emplace(std::string(name), rule).first->second;
}

absl::Status EbnfParser::ParseRule() {
  const size_t place = scanner_.place();
  const std::string name(scanner_.ReadName());
  if (name.empty()) return scanner_.Error("expected the name of a rule");
  scanner_.SkipSpace();
  if (!scanner_.Accept("::=")) return scanner_.Error("expected ::=");
  SHORTLIST_ASSIGN_OR_RETURN(Rule * rule, RuleOf(name, place));
  if (rule->is_defined) {
    return scanner_.ErrorAt(place, absl::StrCat("rule ", Excerpt(name), " is defined twice"));
  }
  rule->is_defined = true;
  const RuleId id = rule->id;
  SHORTLIST_ASSIGN_OR_RETURN(const ExprId definition, ParseAlternatives());
  if (!scanner_.IsAtEnd() && !scanner_.IsAtRule()) {
    return scanner_.Error("expected a rule, or an item of one");
  }
  expressions_.Define(id, definition);
  return absl::OkStatus();
}

absl::StatusOr<ExprId> EbnfParser::ParseAlternatives() {
  std::vector<ExprId> options;
  do {
    SHORTLIST_ASSIGN_OR_RETURN(const ExprId option, ParseSequence());
    options.push_back(option);
  } while (scanner_.Accept("|"));
  return expressions_.Choice(options);
}

absl::StatusOr<ExprId> EbnfParser::ParseSequence() {
  std::vector<ExprId> items;
  scanner_.SkipSpace();
  while (!scanner_.IsAtEnd() && scanner_.Peek() != '|' && scanner_.Peek() != ')' &&
         !scanner_.IsAtRule()) {
    SHORTLIST_ASSIGN_OR_RETURN(const ExprId item, ParseItem());
    SHORTLIST_ASSIGN_OR_RETURN(const ExprId repeated, ParseRepetitions(item));
    items.push_back(repeated);
  }
  return expressions_.Sequence(items);
}

absl::StatusOr<ExprId> EbnfParser::ParseItem() {
  const size_t place = scanner_.place();
  if (const std::string name(scanner_.ReadName()); !name.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(const Rule* rule, RuleOf(name, place));
    return expressions_.Call(rule->id);
  }
  if (scanner_.Accept("\"")) return ParseText('"');
  if (scanner_.Accept("'")) return ParseText('\'');
  if (scanner_.Accept("[")) return ParseClass();
  if (scanner_.Accept("(")) return ParseGroup();
  if (scanner_.Accept(".")) {
    return CodePoints(expressions_, std::vector{CodePointRange{0, kMaxCodePoint}});
  }
  return scanner_.Error("expected a name, a text, [characters], . or (");
}

absl::StatusOr<ExprId> EbnfParser::ParseGroup() {
  if (nesting_ == kMaxEbnfNesting) {
    return scanner_.Error(absl::StrCat("more than ", kMaxEbnfNesting, " nested groups"));
  }
  if (scanner_.Accept("=")) return scanner_.Error("lookahead is not supported");
  ++nesting_;
  SHORTLIST_ASSIGN_OR_RETURN(const ExprId group, ParseAlternatives());
  --nesting_;
  if (!scanner_.Accept(")")) return scanner_.Error("expected ) or an item of the group");
  return group;
}

absl::StatusOr<ExprId> EbnfParser::ParseText(char quote) {
  std::string bytes;
  while (!scanner_.Accept(std::string_view(&quote, 1))) {
    SHORTLIST_ASSIGN_OR_RETURN(const uint32_t character, scanner_.ReadCharacter("text"));
    AppendCodePoint(character, bytes);
  }
  return expressions_.Text(bytes);
}

absl::StatusOr<ExprId> EbnfParser::ParseClass() {
  const size_t place = scanner_.place();
  const bool is_complement = scanner_.Accept("^");
  CharClass ranges;
  while (!scanner_.Accept("]")) {
    SHORTLIST_ASSIGN_OR_RETURN(const uint32_t first, scanner_.ReadCharacter("character class"));
    uint32_t last = first;
    if (scanner_.Peek() == '-' && scanner_.PeekAfter() != ']') {
      scanner_.Accept("-");
      const size_t place_of_last = scanner_.place();
      SHORTLIST_ASSIGN_OR_RETURN(last, scanner_.ReadCharacter("character class"));
      if (last < first) return scanner_.ErrorAt(place_of_last, "the range ends before it begins");
    }
    ranges.push_back({first, last});
  }
  if (ranges.empty() && !is_complement) {
    return scanner_.ErrorAt(place, "the character class is empty");
  }
  ranges = MakeCharClass(ranges);
  return CodePoints(expressions_, is_complement ? Complement(ranges) : ranges);
}

absl::StatusOr<ExprId> EbnfParser::ParseRepetitions(ExprId item) {
  while (true) {
    scanner_.SkipSpace();
    if (scanner_.Accept("?")) {
      item = expressions_.Optional(item);
    } else if (scanner_.Accept("*")) {
      item = expressions_.Repeat(item, 0, Expressions::kNoLimit);
    } else if (scanner_.Accept("+")) {
      item = expressions_.Repeat(item, 1, Expressions::kNoLimit);
    } else if (scanner_.Accept("{")) {
      SHORTLIST_ASSIGN_OR_RETURN(const Counts counts, ParseCounts());
      item = expressions_.Repeat(item, counts.min, counts.max);
    } else {
      return item;
    }
  }
}

/// After `{`.
absl::StatusOr<EbnfParser::Counts> EbnfParser::ParseCounts() {
  const size_t place = scanner_.place();
  Counts counts{0, Expressions::kNoLimit};
  scanner_.SkipSpace();
  const bool has_min = scanner_.Peek() != ',';
  if (has_min) {
    SHORTLIST_ASSIGN_OR_RETURN(counts.min, ParseCount());
    scanner_.SkipSpace();
  }
  if (scanner_.Accept(",")) {
    scanner_.SkipSpace();
    if (!has_min || scanner_.Peek() != '}') {
      SHORTLIST_ASSIGN_OR_RETURN(counts.max, ParseCount());
      scanner_.SkipSpace();
    }
  } else {
    counts.max = counts.min;
  }
  if (!scanner_.Accept("}")) return scanner_.Error("expected }");
  if (counts.max < counts.min) {
    return scanner_.ErrorAt(
        place, absl::StrCat("at most ", counts.max, " and at least ", counts.min, " repetitions"));
  }
  return counts;
}

absl::StatusOr<int64_t> EbnfParser::ParseCount() {
  const size_t place = scanner_.place();
  const std::optional<int64_t> count = scanner_.ReadNumber();
  if (!count.has_value()) return scanner_.Error("expected a number of repetitions");
  if (*count > kMaxEbnfCount) {
    return scanner_.ErrorAt(place, absl::StrCat("more than ", kMaxEbnfCount, " repetitions"));
  }
  return *count;
}

}  // namespace

absl::StatusOr<ExprId> CompileEbnf(std::string_view text, Expressions& expressions) {
  if (text.size() > kMaxEbnfBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("grammar: ", text.size(), " bytes of text, more than ", kMaxEbnfBytes));
  }
  if (const auto offset = FindInvalidUtf8(text); offset.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("grammar: byte ", *offset, " of the text is not UTF-8"));
  }
  return EbnfParser(text, expressions).Run();
}

}  // namespace shortlist

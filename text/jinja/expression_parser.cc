#include "text/jinja/expression_parser.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/nested.h"

namespace shortlist::jinja {
namespace {

using Result = absl::StatusOr<ExprPtr>;

constexpr std::pair<std::string_view, Operator> kComparisons[] = {
    {"==", Operator::kEqual},     {"!=", Operator::kNotEqual}, {"<", Operator::kLess},
    {"<=", Operator::kLessEqual}, {">", Operator::kGreater},   {">=", Operator::kGreaterEqual}};
constexpr std::pair<std::string_view, Operator> kSums[] = {{"+", Operator::kAdd},
                                                           {"-", Operator::kSubtract}};
constexpr std::pair<std::string_view, Operator> kProducts[] = {{"*", Operator::kMultiply},
                                                               {"/", Operator::kDivide},
                                                               {"//", Operator::kFloorDivide},
                                                               {"%", Operator::kModulo}};
constexpr std::pair<std::string_view, Operator> kPowers[] = {{"**", Operator::kPower}};

/// Recursive descent, one method per level of Jinja's grammar (jinja2/parser.py), lowest precedence
/// first.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenCursor& tokens) : tokens_(tokens) {}

  Result ParseTuple(bool conditional) {
    const int line = tokens_.Current().line;
    std::vector<ExprPtr> items;
    bool is_tuple = false;
    do {
      const bool at_end = tokens_.At(TokenKind::kOutputEnd) || tokens_.At(TokenKind::kBlockEnd) ||
                          tokens_.AtOperator(")");
      if (is_tuple && at_end) break;
      SHORTLIST_ASSIGN_OR_RETURN(items.emplace_back(), conditional ? ParseExpression() : ParseOr());
      is_tuple |= tokens_.AtOperator(",");
    } while (tokens_.TakeOperator(","));
    if (!is_tuple) return std::move(items[0]);
    return Make(Expr::Kind::kTuple, line, std::move(items));
  }

  Result ParseExpression() {
    const Nested nested(tokens_.depth());
    SHORTLIST_RETURN_IF_ERROR(tokens_.CheckDepth());
    const int line = tokens_.Current().line;
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr value, ParseOr());
    while (tokens_.TakeName("if")) {
      std::vector<ExprPtr> children(3);
      SHORTLIST_ASSIGN_OR_RETURN(children[0], ParseOr());
      children[1] = std::move(value);
      if (tokens_.TakeName("else")) {
        SHORTLIST_ASSIGN_OR_RETURN(children[2], ParseExpression());
      }
      SHORTLIST_ASSIGN_OR_RETURN(value, Make(Expr::Kind::kConditional, line, std::move(children)));
    }
    return value;
  }

  Result ParseFilters(ExprPtr value) {
    while (true) {
      if (tokens_.TakeOperator("|")) {
        SHORTLIST_ASSIGN_OR_RETURN(value, ParseFilterName(std::move(value)));
      } else if (tokens_.TakeName("is")) {
        SHORTLIST_ASSIGN_OR_RETURN(value, ParseTest(std::move(value)));
      } else if (tokens_.AtOperator("(")) {
        SHORTLIST_ASSIGN_OR_RETURN(value, ParseArguments(Expr::Kind::kCall, std::move(value), ""));
      } else {
        return value;
      }
    }
  }

  Result ParseFilterName(ExprPtr value) {
    const int line = tokens_.Current().line;
    SHORTLIST_ASSIGN_OR_RETURN(std::string name, tokens_.ExpectName());
    if (tokens_.AtOperator("("))
      return ParseArguments(Expr::Kind::kFilter, std::move(value), std::move(name));
    return Make(Expr::Kind::kFilter, line, std::move(value), std::move(name));
  }

 private:
  /// Returns a node over `children`; bounds the depth of chains, which grow without recursion.
  Result Make(Expr::Kind kind, int line, std::vector<ExprPtr> children, std::string name = "") {
    Expr expr{.kind = kind, .line = line, .name = std::move(name), .children = std::move(children)};
    return Finish(std::move(expr));
  }
  Result Finish(Expr expr) {
    const auto count = [&](const ExprPtr& child) {
      if (child) expr.depth = std::max(expr.depth, child->depth + 1);
    };
    for (const ExprPtr& child : expr.children) count(child);
    for (const auto& [name, child] : expr.named) count(child);
    count(expr.unpacked);
    count(expr.unpacked_named);
    if (expr.depth > kMaxTemplateDepth) return tokens_.TooDeep();
    return std::make_unique<const Expr>(std::move(expr));
  }
  Result Make(Expr::Kind kind, int line, ExprPtr child, std::string name = "") {
    std::vector<ExprPtr> children;
    children.push_back(std::move(child));
    return Make(kind, line, std::move(children), std::move(name));
  }
  Result Make(Expr::Kind kind, int line, ExprPtr left, ExprPtr right) {
    std::vector<ExprPtr> children;
    children.push_back(std::move(left));
    children.push_back(std::move(right));
    return Make(kind, line, std::move(children));
  }
  Result Constant(int line, Value value) {
    return std::make_unique<const Expr>(Expr{.line = line, .constant = std::move(value)});
  }

  Result ParseOr() {
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr left, ParseAnd());
    while (tokens_.AtName("or")) {
      const int line = tokens_.Take().line;
      SHORTLIST_ASSIGN_OR_RETURN(ExprPtr right, ParseAnd());
      SHORTLIST_ASSIGN_OR_RETURN(left,
                                 Make(Expr::Kind::kOr, line, std::move(left), std::move(right)));
    }
    return left;
  }

  Result ParseAnd() {
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr left, ParseNot());
    while (tokens_.AtName("and")) {
      const int line = tokens_.Take().line;
      SHORTLIST_ASSIGN_OR_RETURN(ExprPtr right, ParseNot());
      SHORTLIST_ASSIGN_OR_RETURN(left,
                                 Make(Expr::Kind::kAnd, line, std::move(left), std::move(right)));
    }
    return left;
  }

  Result ParseNot() {
    if (!tokens_.AtName("not")) return ParseCompare();
    const Nested nested(tokens_.depth());
    SHORTLIST_RETURN_IF_ERROR(tokens_.CheckDepth());
    const int line = tokens_.Take().line;
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr operand, ParseNot());
    return Make(Expr::Kind::kNot, line, std::move(operand));
  }

  std::optional<Operator> TakeComparison() {
    for (const auto& [symbol, op] : kComparisons) {
      if (tokens_.TakeOperator(symbol)) return op;
    }
    if (tokens_.TakeName("in")) return Operator::kIn;
    if (tokens_.AtName("not") && tokens_.After().kind == TokenKind::kName &&
        tokens_.After().value == "in") {
      tokens_.Take();
      tokens_.Take();
      return Operator::kNotIn;
    }
    return std::nullopt;
  }

  Result ParseCompare() {
    Expr compare{.kind = Expr::Kind::kCompare, .line = tokens_.Current().line};
    SHORTLIST_ASSIGN_OR_RETURN(compare.children.emplace_back(), ParseSum());
    while (const auto op = TakeComparison()) {
      compare.operators.push_back(*op);
      SHORTLIST_ASSIGN_OR_RETURN(compare.children.emplace_back(), ParseSum());
    }
    if (compare.operators.empty()) return std::move(compare.children[0]);
    return Finish(std::move(compare));
  }

  /// Parses a left-associative level with operands of `operand` and operators of `table`.
  template <typename Table>
  Result ParseBinary(Result (ExpressionParser::*operand)(), const Table& table) {
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr left, (this->*operand)());
    while (true) {
      Expr binary{.kind = Expr::Kind::kBinary, .line = tokens_.Current().line};
      for (const auto& [symbol, op] : table) {
        if (!tokens_.TakeOperator(symbol)) continue;
        binary.operators.push_back(op);
        break;
      }
      if (binary.operators.empty()) return left;
      binary.children.push_back(std::move(left));
      SHORTLIST_ASSIGN_OR_RETURN(binary.children.emplace_back(), (this->*operand)());
      SHORTLIST_ASSIGN_OR_RETURN(left, Finish(std::move(binary)));
    }
  }

  Result ParseSum() { return ParseBinary(&ExpressionParser::ParseConcat, kSums); }
  Result ParseProduct() { return ParseBinary(&ExpressionParser::ParsePower, kProducts); }
  Result ParsePower() { return ParseBinary(&ExpressionParser::ParseFilteredUnary, kPowers); }

  Result ParseConcat() {
    const int line = tokens_.Current().line;
    std::vector<ExprPtr> parts;
    do {
      SHORTLIST_ASSIGN_OR_RETURN(parts.emplace_back(), ParseProduct());
    } while (tokens_.TakeOperator("~"));
    if (parts.size() == 1) return std::move(parts[0]);
    return Make(Expr::Kind::kConcat, line, std::move(parts));
  }

  Result ParseFilteredUnary() {
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr value, ParseUnary());
    return ParseFilters(std::move(value));
  }

  Result ParseUnary() {
    const Nested nested(tokens_.depth());
    SHORTLIST_RETURN_IF_ERROR(tokens_.CheckDepth());
    if (!tokens_.AtOperator("-") && !tokens_.AtOperator("+")) {
      SHORTLIST_ASSIGN_OR_RETURN(ExprPtr primary, ParsePrimary());
      return ParsePostfix(std::move(primary));
    }
    const Token sign = tokens_.Take();
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr operand, ParseUnary());
    SHORTLIST_ASSIGN_OR_RETURN(
        ExprPtr value, Make(sign.value == "-" ? Expr::Kind::kNegate : Expr::Kind::kPlus, sign.line,
                            std::move(operand)));
    return ParsePostfix(std::move(value));
  }

  Result ParsePrimary() {
    const Token token = tokens_.Current();
    switch (token.kind) {
      case TokenKind::kName:
        tokens_.Take();
        if (token.value == "true" || token.value == "True") return Constant(token.line, true);
        if (token.value == "false" || token.value == "False") return Constant(token.line, false);
        if (token.value == "none" || token.value == "None") return Constant(token.line, None{});
        return Make(Expr::Kind::kName, token.line, std::vector<ExprPtr>(), token.value);
      case TokenKind::kString: {
        std::string value;
        while (tokens_.At(TokenKind::kString)) value += tokens_.Take().value;
        return Constant(token.line, Text::FromTemplate(std::move(value)));
      }
      case TokenKind::kInteger: {
        int64_t value = 0;
        const char* end = token.value.data() + token.value.size();
        if (std::from_chars(token.value.data(), end, value).ec != std::errc()) {
          return tokens_.Error(
              absl::StrCat("integer ", token.value.substr(0, 40), " above ", INT64_MAX));
        }
        tokens_.Take();
        return Constant(token.line, value);
      }
      case TokenKind::kFloat: {
        double value = 0;
        const char* end = token.value.data() + token.value.size();
        if (std::from_chars(token.value.data(), end, value).ec != std::errc()) {
          return tokens_.Error(absl::StrCat("number ", token.value.substr(0, 40), " out of range"));
        }
        tokens_.Take();
        return Constant(token.line, value);
      }
      default:
        if (tokens_.TakeOperator("(")) return ParseParentheses(token.line);
        if (tokens_.TakeOperator("[")) return ParseList(token.line);
        if (tokens_.TakeOperator("{")) return ParseDict(token.line);
        return tokens_.Expected("an expression");
    }
  }

  Result ParseParentheses(int line) {
    if (tokens_.TakeOperator(")")) return Make(Expr::Kind::kTuple, line, std::vector<ExprPtr>());
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr inner, ParseTuple(/*conditional=*/true));
    SHORTLIST_RETURN_IF_ERROR(tokens_.ExpectOperator(")"));
    return inner;
  }

  Result ParseList(int line) {
    std::vector<ExprPtr> items;
    while (!tokens_.TakeOperator("]")) {
      if (!items.empty()) SHORTLIST_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
      if (tokens_.TakeOperator("]")) break;
      SHORTLIST_ASSIGN_OR_RETURN(items.emplace_back(), ParseExpression());
    }
    return Make(Expr::Kind::kList, line, std::move(items));
  }

  Result ParseDict(int line) {
    std::vector<ExprPtr> items;
    while (!tokens_.TakeOperator("}")) {
      if (!items.empty()) SHORTLIST_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
      if (tokens_.TakeOperator("}")) break;
      SHORTLIST_ASSIGN_OR_RETURN(items.emplace_back(), ParseExpression());
      SHORTLIST_RETURN_IF_ERROR(tokens_.ExpectOperator(":"));
      SHORTLIST_ASSIGN_OR_RETURN(items.emplace_back(), ParseExpression());
    }
    return Make(Expr::Kind::kDict, line, std::move(items));
  }

  Result ParsePostfix(ExprPtr value) {
    while (true) {
      const int line = tokens_.Current().line;
      if (tokens_.TakeOperator(".")) {
        if (tokens_.At(TokenKind::kInteger)) {
          SHORTLIST_ASSIGN_OR_RETURN(ExprPtr index, ParsePrimary());
          SHORTLIST_ASSIGN_OR_RETURN(
              value, Make(Expr::Kind::kItem, line, std::move(value), std::move(index)));
          continue;
        }
        SHORTLIST_ASSIGN_OR_RETURN(std::string name, tokens_.ExpectName());
        SHORTLIST_ASSIGN_OR_RETURN(
            value, Make(Expr::Kind::kAttribute, line, std::move(value), std::move(name)));
      } else if (tokens_.TakeOperator("[")) {
        SHORTLIST_ASSIGN_OR_RETURN(value, ParseSubscript(std::move(value), line));
      } else if (tokens_.AtOperator("(")) {
        SHORTLIST_ASSIGN_OR_RETURN(value, ParseArguments(Expr::Kind::kCall, std::move(value), ""));
      } else {
        return value;
      }
    }
  }

  Result ParseSubscript(ExprPtr value, int line) {
    std::vector<ExprPtr> bounds(4);
    bounds[0] = std::move(value);
    size_t num_colons = 0;
    while (!tokens_.AtOperator("]")) {
      if (num_colons < 2 && tokens_.TakeOperator(":")) {
        ++num_colons;
      } else if (bounds[num_colons + 1] == nullptr) {
        SHORTLIST_ASSIGN_OR_RETURN(bounds[num_colons + 1], ParseExpression());
      } else {
        return tokens_.Expected("']'");
      }
    }
    tokens_.Take();
    if (num_colons > 0) return Make(Expr::Kind::kSlice, line, std::move(bounds));
    if (bounds[1] == nullptr) return tokens_.Error("an empty subscript");
    return Make(Expr::Kind::kItem, line, std::move(bounds[0]), std::move(bounds[1]));
  }

  /// Parses (a, b, *c, name=d, **e); `first` becomes the first child.
  Result ParseArguments(Expr::Kind kind, ExprPtr first, std::string name) {
    Expr call{.kind = kind, .line = tokens_.Current().line, .name = std::move(name)};
    call.children.push_back(std::move(first));
    SHORTLIST_RETURN_IF_ERROR(tokens_.ExpectOperator("("));
    bool is_first = true;
    while (!tokens_.TakeOperator(")")) {
      if (!std::exchange(is_first, false)) SHORTLIST_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
      if (tokens_.TakeOperator(")")) break;
      if (call.unpacked_named) return tokens_.Error("an argument after **");
      if (tokens_.TakeOperator("**")) {
        SHORTLIST_ASSIGN_OR_RETURN(call.unpacked_named, ParseExpression());
      } else if (tokens_.TakeOperator("*")) {
        if (call.unpacked) return tokens_.Error("a second * among the arguments");
        SHORTLIST_ASSIGN_OR_RETURN(call.unpacked, ParseExpression());
      } else if (tokens_.At(TokenKind::kName) && tokens_.After().kind == TokenKind::kOperator &&
                 tokens_.After().value == "=") {
        std::string key = tokens_.Take().value;
        tokens_.Take();
        SHORTLIST_ASSIGN_OR_RETURN(ExprPtr value, ParseExpression());
        call.named.emplace_back(std::move(key), std::move(value));
      } else {
        if (!call.named.empty() || call.unpacked)
          return tokens_.Error("a positional argument after a named one or *");
        SHORTLIST_ASSIGN_OR_RETURN(call.children.emplace_back(), ParseExpression());
      }
    }
    return Finish(std::move(call));
  }

  /// Parses a test. Its argument may have no parentheses: x is divisibleby 3.
  Result ParseTest(ExprPtr value) {
    const int line = tokens_.Current().line;
    const bool negated = tokens_.TakeName("not");
    SHORTLIST_ASSIGN_OR_RETURN(std::string name, tokens_.ExpectName());
    ExprPtr test;
    const bool bare_argument = tokens_.At(TokenKind::kString) || tokens_.At(TokenKind::kInteger) ||
                               tokens_.At(TokenKind::kFloat) || tokens_.AtOperator("[") ||
                               tokens_.AtOperator("{") ||
                               (tokens_.At(TokenKind::kName) && !tokens_.AtName("else") &&
                                !tokens_.AtName("or") && !tokens_.AtName("and"));
    if (tokens_.AtOperator("(")) {
      SHORTLIST_ASSIGN_OR_RETURN(
          test, ParseArguments(Expr::Kind::kTest, std::move(value), std::move(name)));
    } else if (bare_argument) {
      if (tokens_.AtName("is")) return tokens_.Error("tests cannot be chained");
      std::vector<ExprPtr> children;
      children.push_back(std::move(value));
      SHORTLIST_ASSIGN_OR_RETURN(ExprPtr argument, ParsePrimary());
      SHORTLIST_ASSIGN_OR_RETURN(children.emplace_back(), ParsePostfix(std::move(argument)));
      SHORTLIST_ASSIGN_OR_RETURN(
          test, Make(Expr::Kind::kTest, line, std::move(children), std::move(name)));
    } else {
      SHORTLIST_ASSIGN_OR_RETURN(test,
                                 Make(Expr::Kind::kTest, line, std::move(value), std::move(name)));
    }
    if (!negated) return test;
    return Make(Expr::Kind::kNot, line, std::move(test));
  }

  TokenCursor& tokens_;
};

}  // namespace

absl::StatusOr<ExprPtr> ParseTuple(TokenCursor& tokens, bool conditional) {
  return ExpressionParser(tokens).ParseTuple(conditional);
}

absl::StatusOr<ExprPtr> ParseExpression(TokenCursor& tokens) {
  return ExpressionParser(tokens).ParseExpression();
}

absl::StatusOr<ExprPtr> ParseFilterName(TokenCursor& tokens, ExprPtr value) {
  return ExpressionParser(tokens).ParseFilterName(std::move(value));
}

absl::StatusOr<ExprPtr> ParseFilters(TokenCursor& tokens, ExprPtr value) {
  return ExpressionParser(tokens).ParseFilters(std::move(value));
}

}  // namespace shortlist::jinja

#include "text/template_parser.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/template_lexer.h"

namespace shortlist::jinja {
namespace {

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

/// Recursive descent, one method per level of Jinja's grammar (jinja2/parser.py), weakest first.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  absl::StatusOr<Block> Run() {
    SHORTLIST_ASSIGN_OR_RETURN(Block block, ParseBlock({}));
    return block;
  }

 private:
  using Result = absl::StatusOr<ExprPtr>;

  /// Counts the nesting of calls as long as it lives.
  class Nested {
   public:
    explicit Nested(int& depth) : depth_(depth) { ++depth_; }
    ~Nested() { --depth_; }

   private:
    int& depth_;
  };

  const Token& Current() const { return tokens_[next_]; }
  const Token& After() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
  Token Take() {
    Token token = Current();
    if (next_ + 1 < tokens_.size()) ++next_;
    return token;
  }
  bool At(TokenKind kind) const { return Current().kind == kind; }
  bool At(TokenKind kind, std::string_view value) const {
    return Current().kind == kind && Current().value == value;
  }
  bool AtName(std::string_view value) const { return At(TokenKind::kName, value); }
  bool AtOperator(std::string_view value) const { return At(TokenKind::kOperator, value); }
  bool TakeIf(TokenKind kind, std::string_view value) {
    if (!At(kind, value)) return false;
    Take();
    return true;
  }
  bool TakeName(std::string_view value) { return TakeIf(TokenKind::kName, value); }
  bool TakeOperator(std::string_view value) { return TakeIf(TokenKind::kOperator, value); }

  absl::Status Error(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat("line ", Current().line, ": ", what));
  }

  std::string Describe(const Token& token) const {
    switch (token.kind) {
      case TokenKind::kText:
        return "text";
      case TokenKind::kBlockBegin:
      case TokenKind::kOutputBegin:
        return "the begin of a tag";
      case TokenKind::kBlockEnd:
      case TokenKind::kOutputEnd:
        return "the end of the tag";
      case TokenKind::kEnd:
        return "the end of the template";
      default:
        return absl::StrCat("'", token.value.substr(0, 40), "'");
    }
  }

  absl::Status Expected(const std::string& what) const {
    return Error(absl::StrCat("expected ", what, ", got ", Describe(Current())));
  }

  absl::Status ExpectOperator(std::string_view value) {
    return TakeOperator(value) ? absl::OkStatus()
                               : Expected(absl::StrCat("'", std::string(value), "'"));
  }
  absl::Status ExpectBlockEnd() {
    if (!At(TokenKind::kBlockEnd)) return Expected("the end of the tag");
    Take();
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> ExpectName() {
    if (!At(TokenKind::kName)) return Expected("a name");
    return Take().value;
  }

  absl::Status TooDeep() const {
    return Error(absl::StrCat("nested deeper than ", kMaxTemplateDepth, " levels"));
  }

  /// A node over `children`; bounds the depth of chains, which grow without recursion.
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
    if (expr.depth > kMaxTemplateDepth) return TooDeep();
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

  // Statements.

  /// Up to a block whose first word is in `ends` (which stays), or to the end where that is empty.
  absl::StatusOr<Block> ParseBlock(std::initializer_list<std::string_view> ends) {
    const Nested nested(depth_);
    if (depth_ > kMaxTemplateDepth) return TooDeep();
    Block block;
    while (!At(TokenKind::kEnd)) {
      if (At(TokenKind::kText)) {
        const int line = Current().line;
        block.push_back({.line = line, .text = Text::FromTemplate(Take().value)});
      } else if (At(TokenKind::kOutputBegin)) {
        Take();
        Statement output{.kind = Statement::Kind::kOutput, .line = Current().line};
        SHORTLIST_ASSIGN_OR_RETURN(output.exprs.emplace_back(), ParseTuple(/*conditional=*/true));
        if (!At(TokenKind::kOutputEnd)) return Expected("the end of the tag");
        Take();
        block.push_back(std::move(output));
      } else {
        Take();  // kBlockBegin: a tag's tokens end with its end
        if (!At(TokenKind::kName)) return Expected("a statement");
        if (std::find(ends.begin(), ends.end(), Current().value) != ends.end()) return block;
        SHORTLIST_RETURN_IF_ERROR(ParseStatement(block));
      }
    }
    if (ends.size() > 0) return Expected(absl::StrCat("'", std::string(*(ends.end() - 1)), "'"));
    return block;
  }

  /// A body: ends this tag, and reads to the tag of `ends`, whose word is taken.
  absl::StatusOr<Block> ParseBody(std::initializer_list<std::string_view> ends) {
    SHORTLIST_RETURN_IF_ERROR(ExpectBlockEnd());
    return ParseBlock(ends);
  }

  absl::Status ParseStatement(Block& block) {
    Statement statement{.line = Current().line};
    const std::string word = Take().value;
    if (word == "if") {
      SHORTLIST_RETURN_IF_ERROR(ParseIf(statement));
    } else if (word == "for") {
      SHORTLIST_RETURN_IF_ERROR(ParseFor(statement));
    } else if (word == "set") {
      SHORTLIST_RETURN_IF_ERROR(ParseSet(statement));
    } else if (word == "macro") {
      SHORTLIST_RETURN_IF_ERROR(ParseMacro(statement));
    } else if (word == "filter") {
      statement.kind = Statement::Kind::kFilter;
      SHORTLIST_ASSIGN_OR_RETURN(ExprPtr input, BlockText(statement.line));
      SHORTLIST_ASSIGN_OR_RETURN(input, ParseFilterName(std::move(input)));
      SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.emplace_back(), ParseFilters(std::move(input)));
      SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(), ParseBody({"endfilter"}));
      Take();
    } else if (word == "generation") {
      statement.kind = Statement::Kind::kGeneration;
      const int loops = std::exchange(loops_, 0);  // as in Jinja, break does not leave the block
      SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(), ParseBody({"endgeneration"}));
      loops_ = loops;
      Take();
    } else if (word == "break" || word == "continue") {
      if (loops_ == 0) return Error(absl::StrCat("'", word, "' outside of a loop"));
      statement.kind = word == "break" ? Statement::Kind::kBreak : Statement::Kind::kContinue;
    } else {
      return Error(absl::StrCat("statement '", word.substr(0, 40), "' is not supported here"));
    }
    SHORTLIST_RETURN_IF_ERROR(ExpectBlockEnd());
    block.push_back(std::move(statement));
    return absl::OkStatus();
  }

  absl::Status ParseIf(Statement& statement) {
    statement.kind = Statement::Kind::kIf;
    while (true) {
      SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.emplace_back(), ParseTuple(/*conditional=*/false));
      SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(),
                                 ParseBody({"elif", "else", "endif"}));
      const std::string word = Take().value;
      if (word == "elif") continue;
      if (word == "else") {
        SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(), ParseBody({"endif"}));
        Take();
      }
      return absl::OkStatus();
    }
  }

  absl::Status ParseFor(Statement& statement) {
    statement.kind = Statement::Kind::kFor;
    SHORTLIST_ASSIGN_OR_RETURN(statement.target, ParseTargets());
    if (!TakeName("in")) return Expected("'in'");
    SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.emplace_back(), ParseTuple(/*conditional=*/false));
    statement.exprs.emplace_back();
    if (TakeName("if")) {
      SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.back(), ParseExpression());
    }
    if (AtName("recursive")) return Error("a recursive for is not supported");
    ++loops_;
    ++nested_scopes_;
    SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(), ParseBody({"else", "endfor"}));
    --loops_;
    statement.bodies.emplace_back();
    if (Take().value == "else") {
      SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.back(), ParseBody({"endfor"}));
      Take();
    }
    --nested_scopes_;
    return absl::OkStatus();
  }

  absl::Status ParseSet(Statement& statement) {
    SHORTLIST_ASSIGN_OR_RETURN(statement.target, ParseTargets());
    if (TakeOperator("=")) {
      statement.kind = Statement::Kind::kSet;
      SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.emplace_back(), ParseTuple(/*conditional=*/true));
      return absl::OkStatus();
    }
    statement.kind = Statement::Kind::kSetBlock;
    if (!statement.target.parts.empty()) return Expected("'='");
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr input, BlockText(statement.line));
    SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.emplace_back(), ParseFilters(std::move(input)));
    ++nested_scopes_;
    SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(), ParseBody({"endset"}));
    --nested_scopes_;
    Take();
    return absl::OkStatus();
  }

  absl::Status ParseMacro(Statement& statement) {
    if (nested_scopes_ > 0) return Error("a macro must stand at the top level");
    statement.kind = Statement::Kind::kMacro;
    SHORTLIST_ASSIGN_OR_RETURN(statement.name, ExpectName());
    SHORTLIST_RETURN_IF_ERROR(ExpectOperator("("));
    while (!AtOperator(")")) {
      if (!statement.parameters.empty()) SHORTLIST_RETURN_IF_ERROR(ExpectOperator(","));
      SHORTLIST_ASSIGN_OR_RETURN(statement.parameters.emplace_back(), ExpectName());
      statement.exprs.emplace_back();
      if (TakeOperator("=")) {
        SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.back(), ParseExpression());
      } else if (statement.exprs.size() > 1 && statement.exprs[statement.exprs.size() - 2]) {
        return Error("a parameter without default after one with");
      }
    }
    Take();
    const int loops = std::exchange(loops_, 0);
    ++nested_scopes_;
    SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(), ParseBody({"endmacro"}));
    --nested_scopes_;
    loops_ = loops;
    Take();
    return absl::OkStatus();
  }

  /// Names, attributes of names, or parenthesised lists of them, parted by commas.
  absl::StatusOr<Target> ParseTargets() {
    SHORTLIST_ASSIGN_OR_RETURN(Target first, ParseTarget());
    if (!AtOperator(",")) return first;
    Target all;
    all.parts.push_back(std::move(first));
    while (TakeOperator(",")) {
      if (AtName("in") || AtOperator("=") || AtOperator(")")) break;
      SHORTLIST_ASSIGN_OR_RETURN(all.parts.emplace_back(), ParseTarget());
    }
    return all;
  }

  absl::StatusOr<Target> ParseTarget() {
    const Nested nested(depth_);
    if (depth_ > kMaxTemplateDepth) return TooDeep();
    if (TakeOperator("(")) {
      SHORTLIST_ASSIGN_OR_RETURN(Target inner, ParseTargets());
      SHORTLIST_RETURN_IF_ERROR(ExpectOperator(")"));
      return inner;
    }
    Target target;
    SHORTLIST_ASSIGN_OR_RETURN(target.name, ExpectName());
    for (const std::string_view word : {"true", "false", "none", "True", "False", "None"}) {
      if (target.name == word)
        return Error(absl::StrCat("'", target.name, "' cannot be assigned to"));
    }
    if (TakeOperator(".")) {
      SHORTLIST_ASSIGN_OR_RETURN(target.attribute, ExpectName());
    }
    return target;
  }

  Result BlockText(int line) {
    return Make(Expr::Kind::kName, line, std::vector<ExprPtr>(), kBlockText);
  }

  // Expressions.

  /// One expression, or a tuple of several parted by commas. `conditional` allows a if b else c.
  Result ParseTuple(bool conditional) {
    const int line = Current().line;
    std::vector<ExprPtr> items;
    bool is_tuple = false;
    do {
      const bool at_end = At(TokenKind::kOutputEnd) || At(TokenKind::kBlockEnd) || AtOperator(")");
      if (is_tuple && at_end) break;
      SHORTLIST_ASSIGN_OR_RETURN(items.emplace_back(), conditional ? ParseExpression() : ParseOr());
      is_tuple |= AtOperator(",");
    } while (TakeOperator(","));
    if (!is_tuple) return std::move(items[0]);
    return Make(Expr::Kind::kTuple, line, std::move(items));
  }

  Result ParseExpression() {
    const Nested nested(depth_);
    if (depth_ > kMaxTemplateDepth) return TooDeep();
    const int line = Current().line;
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr value, ParseOr());
    while (TakeName("if")) {
      std::vector<ExprPtr> children(3);
      SHORTLIST_ASSIGN_OR_RETURN(children[0], ParseOr());
      children[1] = std::move(value);
      if (TakeName("else")) {
        SHORTLIST_ASSIGN_OR_RETURN(children[2], ParseExpression());
      }
      SHORTLIST_ASSIGN_OR_RETURN(value, Make(Expr::Kind::kConditional, line, std::move(children)));
    }
    return value;
  }

  Result ParseOr() {
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr left, ParseAnd());
    while (AtName("or")) {
      const int line = Take().line;
      SHORTLIST_ASSIGN_OR_RETURN(ExprPtr right, ParseAnd());
      SHORTLIST_ASSIGN_OR_RETURN(left,
                                 Make(Expr::Kind::kOr, line, std::move(left), std::move(right)));
    }
    return left;
  }

  Result ParseAnd() {
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr left, ParseNot());
    while (AtName("and")) {
      const int line = Take().line;
      SHORTLIST_ASSIGN_OR_RETURN(ExprPtr right, ParseNot());
      SHORTLIST_ASSIGN_OR_RETURN(left,
                                 Make(Expr::Kind::kAnd, line, std::move(left), std::move(right)));
    }
    return left;
  }

  Result ParseNot() {
    if (!AtName("not")) return ParseCompare();
    const Nested nested(depth_);
    if (depth_ > kMaxTemplateDepth) return TooDeep();
    const int line = Take().line;
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr operand, ParseNot());
    return Make(Expr::Kind::kNot, line, std::move(operand));
  }

  std::optional<Operator> TakeComparison() {
    for (const auto& [symbol, op] : kComparisons) {
      if (TakeOperator(symbol)) return op;
    }
    if (TakeName("in")) return Operator::kIn;
    if (AtName("not") && After().kind == TokenKind::kName && After().value == "in") {
      Take();
      Take();
      return Operator::kNotIn;
    }
    return std::nullopt;
  }

  Result ParseCompare() {
    Expr compare{.kind = Expr::Kind::kCompare, .line = Current().line};
    SHORTLIST_ASSIGN_OR_RETURN(compare.children.emplace_back(), ParseSum());
    while (const auto op = TakeComparison()) {
      compare.operators.push_back(*op);
      SHORTLIST_ASSIGN_OR_RETURN(compare.children.emplace_back(), ParseSum());
    }
    if (compare.operators.empty()) return std::move(compare.children[0]);
    return Finish(std::move(compare));
  }

  /// A left-associative level: operands by `operand`, operators of `table`.
  template <typename Table>
  Result ParseBinary(Result (Parser::*operand)(), const Table& table) {
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr left, (this->*operand)());
    while (true) {
      Expr binary{.kind = Expr::Kind::kBinary, .line = Current().line};
      for (const auto& [symbol, op] : table) {
        if (!TakeOperator(symbol)) continue;
        binary.operators.push_back(op);
        break;
      }
      if (binary.operators.empty()) return left;
      binary.children.push_back(std::move(left));
      SHORTLIST_ASSIGN_OR_RETURN(binary.children.emplace_back(), (this->*operand)());
      SHORTLIST_ASSIGN_OR_RETURN(left, Finish(std::move(binary)));
    }
  }

  Result ParseSum() { return ParseBinary(&Parser::ParseConcat, kSums); }
  Result ParseProduct() { return ParseBinary(&Parser::ParsePower, kProducts); }
  Result ParsePower() { return ParseBinary(&Parser::ParseFilteredUnary, kPowers); }

  Result ParseConcat() {
    const int line = Current().line;
    std::vector<ExprPtr> parts;
    do {
      SHORTLIST_ASSIGN_OR_RETURN(parts.emplace_back(), ParseProduct());
    } while (TakeOperator("~"));
    if (parts.size() == 1) return std::move(parts[0]);
    return Make(Expr::Kind::kConcat, line, std::move(parts));
  }

  Result ParseFilteredUnary() {
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr value, ParseUnary());
    return ParseFilters(std::move(value));
  }

  Result ParseUnary() {
    const Nested nested(depth_);
    if (depth_ > kMaxTemplateDepth) return TooDeep();
    if (!AtOperator("-") && !AtOperator("+")) {
      SHORTLIST_ASSIGN_OR_RETURN(ExprPtr primary, ParsePrimary());
      return ParsePostfix(std::move(primary));
    }
    const Token sign = Take();
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr operand, ParseUnary());
    SHORTLIST_ASSIGN_OR_RETURN(
        ExprPtr value, Make(sign.value == "-" ? Expr::Kind::kNegate : Expr::Kind::kPlus, sign.line,
                            std::move(operand)));
    return ParsePostfix(std::move(value));
  }

  Result ParsePrimary() {
    const Token token = Current();
    switch (token.kind) {
      case TokenKind::kName:
        Take();
        if (token.value == "true" || token.value == "True") return Constant(token.line, true);
        if (token.value == "false" || token.value == "False") return Constant(token.line, false);
        if (token.value == "none" || token.value == "None") return Constant(token.line, None{});
        return Make(Expr::Kind::kName, token.line, std::vector<ExprPtr>(), token.value);
      case TokenKind::kString: {
        std::string value;
        while (At(TokenKind::kString)) value += Take().value;
        return Constant(token.line, Text::FromTemplate(std::move(value)));
      }
      case TokenKind::kInteger: {
        int64_t value = 0;
        const char* end = token.value.data() + token.value.size();
        if (std::from_chars(token.value.data(), end, value).ec != std::errc()) {
          return Error(absl::StrCat("integer ", token.value.substr(0, 40), " above ", INT64_MAX));
        }
        Take();
        return Constant(token.line, value);
      }
      case TokenKind::kFloat: {
        double value = 0;
        const char* end = token.value.data() + token.value.size();
        if (std::from_chars(token.value.data(), end, value).ec != std::errc()) {
          return Error(absl::StrCat("number ", token.value.substr(0, 40), " out of range"));
        }
        Take();
        return Constant(token.line, value);
      }
      default:
        if (TakeOperator("(")) return ParseParentheses(token.line);
        if (TakeOperator("[")) return ParseList(token.line);
        if (TakeOperator("{")) return ParseDict(token.line);
        return Expected("an expression");
    }
  }

  Result ParseParentheses(int line) {
    if (TakeOperator(")")) return Make(Expr::Kind::kTuple, line, std::vector<ExprPtr>());
    SHORTLIST_ASSIGN_OR_RETURN(ExprPtr inner, ParseTuple(/*conditional=*/true));
    SHORTLIST_RETURN_IF_ERROR(ExpectOperator(")"));
    return inner;
  }

  Result ParseList(int line) {
    std::vector<ExprPtr> items;
    while (!TakeOperator("]")) {
      if (!items.empty()) SHORTLIST_RETURN_IF_ERROR(ExpectOperator(","));
      if (TakeOperator("]")) break;
      SHORTLIST_ASSIGN_OR_RETURN(items.emplace_back(), ParseExpression());
    }
    return Make(Expr::Kind::kList, line, std::move(items));
  }

  Result ParseDict(int line) {
    std::vector<ExprPtr> items;
    while (!TakeOperator("}")) {
      if (!items.empty()) SHORTLIST_RETURN_IF_ERROR(ExpectOperator(","));
      if (TakeOperator("}")) break;
      SHORTLIST_ASSIGN_OR_RETURN(items.emplace_back(), ParseExpression());
      SHORTLIST_RETURN_IF_ERROR(ExpectOperator(":"));
      SHORTLIST_ASSIGN_OR_RETURN(items.emplace_back(), ParseExpression());
    }
    return Make(Expr::Kind::kDict, line, std::move(items));
  }

  Result ParsePostfix(ExprPtr value) {
    while (true) {
      const int line = Current().line;
      if (TakeOperator(".")) {
        if (At(TokenKind::kInteger)) {
          SHORTLIST_ASSIGN_OR_RETURN(ExprPtr index, ParsePrimary());
          SHORTLIST_ASSIGN_OR_RETURN(
              value, Make(Expr::Kind::kItem, line, std::move(value), std::move(index)));
          continue;
        }
        SHORTLIST_ASSIGN_OR_RETURN(std::string name, ExpectName());
        SHORTLIST_ASSIGN_OR_RETURN(
            value, Make(Expr::Kind::kAttribute, line, std::move(value), std::move(name)));
      } else if (TakeOperator("[")) {
        SHORTLIST_ASSIGN_OR_RETURN(value, ParseSubscript(std::move(value), line));
      } else if (AtOperator("(")) {
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
    while (!AtOperator("]")) {
      if (num_colons < 2 && TakeOperator(":")) {
        ++num_colons;
      } else if (bounds[num_colons + 1] == nullptr) {
        SHORTLIST_ASSIGN_OR_RETURN(bounds[num_colons + 1], ParseExpression());
      } else {
        return Expected("']'");
      }
    }
    Take();
    if (num_colons > 0) return Make(Expr::Kind::kSlice, line, std::move(bounds));
    if (bounds[1] == nullptr) return Error("an empty subscript");
    return Make(Expr::Kind::kItem, line, std::move(bounds[0]), std::move(bounds[1]));
  }

  /// (a, b, name=c) after `first`, which becomes the first child.
  Result ParseArguments(Expr::Kind kind, ExprPtr first, std::string name) {
    Expr call{.kind = kind, .line = Current().line, .name = std::move(name)};
    call.children.push_back(std::move(first));
    SHORTLIST_RETURN_IF_ERROR(ExpectOperator("("));
    bool is_first = true;
    while (!TakeOperator(")")) {
      if (!std::exchange(is_first, false)) SHORTLIST_RETURN_IF_ERROR(ExpectOperator(","));
      if (TakeOperator(")")) break;
      if (AtOperator("*") || AtOperator("**")) return Error("unpacked arguments are not supported");
      if (At(TokenKind::kName) && After().kind == TokenKind::kOperator && After().value == "=") {
        std::string key = Take().value;
        Take();
        SHORTLIST_ASSIGN_OR_RETURN(ExprPtr value, ParseExpression());
        call.named.emplace_back(std::move(key), std::move(value));
      } else {
        if (!call.named.empty()) return Error("a positional argument after a named one");
        SHORTLIST_ASSIGN_OR_RETURN(call.children.emplace_back(), ParseExpression());
      }
    }
    return Finish(std::move(call));
  }

  Result ParseFilters(ExprPtr value) {
    while (true) {
      if (TakeOperator("|")) {
        SHORTLIST_ASSIGN_OR_RETURN(value, ParseFilterName(std::move(value)));
      } else if (TakeName("is")) {
        SHORTLIST_ASSIGN_OR_RETURN(value, ParseTest(std::move(value)));
      } else if (AtOperator("(")) {
        SHORTLIST_ASSIGN_OR_RETURN(value, ParseArguments(Expr::Kind::kCall, std::move(value), ""));
      } else {
        return value;
      }
    }
  }

  Result ParseFilterName(ExprPtr value) {
    const int line = Current().line;
    SHORTLIST_ASSIGN_OR_RETURN(std::string name, ExpectName());
    if (AtOperator("("))
      return ParseArguments(Expr::Kind::kFilter, std::move(value), std::move(name));
    return Make(Expr::Kind::kFilter, line, std::move(value), std::move(name));
  }

  /// A test's argument may stand without parentheses: x is divisibleby 3.
  Result ParseTest(ExprPtr value) {
    const int line = Current().line;
    const bool negated = TakeName("not");
    SHORTLIST_ASSIGN_OR_RETURN(std::string name, ExpectName());
    ExprPtr test;
    const bool bare_argument =
        At(TokenKind::kString) || At(TokenKind::kInteger) || At(TokenKind::kFloat) ||
        AtOperator("[") || AtOperator("{") ||
        (At(TokenKind::kName) && !AtName("else") && !AtName("or") && !AtName("and"));
    if (AtOperator("(")) {
      SHORTLIST_ASSIGN_OR_RETURN(
          test, ParseArguments(Expr::Kind::kTest, std::move(value), std::move(name)));
    } else if (bare_argument) {
      if (AtName("is")) return Error("tests cannot be chained");
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

  const std::vector<Token> tokens_;
  size_t next_ = 0;
  int depth_ = 0;
  int loops_ = 0;          // loops around this place that break may leave
  int nested_scopes_ = 0;  // loops, macros and set blocks around this place
};

}  // namespace

absl::StatusOr<Block> ParseTemplate(std::string_view source) {
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  return Parser(std::move(tokens)).Run();
}

}  // namespace shortlist::jinja

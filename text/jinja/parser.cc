#include "text/jinja/parser.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/cursor.h"
#include "text/jinja/expression_parser.h"
#include "text/jinja/lexer.h"
#include "text/jinja/names.h"
#include "text/jinja/nested.h"

namespace shortlist::jinja {
namespace {

/// Returns the name of a block's text, which filters apply to.
ExprPtr BlockText(int line) {
  return std::make_unique<const Expr>(
      Expr{.kind = Expr::Kind::kName, .line = line, .name = kBlockText});
}

/// Reads statements by recursive descent.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  absl::StatusOr<Block> Run() { return ParseBlock({}); }

 private:
  /// Parses up to a block whose first word is in `ends` and does not take that word. Parses to the
  /// end if `ends` is empty.
  absl::StatusOr<Block> ParseBlock(std::initializer_list<std::string_view> ends) {
    const Nested nested(tokens_.depth());
    SHORTLIST_RETURN_IF_ERROR(tokens_.CheckDepth());
    Block block;
    while (!tokens_.At(TokenKind::kEnd)) {
      if (tokens_.At(TokenKind::kText)) {
        const int line = tokens_.Current().line;
        block.push_back({.line = line, .text = Text::FromTemplate(tokens_.Take().value)});
      } else if (tokens_.At(TokenKind::kOutputBegin)) {
        tokens_.Take();
        Statement output{.kind = Statement::Kind::kOutput, .line = tokens_.Current().line};
        SHORTLIST_ASSIGN_OR_RETURN(output.exprs.emplace_back(),
                                   ParseTuple(tokens_, /*conditional=*/true));
        if (!tokens_.At(TokenKind::kOutputEnd)) return tokens_.Expected("the end of the tag");
        tokens_.Take();
        block.push_back(std::move(output));
      } else {
        tokens_.Take();  // kBlockBegin: the tokens of a tag include its end
        if (!tokens_.At(TokenKind::kName)) return tokens_.Expected("a statement");
        if (std::find(ends.begin(), ends.end(), tokens_.Current().value) != ends.end())
          return block;
        SHORTLIST_RETURN_IF_ERROR(ParseStatement(block));
      }
    }
    if (ends.size() > 0)
      return tokens_.Expected(absl::StrCat("'", std::string(*(ends.end() - 1)), "'"));
    return block;
  }

  /// Parses a body: ends this tag, then reads up to a tag of `ends` and does not take its word.
  absl::StatusOr<Block> ParseBody(std::initializer_list<std::string_view> ends) {
    SHORTLIST_RETURN_IF_ERROR(tokens_.ExpectBlockEnd());
    return ParseBlock(ends);
  }

  absl::Status ParseStatement(Block& block) {
    Statement statement{.line = tokens_.Current().line};
    const std::string word = tokens_.Take().value;
    if (word == "if") {
      SHORTLIST_RETURN_IF_ERROR(ParseIf(statement));
    } else if (word == "for") {
      SHORTLIST_RETURN_IF_ERROR(ParseFor(statement));
    } else if (word == "set") {
      SHORTLIST_RETURN_IF_ERROR(ParseSet(statement));
    } else if (word == "macro") {
      SHORTLIST_RETURN_IF_ERROR(ParseMacro(statement));
    } else if (word == "with") {
      SHORTLIST_RETURN_IF_ERROR(ParseWith(statement));
    } else if (word == "filter") {
      statement.kind = Statement::Kind::kFilter;
      ExprPtr input = BlockText(statement.line);
      SHORTLIST_ASSIGN_OR_RETURN(input, ParseFilterName(tokens_, std::move(input)));
      SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.emplace_back(),
                                 ParseFilters(tokens_, std::move(input)));
      SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(), ParseBody({"endfilter"}));
      tokens_.Take();
    } else if (word == "generation") {
      statement.kind = Statement::Kind::kGeneration;
      const int loops = std::exchange(loops_, 0);  // as in Jinja, break cannot leave the block
      SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(), ParseBody({"endgeneration"}));
      loops_ = loops;
      tokens_.Take();
    } else if (word == "break" || word == "continue") {
      if (loops_ == 0) return tokens_.Error(absl::StrCat("'", word, "' outside of a loop"));
      statement.kind = word == "break" ? Statement::Kind::kBreak : Statement::Kind::kContinue;
    } else {
      return tokens_.Error(
          absl::StrCat("statement '", word.substr(0, 40), "' is not supported here"));
    }
    SHORTLIST_RETURN_IF_ERROR(tokens_.ExpectBlockEnd());
    block.push_back(std::move(statement));
    return absl::OkStatus();
  }

  absl::Status ParseIf(Statement& statement) {
    statement.kind = Statement::Kind::kIf;
    while (true) {
      SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.emplace_back(),
                                 ParseTuple(tokens_, /*conditional=*/false));
      SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(),
                                 ParseBody({"elif", "else", "endif"}));
      if (tokens_.TakeName("elif")) continue;
      if (tokens_.Take().value == "else") {
        SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(), ParseBody({"endif"}));
        tokens_.Take();
      }
      return absl::OkStatus();
    }
  }

  absl::Status ParseFor(Statement& statement) {
    statement.kind = Statement::Kind::kFor;
    SHORTLIST_ASSIGN_OR_RETURN(statement.target, ParseTargets());
    if (!tokens_.TakeName("in")) return tokens_.Expected("'in'");
    SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.emplace_back(),
                               ParseTuple(tokens_, /*conditional=*/false));
    statement.exprs.emplace_back();
    if (tokens_.TakeName("if")) {
      SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.back(), ParseExpression(tokens_));
    }
    if (tokens_.AtName("recursive")) return tokens_.Error("a recursive for is not supported");
    ++loops_;
    ++nested_scopes_;
    SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(), ParseBody({"else", "endfor"}));
    --loops_;
    statement.bodies.emplace_back();
    if (tokens_.Take().value == "else") {
      SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.back(), ParseBody({"endfor"}));
      tokens_.Take();
    }
    --nested_scopes_;
    return absl::OkStatus();
  }

  absl::Status ParseSet(Statement& statement) {
    SHORTLIST_ASSIGN_OR_RETURN(statement.target, ParseTargets());
    if (tokens_.TakeOperator("=")) {
      statement.kind = Statement::Kind::kSet;
      SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.emplace_back(),
                                 ParseTuple(tokens_, /*conditional=*/true));
      return absl::OkStatus();
    }
    statement.kind = Statement::Kind::kSetBlock;
    if (!statement.target.parts.empty()) return tokens_.Expected("'='");
    ExprPtr input = BlockText(statement.line);
    SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.emplace_back(),
                               ParseFilters(tokens_, std::move(input)));
    ++nested_scopes_;
    SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(), ParseBody({"endset"}));
    --nested_scopes_;
    tokens_.Take();
    return absl::OkStatus();
  }

  absl::Status ParseWith(Statement& statement) {
    statement.kind = Statement::Kind::kWith;
    while (!tokens_.At(TokenKind::kBlockEnd)) {
      if (!statement.exprs.empty()) SHORTLIST_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
      SHORTLIST_ASSIGN_OR_RETURN(Target target, ParseTargets());
      if (!target.attribute.empty()) return tokens_.Error("with sets variables, not attributes");
      SHORTLIST_RETURN_IF_ERROR(tokens_.ExpectOperator("="));
      statement.target.parts.push_back(std::move(target));
      SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.emplace_back(), ParseExpression(tokens_));
    }
    ++nested_scopes_;
    SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(), ParseBody({"endwith"}));
    --nested_scopes_;
    tokens_.Take();
    return absl::OkStatus();
  }

  absl::Status ParseMacro(Statement& statement) {
    if (nested_scopes_ > 0) return tokens_.Error("a macro must stand at the top level");
    statement.kind = Statement::Kind::kMacro;
    SHORTLIST_ASSIGN_OR_RETURN(statement.name, tokens_.ExpectName());
    SHORTLIST_RETURN_IF_ERROR(tokens_.ExpectOperator("("));
    while (!tokens_.AtOperator(")")) {
      if (!statement.parameters.empty()) SHORTLIST_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
      SHORTLIST_ASSIGN_OR_RETURN(statement.parameters.emplace_back(), tokens_.ExpectName());
      statement.exprs.emplace_back();
      if (tokens_.TakeOperator("=")) {
        SHORTLIST_ASSIGN_OR_RETURN(statement.exprs.back(), ParseExpression(tokens_));
      } else if (statement.exprs.size() > 1 && statement.exprs[statement.exprs.size() - 2]) {
        return tokens_.Error("a parameter without default after one with");
      }
    }
    tokens_.Take();
    const int loops = std::exchange(loops_, 0);
    ++nested_scopes_;
    SHORTLIST_ASSIGN_OR_RETURN(statement.bodies.emplace_back(), ParseBody({"endmacro"}));
    statement.takes_more = Reads(statement.bodies.back(), "varargs");
    statement.takes_more_named = Reads(statement.bodies.back(), "kwargs");
    --nested_scopes_;
    loops_ = loops;
    tokens_.Take();
    return absl::OkStatus();
  }

  /// Parses names, attributes of names, or parenthesised lists of them, separated by commas.
  absl::StatusOr<Target> ParseTargets() {
    SHORTLIST_ASSIGN_OR_RETURN(Target first, ParseTarget());
    if (!tokens_.AtOperator(",")) return first;
    Target all;
    all.parts.push_back(std::move(first));
    while (tokens_.TakeOperator(",")) {
      if (tokens_.AtName("in") || tokens_.AtOperator("=") || tokens_.AtOperator(")")) break;
      SHORTLIST_ASSIGN_OR_RETURN(all.parts.emplace_back(), ParseTarget());
    }
    return all;
  }

  absl::StatusOr<Target> ParseTarget() {
    const Nested nested(tokens_.depth());
    SHORTLIST_RETURN_IF_ERROR(tokens_.CheckDepth());
    if (tokens_.TakeOperator("(")) {
      SHORTLIST_ASSIGN_OR_RETURN(Target inner, ParseTargets());
      SHORTLIST_RETURN_IF_ERROR(tokens_.ExpectOperator(")"));
      return inner;
    }
    Target target;
    SHORTLIST_ASSIGN_OR_RETURN(target.name, tokens_.ExpectName());
    for (const std::string_view word : {"true", "false", "none", "True", "False", "None"}) {
      if (target.name == word)
        return tokens_.Error(absl::StrCat("'", target.name, "' cannot be assigned to"));
    }
    if (tokens_.TakeOperator(".")) {
      SHORTLIST_ASSIGN_OR_RETURN(target.attribute, tokens_.ExpectName());
    }
    return target;
  }

  TokenCursor tokens_;
  int loops_ = 0;          // loops around this position that break may leave
  int nested_scopes_ = 0;  // loops, macros, with and set blocks around this position
};

}  // namespace

absl::StatusOr<Block> ParseTemplate(std::string_view source) {
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  SHORTLIST_ASSIGN_OR_RETURN(Block block, Parser(std::move(tokens)).Run());
  SHORTLIST_RETURN_IF_ERROR(CheckNames(block));
  return block;
}

}  // namespace shortlist::jinja

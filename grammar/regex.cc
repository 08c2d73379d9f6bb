#include "grammar/regex.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "grammar/char_class.h"
#include "grammar/json_text.h"
#include "grammar/regex_syntax.h"

namespace shortlist {
namespace {

using Kind = RegexNode::Kind;

/// What may come before a part of the pattern, or after it.
enum class Edge {
  kInside,    // other parts of the pattern: no anchor is possible
  kAnchored,  // nothing
  kOpen,      // any text, until an anchor forbids it
};

/// Translates a parsed pattern. Recursion follows the pattern's groups, whose depth is bounded.
class Translator {
 public:
  using CharsOf = std::function<ExprId(const CharClass&)>;

  Translator(Expressions& expressions, CharsOf chars_of)
      : expressions_(expressions), chars_of_(std::move(chars_of)) {
    any_text_ = expressions_.Repeat(chars_of_({{0, kMaxCodePoint}}), 0, Expressions::kNoLimit);
  }

  /// Returns the texts of `node` with the text that its open edges add.
  absl::StatusOr<ExprId> Translate(const RegexNode& node, Edge left, Edge right) {
    if (!node.has_anchors) {
      SHORTLIST_ASSIGN_OR_RETURN(const ExprId texts, TranslatePlain(node));
      return WithEdges(texts, left, right);
    }
    switch (node.kind) {
      case Kind::kAlternation:
        return TranslateAlternation(node, left, right);
      case Kind::kSequence:
        return TranslateSequence(node, left, right);
      case Kind::kRepeat:
        return TranslateOptional(node, left, right);
      case Kind::kBegin:
        if (left == Edge::kInside) return RegexError(node.position, "^ after other parts");
        return WithEdges(expressions_.Empty(), Edge::kAnchored, right);
      case Kind::kEnd:
        if (right == Edge::kInside) return RegexError(node.position, "$ before other parts");
        return WithEdges(expressions_.Empty(), left, Edge::kAnchored);
      case Kind::kChars:
        break;
    }
    return expressions_.Nothing();
  }

 private:
  ExprId WithEdges(ExprId texts, Edge left, Edge right) {
    if (left == Edge::kOpen) texts = expressions_.Sequence(any_text_, texts);
    if (right == Edge::kOpen) texts = expressions_.Sequence(texts, any_text_);
    return texts;
  }

  absl::StatusOr<ExprId> TranslatePlain(const RegexNode& node) {
    if (node.kind == Kind::kChars) {
      const auto [found, is_new] = class_exprs_.try_emplace(node.chars);
      if (is_new) found->second = chars_of_(node.chars);
      return found->second;
    }
    std::vector<ExprId> parts;
    for (const RegexNode& child : node.children) {
      SHORTLIST_ASSIGN_OR_RETURN(parts.emplace_back(), TranslatePlain(child));
    }
    if (node.kind == Kind::kAlternation) return expressions_.Choice(parts);
    if (node.kind == Kind::kSequence) return expressions_.Sequence(parts);
    return expressions_.Repeat(parts[0], node.min, node.max);
  }

  absl::StatusOr<ExprId> TranslateAlternation(const RegexNode& node, Edge left, Edge right) {
    std::vector<ExprId> options;
    for (const RegexNode& child : node.children) {
      SHORTLIST_ASSIGN_OR_RETURN(options.emplace_back(), Translate(child, left, right));
    }
    return expressions_.Choice(options);
  }

  /// Anchors at the ends close the edges; the first and the last other part get what is left.
  absl::StatusOr<ExprId> TranslateSequence(const RegexNode& node, Edge left, Edge right) {
    size_t begin = 0, end = node.children.size();
    for (; begin < end && node.children[begin].kind == Kind::kBegin; ++begin) {
      if (left == Edge::kInside) return RegexError(node.children[begin].position, kLateBegin);
      left = Edge::kAnchored;
    }
    for (; begin < end && node.children[end - 1].kind == Kind::kEnd; --end) {
      if (right == Edge::kInside) return RegexError(node.children[end - 1].position, kEarlyEnd);
      right = Edge::kAnchored;
    }
    if (begin == end) return WithEdges(expressions_.Empty(), left, right);
    std::vector<ExprId> parts;
    for (size_t i = begin; i < end; ++i) {
      const Edge left_of_part = i == begin ? left : Edge::kInside;
      const Edge right_of_part = i + 1 == end ? right : Edge::kInside;
      SHORTLIST_ASSIGN_OR_RETURN(parts.emplace_back(),
                                 Translate(node.children[i], left_of_part, right_of_part));
    }
    return expressions_.Sequence(parts);
  }

  /// A repetition with anchors inside: only x? is supported.
  absl::StatusOr<ExprId> TranslateOptional(const RegexNode& node, Edge left, Edge right) {
    if (node.max > 1) return RegexError(node.position, "^ or $ in a repeated group");
    std::vector<ExprId> options;
    if (node.min == 0) options.push_back(WithEdges(expressions_.Empty(), left, right));
    if (node.max == 1) {
      SHORTLIST_ASSIGN_OR_RETURN(options.emplace_back(), Translate(node.children[0], left, right));
    }
    return expressions_.Choice(options);
  }

  static constexpr std::string_view kLateBegin = "^ after other parts";
  static constexpr std::string_view kEarlyEnd = "$ before other parts";

  Expressions& expressions_;
  const CharsOf chars_of_;
  std::map<CharClass, ExprId> class_exprs_;  // results of chars_of_
  ExprId any_text_;
};

}  // namespace

absl::StatusOr<ExprId> CompileRegex(std::string_view pattern, Expressions& expressions) {
  SHORTLIST_ASSIGN_OR_RETURN(const RegexNode node, ParseRegex(pattern));
  Translator translator(expressions,
                        [&](const CharClass& chars) { return CodePoints(expressions, chars); });
  return translator.Translate(node, Edge::kAnchored, Edge::kAnchored);
}

absl::StatusOr<ExprId> CompileJsonPattern(std::string_view pattern, Expressions& expressions) {
  SHORTLIST_ASSIGN_OR_RETURN(const RegexNode node, ParseRegex(pattern));
  Translator translator(
      expressions, [&](const CharClass& chars) { return JsonText::Chars(expressions, chars); });
  return translator.Translate(node, Edge::kOpen, Edge::kOpen);
}

}  // namespace shortlist

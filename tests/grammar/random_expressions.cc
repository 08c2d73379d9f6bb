#include "tests/grammar/random_expressions.h"

#include <algorithm>

namespace shortlist {

Tree::Ptr Tree::Random(std::mt19937& random, int depth, int num_rules) {
  const auto tree = std::make_shared<Tree>();
  const auto below = [&] { return Random(random, depth - 1, num_rules); };
  const auto below_without_calls = [&] { return Random(random, depth - 1, 0); };
  const auto byte = [&] { return static_cast<char>('a' + random() % 3); };
  const uint32_t kind = depth == 0 ? random() % 8 : 3 + random() % 14;
  if (kind == 0 && random() % 4 == 0) {
    tree->kind_ = Kind::kNothing;
  } else if (kind <= 1) {
    tree->kind_ = Kind::kEmpty;
  } else if (kind <= 4) {
    tree->kind_ = Kind::kBytes;
    tree->text_ = {byte(), byte()};
  } else if (kind <= 6) {
    tree->kind_ = Kind::kText;
    for (uint32_t i = random() % 5; i > 0; --i) tree->text_ += byte();
  } else if (kind == 7) {
    if (num_rules == 0) return Random(random, depth, 0);
    tree->kind_ = Kind::kSequence;
    const auto call = std::make_shared<Tree>();
    call->kind_ = Kind::kCall;
    call->rule_ = static_cast<int>(random() % num_rules);
    const auto text = std::make_shared<Tree>();
    text->kind_ = Kind::kText;
    text->text_ = {byte()};
    tree->parts_ = {text, call};
  } else if (kind <= 10) {
    tree->kind_ = Kind::kSequence;
    tree->parts_ = {below(), below()};
  } else if (kind <= 12) {
    tree->kind_ = Kind::kChoice;
    for (uint32_t i = 2 + random() % 3; i > 0; --i) tree->parts_.push_back(below());
  } else if (kind <= 14) {
    tree->kind_ = Kind::kRepeat;
    tree->parts_ = {below()};
    tree->min_ = random() % 3;
    tree->max_ = random() % 3 == 0 ? Expressions::kNoLimit : tree->min_ + random() % 3;
  } else {
    tree->kind_ = kind == 15 ? Kind::kBoth : Kind::kExcept;
    tree->parts_ = {below_without_calls(), below_without_calls()};
  }
  return tree;
}

std::set<size_t> Tree::Ends(std::string_view text, size_t begin, const std::vector<Ptr>& rules,
                            Memo& memo) const {
  const auto found = memo.find({this, begin});
  if (found != memo.end()) return found->second;
  return memo[{this, begin}] = FindEnds(text, begin, rules, memo);
}

std::set<size_t> Tree::FindEnds(std::string_view text, size_t begin, const std::vector<Ptr>& rules,
                                Memo& memo) const {
  const auto ends = [&](int part, size_t from) {
    return parts_[part]->Ends(text, from, rules, memo);
  };
  std::set<size_t> result;
  switch (kind_) {
    case Kind::kNothing:
      break;
    case Kind::kEmpty:
      return {begin};
    case Kind::kBytes:
      if (begin < text.size() && text_.find(text[begin]) != text_.npos) return {begin + 1};
      break;
    case Kind::kText:
      if (text.substr(begin).starts_with(text_)) return {begin + text_.size()};
      break;
    case Kind::kSequence:
      for (const size_t middle : ends(0, begin)) result.merge(ends(1, middle));
      break;
    case Kind::kChoice:
      for (size_t i = 0; i < parts_.size(); ++i) result.merge(ends(static_cast<int>(i), begin));
      break;
    case Kind::kRepeat: {
      std::set<size_t> now{begin};
      // After min_ + the length of the text, further repetitions reach no further ends.
      const int64_t last = std::min(max_, min_ + static_cast<int64_t>(text.size()) + 1);
      for (int64_t count = 0;; ++count) {
        if (count >= min_) result.insert(now.begin(), now.end());
        if (count == last) break;
        std::set<size_t> next;
        for (const size_t end : now) next.merge(ends(0, end));
        now = next;
      }
      break;
    }
    case Kind::kBoth:
    case Kind::kExcept: {
      const std::set<size_t> others = ends(1, begin);
      for (const size_t end : ends(0, begin)) {
        if (others.contains(end) == (kind_ == Kind::kBoth)) result.insert(end);
      }
      break;
    }
    case Kind::kCall:
      return rules[rule_]->Ends(text, begin, rules, memo);
  }
  return result;
}

ExprId Tree::Build(Expressions& expressions, const std::vector<RuleId>& rules) const {
  std::vector<ExprId> parts;
  for (const Ptr& part : parts_) parts.push_back(part->Build(expressions, rules));
  switch (kind_) {
    case Kind::kNothing:
      return expressions.Nothing();
    case Kind::kEmpty:
      return expressions.Empty();
    case Kind::kBytes: {
      ByteSet set;
      for (const char c : text_) set.Add(static_cast<uint8_t>(c));
      return expressions.Bytes(set);
    }
    case Kind::kText:
      return expressions.Text(text_);
    case Kind::kSequence:
      return expressions.Sequence(parts);
    case Kind::kChoice:
      return expressions.Choice(parts);
    case Kind::kRepeat:
      return expressions.Repeat(parts[0], min_, max_);
    case Kind::kBoth:
      return expressions.Both(parts[0], parts[1]);
    case Kind::kExcept:
      return expressions.Except(parts[0], parts[1]);
    case Kind::kCall:
      return expressions.Call(rules[rule_]);
  }
  return expressions.Nothing();
}

std::string Tree::Show() const {
  static constexpr const char* kNames[] = {"nothing", "empty",  "bytes", "text",   "sequence",
                                           "choice",  "repeat", "both",  "except", "call"};
  std::string shown = kNames[static_cast<int>(kind_)];
  if (kind_ == Kind::kCall) return shown + std::to_string(rule_);
  if (kind_ == Kind::kBytes || kind_ == Kind::kText) return shown + "'" + text_ + "'";
  if (kind_ == Kind::kRepeat) {
    shown +=
        std::to_string(min_) + "-" + (max_ == Expressions::kNoLimit ? "" : std::to_string(max_));
  }
  shown += "(";
  for (const Ptr& part : parts_) shown += part->Show() + " ";
  return shown + ")";
}

}  // namespace shortlist

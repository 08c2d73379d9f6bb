#include "grammar/expr_normal_form.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace shortlist {
namespace {

// Levels of factoring in one choice. What is below is factored when a state reaches it.
constexpr int kMaxFactoringDepth = 64;
// Nested intersections and differences, each of which is searched with those inside.
constexpr int kMaxBothDepth = 200;

ByteSet OneByte(uint8_t byte) { return ByteSet::Range(byte, byte); }

}  // namespace

ExprId ExprNormalForm::Bytes(const ByteSet& bytes) {
  return bytes.empty() ? kNothing : nodes_.AddBytes(bytes);
}

ExprId ExprNormalForm::Text(std::string_view text) {
  if (text.empty()) return kEmpty;
  if (text.size() == 1) return Bytes(OneByte(static_cast<uint8_t>(text[0])));
  return nodes_.AddText(text);
}

/// `of` may be one byte, too.
ExprId ExprNormalForm::TextSuffix(ExprId of, int32_t num_bytes) {
  const int32_t size = nodes_.KindOf(of) == ExprKind::kBytes ? 1 : nodes_[of].b;
  if (size == num_bytes) return kEmpty;
  if (size > num_bytes + 1) return nodes_.AddTextSuffix(of, num_bytes);
  return Bytes(OneByte(static_cast<uint8_t>(nodes_.TextOf(of)[num_bytes])));
}

ExprId ExprNormalForm::Sequence(ExprId first, ExprId second) {
  if (nodes_.IsDead(first) || nodes_.IsDead(second)) return kNothing;
  if (first == kEmpty) return second;
  if (second == kEmpty) return first;
  std::vector<ExprId> parts;
  while (nodes_.KindOf(first) == ExprKind::kSequence) {
    parts.push_back(ExprId{nodes_[first].a});
    first = ExprId{nodes_[first].b};
  }
  nodes_.CountWork(std::ssize(parts) + 1);
  ExprId whole = nodes_.AddPair(ExprKind::kSequence, first, second);
  for (auto part = parts.rbegin(); part != parts.rend() && whole != kNothing; ++part) {
    whole = nodes_.AddPair(ExprKind::kSequence, *part, whole);
  }
  return whole;
}

ExprNormalForm::Options ExprNormalForm::Split(std::span<const ExprId> options) const {
  Options split;
  const auto add = [&](ExprId id) {
    const ExprNode& node = nodes_[id];
    if (node.min_length == Expressions::kNoLimit) return;
    split.push_back(node.kind == ExprKind::kSequence ? Option{ExprId{node.a}, ExprId{node.b}}
                                                     : Option{id, kEmpty});
  };
  for (const ExprId id : options) {
    if (nodes_.KindOf(id) == ExprKind::kChoice) {
      for (const ExprId option : nodes_.OptionsOf(id)) add(option);
    } else {
      add(id);
    }
  }
  return split;
}

ExprId ExprNormalForm::Choice(std::span<const ExprId> options, int depth) {
  Options split = Split(options);
  nodes_.CountWork(std::ssize(split));
  std::ranges::sort(split);
  split.erase(std::ranges::unique(split).begin(), split.end());
  if (split.size() > 1 && depth < kMaxFactoringDepth) FactorTexts(split, depth);
  if (split.size() > 1) MergeBytes(split);
  if (split.size() > 1) MergeRepeats(split);
  if (split.size() > 1 && depth < kMaxFactoringDepth) FactorHeads(split, depth);
  return JoinOptions(split);
}

/// True of a text, and of one byte in front of more.
bool ExprNormalForm::BeginsAsText(const Option& option) const {
  switch (nodes_.KindOf(option.head)) {
    case ExprKind::kText:
      return true;
    case ExprKind::kBytes:
      return nodes_.SetOf(option.head).size() == 1;
    default:
      return false;
  }
}

uint8_t ExprNormalForm::FirstByteOf(ExprId head) const {
  return nodes_.KindOf(head) == ExprKind::kText ? static_cast<uint8_t>(nodes_.TextOf(head)[0])
                                                : nodes_.SetOf(head).first();
}

void ExprNormalForm::FactorTexts(Options& options, int depth) {
  Options factored;
  std::vector<std::pair<uint8_t, Option>> texts;  // by first byte
  for (const Option& option : options) {
    if (BeginsAsText(option)) {
      texts.push_back({FirstByteOf(option.head), option});
    } else {
      factored.push_back(option);
    }
  }
  if (texts.size() < 2) return;
  std::ranges::sort(texts);
  Options group;
  for (size_t i = 0; i < texts.size(); ++i) {
    group.push_back(texts[i].second);
    if (i + 1 < texts.size() && texts[i + 1].first == texts[i].first) continue;
    factored.push_back(group.size() == 1 ? group[0] : FactorTextGroup(group, depth));
    group.clear();
  }
  options = std::move(factored);
}

ExprNormalForm::Option ExprNormalForm::FactorTextGroup(std::span<const Option> group, int depth) {
  // One byte in the group makes the common text that byte.
  std::string_view common;
  for (const Option& option : group) {
    if (nodes_.KindOf(option.head) == ExprKind::kBytes) {
      common = {};
      break;
    }
    const std::string_view text = nodes_.TextOf(option.head);
    if (option == group.front()) common = text;
    const auto end = std::mismatch(common.begin(), common.end(), text.begin(), text.end()).first;
    common = common.substr(0, end - common.begin());
  }
  const auto num_bytes = static_cast<int32_t>(std::max<size_t>(common.size(), 1));
  const ExprId head =
      num_bytes == 1 ? Bytes(OneByte(FirstByteOf(group.front().head))) : Text(std::string(common));
  std::vector<ExprId> rests;
  rests.reserve(group.size());
  for (const Option& option : group) {
    rests.push_back(Sequence(TextSuffix(option.head, num_bytes), option.tail));
  }
  return {head, Choice(rests, depth + 1)};
}

void ExprNormalForm::MergeBytes(Options& options) {
  const auto bytes = std::partition(options.begin(), options.end(), [&](const Option& option) {
    return nodes_.KindOf(option.head) != ExprKind::kBytes;
  });
  std::ranges::sort(bytes, options.end(), {},
                    [](const Option& option) { return std::pair(option.tail, option.head); });
  auto out = bytes;
  for (auto begin = bytes; begin != options.end();) {
    ByteSet set;
    auto end = begin;
    for (; end != options.end() && end->tail == begin->tail; ++end) {
      set = set | nodes_.SetOf(end->head);
    }
    *out++ = {end - begin == 1 ? begin->head : Bytes(set), begin->tail};
    begin = end;
  }
  options.erase(out, options.end());
}

void ExprNormalForm::MergeRepeats(Options& options) {
  const auto repeats = std::partition(options.begin(), options.end(), [&](const Option& option) {
    return nodes_.KindOf(option.head) != ExprKind::kRepeat;
  });
  std::ranges::sort(repeats, options.end(), {}, [&](const Option& option) {
    const ExprNode& node = nodes_[option.head];
    return std::tuple(node.a, option.tail, node.x, option.head);
  });
  auto out = repeats;
  for (auto begin = repeats; begin != options.end();) {
    const int32_t of = nodes_[begin->head].a;
    const int64_t min = nodes_[begin->head].x;
    int64_t max = nodes_.MaxOf(begin->head);
    auto end = begin + 1;
    for (; end != options.end(); ++end) {
      const ExprNode& node = nodes_[end->head];
      if (node.a != of || end->tail != begin->tail) break;
      if (max != Expressions::kNoLimit && node.x > max + 1) break;
      max = std::max(max, nodes_.MaxOf(end->head));
    }
    *out++ = {Repeat(ExprId{of}, min, max), begin->tail};
    begin = end;
  }
  options.erase(out, options.end());
}

void ExprNormalForm::FactorHeads(Options& options, int depth) {
  std::ranges::sort(options);
  auto out = options.begin();
  for (auto begin = options.begin(); begin != options.end();) {
    const auto end = std::find_if(begin, options.end(),
                                  [&](const Option& option) { return option.head != begin->head; });
    Option option = *begin;
    if (end - begin > 1) {
      std::vector<ExprId> tails;
      for (auto i = begin; i != end; ++i) tails.push_back(i->tail);
      option.tail = Choice(tails, depth + 1);
    }
    *out++ = option;
    begin = end;
  }
  options.erase(out, options.end());
}

ExprId ExprNormalForm::JoinOptions(const Options& options) {
  std::vector<ExprId> ids;
  ids.reserve(options.size());
  bool has_nullable = false;
  for (const Option& option : options) {
    const ExprId id = Sequence(option.head, option.tail);
    if (id == kNothing) continue;
    if (id != kEmpty && nodes_.IsNullable(id)) has_nullable = true;
    ids.push_back(id);
  }
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  if (has_nullable) std::erase(ids, kEmpty);
  if (ids.empty()) return kNothing;
  return ids.size() == 1 ? ids.front() : nodes_.AddChoice(ids);
}

ExprId ExprNormalForm::Repeat(ExprId of, int64_t min, int64_t max) {
  if (nodes_.IsDead(of)) return min == 0 ? kEmpty : kNothing;
  if (max == 0 || of == kEmpty) return kEmpty;
  if (nodes_.IsNullable(of)) min = 0;
  if (min == 1 && max == 1) return of;
  if (min == 0 && max == 1) return Choice(std::array{kEmpty, of});
  const ExprNode& node = nodes_[of];
  if (node.kind == ExprKind::kRepeat && node.x == 0 && nodes_.MaxOf(of) == Expressions::kNoLimit)
    return of;
  return nodes_.AddRepeat(of, min, max);
}

ExprId ExprNormalForm::Pair(ExprKind kind, ExprId a, ExprId b) {
  if (std::max(nodes_[a].both_depth, nodes_[b].both_depth) >= kMaxBothDepth) {
    nodes_.SetFull();
    return kNothing;
  }
  return kind == ExprKind::kBoth ? Both(a, b) : Except(a, b);
}

ExprId ExprNormalForm::Both(ExprId a, ExprId b) {
  if (nodes_.IsDead(a) || nodes_.IsDead(b)) return kNothing;
  if (a == b) return a;
  if (b < a) std::swap(a, b);
  if (a == kEmpty && nodes_[b].min_length != kUnknownLength) {
    return nodes_.IsNullable(b) ? kEmpty : kNothing;
  }
  if (nodes_.KindOf(a) == ExprKind::kBytes && nodes_.KindOf(b) == ExprKind::kBytes) {
    return Bytes(nodes_.SetOf(a) & nodes_.SetOf(b));
  }
  return nodes_.AddPair(ExprKind::kBoth, a, b);
}

ExprId ExprNormalForm::Except(ExprId a, ExprId b) {
  if (nodes_.IsDead(a) || a == b) return kNothing;
  if (nodes_.IsDead(b)) return a;
  if (a == kEmpty && nodes_[b].min_length != kUnknownLength) {
    return nodes_.IsNullable(b) ? kNothing : kEmpty;
  }
  if (nodes_.KindOf(a) == ExprKind::kBytes && nodes_.KindOf(b) == ExprKind::kBytes) {
    return Bytes(nodes_.SetOf(a) & ~nodes_.SetOf(b));
  }
  return nodes_.AddPair(ExprKind::kExcept, a, b);
}

}  // namespace shortlist

#include "grammar/expressions.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"
#include "grammar/expr_derivatives.h"
#include "grammar/expr_form.h"
#include "grammar/expr_nodes.h"
#include "grammar/expr_normal_form.h"
#include "grammar/rule_check.h"

namespace shortlist {

// Nodes and moves are immutable once another thread can know their ids, so reading them needs no
// lock. Options and counts lie in arrays that move when they grow.
struct Expressions::Impl {
  explicit Impl(int64_t max_bytes) : nodes(max_bytes) {}

  const ExprMoves* MovesOf(ExprId of) {
    const ExprMoves* moves = nodes[of].moves.load(std::memory_order_acquire);
    if (moves != nullptr) return moves;
    const std::lock_guard lock(mutex);
    return nodes.is_full() ? nullptr : derivatives.Compute(of);
  }

  ExprId Pair(ExprKind kind, ExprId a, ExprId b) {
    const std::lock_guard lock(mutex);
    return derivatives.Settle(form.Pair(kind, a, b));
  }

  /// The text with which `of` begins.
  ExprId TextOf(ExprId of) const {
    return nodes.KindOf(of) == ExprKind::kSequence ? ExprId{nodes[of].a} : of;
  }

  /// What follows after as many of `bytes` as the text holds with which `of` begins; removes them.
  ExprId AfterText(ExprId of, std::string_view& bytes) {
    const ExprId text = TextOf(of);
    const ExprId rest = text == of ? kEmpty : ExprId{nodes[of].b};
    const ExprNode& node = nodes[text];
    if (node.kind == ExprKind::kBytes) {
      const bool is_equal = static_cast<uint8_t>(bytes.front()) == node.b;
      bytes.remove_prefix(1);
      return is_equal ? rest : kNothing;
    }
    const std::lock_guard lock(mutex);
    const size_t size = std::min(bytes.size(), nodes.TextOf(text).size());
    if (!nodes.TextOf(text).starts_with(bytes.substr(0, size))) return kNothing;
    bytes.remove_prefix(size);
    return form.Sequence(form.TextSuffix(text, static_cast<int32_t>(size)), rest);
  }

  std::mutex mutex;
  ExprNodes nodes;
  ExprNormalForm form{nodes};
  std::vector<ExprRule> rules;
  ExprDerivatives derivatives{nodes, form, rules};
};

Expressions::Expressions(int64_t max_bytes) : impl_(std::make_unique<Impl>(max_bytes)) {}
Expressions::~Expressions() = default;

ExprId Expressions::Nothing() const { return kNothing; }
ExprId Expressions::Empty() const { return kEmpty; }

ExprId Expressions::Bytes(const ByteSet& bytes) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->form.Bytes(bytes);
}

ExprId Expressions::Text(std::string_view text) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->form.Text(text);
}

ExprId Expressions::Sequence(ExprId first, ExprId second) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->form.Sequence(first, second);
}

ExprId Expressions::Sequence(std::span<const ExprId> parts) {
  const std::lock_guard lock(impl_->mutex);
  ExprId whole = kEmpty;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    whole = impl_->form.Sequence(*part, whole);
  }
  return whole;
}

ExprId Expressions::Choice(ExprId a, ExprId b) { return Choice(std::array{a, b}); }

ExprId Expressions::Choice(std::span<const ExprId> options) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->form.Choice(options);
}

ExprId Expressions::Repeat(ExprId of, int64_t min, int64_t max) {
  SHORTLIST_CHECK(0 <= min && min <= max);
  const std::lock_guard lock(impl_->mutex);
  return impl_->form.Repeat(of, min, max);
}

ExprId Expressions::Both(ExprId a, ExprId b) { return impl_->Pair(ExprKind::kBoth, a, b); }
ExprId Expressions::Except(ExprId a, ExprId b) { return impl_->Pair(ExprKind::kExcept, a, b); }

RuleId Expressions::NewRule(std::string name) {
  const std::lock_guard lock(impl_->mutex);
  impl_->nodes.Charge(static_cast<int64_t>(sizeof(ExprRule) + name.size()));
  impl_->rules.push_back({.name = std::move(name), .definition = {}});
  return RuleId{static_cast<int32_t>(impl_->rules.size() - 1)};
}

void Expressions::Define(RuleId rule, ExprId as) {
  const std::lock_guard lock(impl_->mutex);
  SHORTLIST_CHECK(!impl_->rules[Raw(rule)].definition.has_value());
  impl_->rules[Raw(rule)].definition = as;
}

ExprId Expressions::Call(RuleId rule) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->nodes.AddCall(rule);
}

std::string Expressions::Check(ExprId start) {
  const std::lock_guard lock(impl_->mutex);
  return CheckRules(start, impl_->nodes, impl_->derivatives, impl_->rules);
}

bool Expressions::IsNullable(ExprId of) const { return impl_->nodes.IsNullable(of); }
bool Expressions::IsProductive(ExprId of) const { return !impl_->nodes.IsDead(of); }
int64_t Expressions::MinLength(ExprId of) const { return impl_->nodes[of].min_length; }

ExprId Expressions::After(ExprId of, std::string_view bytes) {
  while (!bytes.empty() && of != kNothing) {
    if (BeginsWithText(of)) {
      of = impl_->AfterText(of, bytes);
    } else {
      of = After(of, static_cast<uint8_t>(bytes.front()));
      bytes.remove_prefix(1);
    }
  }
  return of;
}

const ExprMoves& Expressions::MovesOf(ExprId of) {
  static constexpr ByteClasses kOneClass;
  static constexpr ExprMoves kNone = {&kOneClass, &kNothing};
  const ExprMoves* moves = impl_->MovesOf(of);
  return moves == nullptr ? kNone : *moves;
}

ByteSet Expressions::FirstBytes(ExprId of) {
  ByteSet bytes;
  const ExprMoves& moves = MovesOf(of);
  for (int byte = 0; byte < 256; ++byte) {
    if (moves.After(static_cast<uint8_t>(byte)) != kNothing) bytes.Add(static_cast<uint8_t>(byte));
  }
  return bytes;
}

Expressions::Split Expressions::SplitSequence(ExprId of) const {
  const ExprNode& node = impl_->nodes[of];
  if (node.kind != ExprKind::kSequence) return {of, kEmpty};
  return {ExprId{node.a}, ExprId{node.b}};
}

std::vector<ExprId> Expressions::OptionsOf(ExprId of) const {
  if (impl_->nodes.KindOf(of) != ExprKind::kChoice) return {of};
  const std::lock_guard lock(impl_->mutex);
  const std::span<const ExprId> options = impl_->nodes.OptionsOf(of);
  return {options.begin(), options.end()};
}

Expressions::Repetition Expressions::RepetitionOf(ExprId of) const {
  const ExprNode& node = impl_->nodes[of];
  if (node.kind != ExprKind::kRepeat) return {of, 1, 1};
  const std::lock_guard lock(impl_->mutex);
  return {ExprId{node.a}, node.x, impl_->nodes.MaxOf(of)};
}

std::optional<std::pair<ExprId, ExprId>> Expressions::BothOf(ExprId of) const {
  const ExprNode& node = impl_->nodes[of];
  if (node.kind != ExprKind::kBoth) return std::nullopt;
  return std::pair(ExprId{node.a}, ExprId{node.b});
}

ExprId Expressions::MinuendOf(ExprId of) const {
  const ExprNode& node = impl_->nodes[of];
  return node.kind == ExprKind::kExcept ? ExprId{node.a} : of;
}

ExprId Expressions::DefinitionOf(ExprId of) const {
  const ExprNode& node = impl_->nodes[of];
  if (node.kind != ExprKind::kCall) return of;
  const std::lock_guard lock(impl_->mutex);
  return *impl_->rules[node.a].definition;
}

bool Expressions::BeginsWithText(ExprId of) const {
  const int64_t length = MinLength(of);
  if (length == kUnknownLength || length == kNoLimit) return false;
  const ExprNode& node = impl_->nodes[impl_->TextOf(of)];
  return node.kind == ExprKind::kText || (node.kind == ExprKind::kBytes && node.b >= 0);
}

size_t Expressions::CopyText(ExprId of, std::span<char> to) const {
  const ExprNode& node = impl_->nodes[impl_->TextOf(of)];
  if (node.kind == ExprKind::kBytes) {
    to[0] = static_cast<char>(node.b);
    return 1;
  }
  const std::lock_guard lock(impl_->mutex);
  const std::string_view text = impl_->nodes.TextOf(impl_->TextOf(of));
  text.copy(to.data(), to.size());
  return text.size();
}

bool Expressions::CallsRule(ExprId of) const { return impl_->nodes[of].calls_rule; }

bool Expressions::IsPlain(ExprId of) const { return impl_->nodes.KindOf(of) <= ExprKind::kText; }

std::optional<std::string> Expressions::FormOf(ExprId of) const {
  const std::lock_guard lock(impl_->mutex);
  return shortlist::FormOf(impl_->nodes, of);
}

void Expressions::LimitWork(int64_t units) { impl_->nodes.LimitWork(units); }
bool Expressions::is_full() const { return impl_->nodes.is_full(); }
int64_t Expressions::num_bytes() const { return impl_->nodes.num_bytes(); }

}  // namespace shortlist

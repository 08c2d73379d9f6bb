#include "grammar/expr_derivatives.h"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>

namespace shortlist {
namespace {

constexpr size_t kTargetsPerBlock = 4096;
constexpr int kMaxSearchSteps = 200'000;

/// Splits each class by those of `other`.
void Refine(ByteClasses& classes, const ByteClasses& other) {
  if (classes.num_classes == 1) classes = other;
  if (other.num_classes == 1 || classes == other) return;
  // The number of a pair of classes, -1: none yet.
  std::vector<int16_t> numbers(static_cast<size_t>(classes.num_classes * other.num_classes), -1);
  int num_classes = 0;
  for (int byte = 0; byte < 256; ++byte) {
    int16_t& number = numbers[classes.class_of[byte] * other.num_classes + other.class_of[byte]];
    if (number < 0) number = static_cast<int16_t>(num_classes++);
    classes.class_of[byte] = static_cast<uint8_t>(number);
  }
  classes.num_classes = num_classes;
}

/// Makes `byte` a class of its own, the last one if it is none yet.
void SplitOff(uint8_t byte, ByteClasses& classes) {
  uint8_t& number = classes.class_of[byte];
  if (std::ranges::count(classes.class_of, number) == 1) return;
  number = static_cast<uint8_t>(classes.num_classes++);
}

/// A byte of each class.
std::vector<uint8_t> BytesOf(const ByteClasses& classes) {
  std::vector<uint8_t> bytes(classes.num_classes);
  for (int byte = 0; byte < 256; ++byte) {
    bytes[classes.class_of[byte]] = static_cast<uint8_t>(byte);
  }
  return bytes;
}

using ClassesByByte = std::array<ByteClasses, 256>;

/// For each byte: the class 1 of it alone, and 0 of all others.
const ClassesByByte& ClassesOfOneByte() {
  static const ClassesByByte& all = *[] {
    auto* made = new ClassesByByte();
    for (int byte = 0; byte < 256; ++byte) {
      ByteClasses& classes = (*made)[byte];
      SplitOff(static_cast<uint8_t>(byte), classes);
      classes.bytes = BytesOf(classes);
    }
    return made;
  }();
  return all;
}

/// True of those of ClassesOfOneByte().
bool AreOfOneByte(const ByteClasses& classes) {
  return classes.num_classes == 2 && &classes == &ClassesOfOneByte()[classes.bytes[1]];
}

}  // namespace

void ExprDerivatives::AppendParts(ExprId id, std::vector<ExprId>& parts) const {
  const ExprNode& node = nodes_[id];
  switch (node.kind) {
    case ExprKind::kSequence:
      if (BeginsWithText(id)) break;
      parts.push_back(ExprId{node.a});
      if (nodes_.IsNullable(ExprId{node.a})) parts.push_back(ExprId{node.b});
      break;
    case ExprKind::kChoice:
      for (const ExprId option : nodes_.OptionsOf(id)) parts.push_back(option);
      break;
    case ExprKind::kRepeat:
      parts.push_back(ExprId{node.a});
      break;
    case ExprKind::kBoth:
    case ExprKind::kExcept:
      parts.push_back(ExprId{node.a});
      parts.push_back(ExprId{node.b});
      break;
    case ExprKind::kCall:
      if (rules_[node.a].definition.has_value()) parts.push_back(*rules_[node.a].definition);
      break;
    default:
      break;
  }
}

const ExprMoves* ExprDerivatives::Compute(ExprId id) {
  std::vector<ExprId> stack{id};
  while (!stack.empty()) {
    const ExprId top = stack.back();
    if (MovesOf(top) != nullptr) {
      stack.pop_back();
      continue;
    }
    const size_t num_below = stack.size();
    const int64_t length = nodes_[top].min_length;
    if (length != Expressions::kNoLimit && length != kUnknownLength) {
      AppendParts(top, stack);
      const auto is_done = [&](ExprId part) { return MovesOf(part) != nullptr; };
      stack.erase(std::remove_if(stack.begin() + num_below, stack.end(), is_done), stack.end());
      if (stack.size() > num_below) continue;
    }
    const ExprMoves* moves = Combine(top);
    // Without room, some target may be missing: better no moves than wrong ones.
    if (nodes_.is_full()) return nullptr;
    nodes_.SetMoves(top, moves);
    stack.pop_back();
  }
  return MovesOf(id);
}

const ExprMoves* ExprDerivatives::Combine(ExprId id) {
  const ExprNode& node = nodes_[id];
  if (node.min_length == Expressions::kNoLimit || node.min_length == kUnknownLength)
    return MovesOfBytes({});
  switch (node.kind) {
    case ExprKind::kBytes:
      return MovesOfBytes(nodes_.SetOf(id));
    case ExprKind::kText:
      return MovesOfText(id, kEmpty);
    case ExprKind::kCall:
      return MovesOf(*rules_[node.a].definition);
    case ExprKind::kBoth:
    case ExprKind::kExcept:
      return MovesOfPair(id);
    default: {
      if (BeginsWithText(id)) return MovesOfText(ExprId{node.a}, ExprId{node.b});
      std::vector<Part> parts;
      AppendMoves(id, kEmpty, parts);
      return Union(parts);
    }
  }
}

void ExprDerivatives::AppendMoves(ExprId id, ExprId tail, std::vector<Part>& parts) {
  const ExprNode& node = nodes_[id];
  switch (node.kind) {
    case ExprKind::kSequence:
      parts.push_back({MovesOf(ExprId{node.a}), ExprId{node.b}});
      if (nodes_.IsNullable(ExprId{node.a})) parts.push_back({MovesOf(ExprId{node.b}), kEmpty});
      break;
    case ExprKind::kChoice:
      for (const ExprId option : nodes_.OptionsOf(id)) parts.push_back({MovesOf(option), tail});
      break;
    case ExprKind::kRepeat: {
      // Empty repetitions may all come last, so one that is not empty comes first.
      const bool is_nullable = nodes_.IsNullable(ExprId{node.a});
      const int64_t min = is_nullable ? 0 : std::max<int64_t>(node.x - 1, 0);
      const int64_t max = nodes_.MaxOf(id);
      const int32_t of = node.a;
      parts.push_back(
          {MovesOf(ExprId{of}),
           form_.Repeat(ExprId{of}, min,
                        max == Expressions::kNoLimit ? Expressions::kNoLimit : max - 1)});
      break;
    }
    default:
      break;
  }
}

const ExprMoves* ExprDerivatives::MovesOfText(ExprId text, ExprId tail) {
  const auto first = static_cast<uint8_t>(nodes_.TextOf(text)[0]);
  return Store(ClassesOfOneByte()[first],
               std::array{kNothing, form_.Sequence(form_.TextSuffix(text, 1), tail)});
}

const ExprMoves* ExprDerivatives::MovesOfBytes(const ByteSet& set) {
  if (set.size() == 1) return Store(ClassesOfOneByte()[set.first()], std::array{kNothing, kEmpty});
  ByteClasses classes;
  if (set.empty()) return Store(Intern(classes), std::array{kNothing});
  if (set == ~ByteSet()) return Store(Intern(classes), std::array{kEmpty});
  classes.num_classes = 2;
  for (int byte = 0; byte < 256; ++byte) {
    classes.class_of[byte] = set.Contains(static_cast<uint8_t>(byte)) ? 1 : 0;
  }
  return Store(Intern(classes), std::array{kNothing, kEmpty});
}

const ExprMoves* ExprDerivatives::Union(std::span<const Part> parts) {
  constexpr int64_t kWorkPerPart = 4;  // Refine() looks at each byte
  nodes_.CountWork(kWorkPerPart * std::ssize(parts));
  if (parts.size() == 1) return Append(parts.front());
  ByteClasses refined;
  for (const Part& part : parts) {
    const ByteClasses& classes = *part.moves->classes;
    if (AreOfOneByte(classes)) {
      SplitOff(classes.bytes[1], refined);
    } else {
      Refine(refined, classes);
    }
  }
  const ByteClasses& classes = Intern(refined);
  std::vector<ExprId> targets, options;
  targets.reserve(classes.bytes.size());
  for (const uint8_t byte : classes.bytes) {
    options.clear();
    for (const Part& part : parts) {
      const ExprId target = part.moves->After(byte);
      if (target != kNothing) options.push_back(form_.Sequence(target, part.tail));
    }
    targets.push_back(options.size() == 1 ? options.front() : form_.Choice(options));
  }
  return Store(classes, targets);
}

/// The moves of one part keep their classes.
const ExprMoves* ExprDerivatives::Append(const Part& part) {
  const ByteClasses& classes = *part.moves->classes;
  std::vector<ExprId> targets(part.moves->targets, part.moves->targets + classes.num_classes);
  for (ExprId& target : targets) {
    if (target != kNothing) target = form_.Sequence(target, part.tail);
  }
  return Store(classes, targets);
}

std::pair<const ByteClasses&, std::vector<ExprId>> ExprDerivatives::PairTargets(ExprId pair) {
  const ExprKind kind = nodes_.KindOf(pair);
  const ExprMoves& a = *MovesOf(ExprId{nodes_[pair].a});
  const ExprMoves& b = *MovesOf(ExprId{nodes_[pair].b});
  ByteClasses refined = *a.classes;
  Refine(refined, *b.classes);
  const ByteClasses& classes = Intern(refined);
  nodes_.CountWork(classes.num_classes);
  std::vector<ExprId> targets;
  for (const uint8_t byte : classes.bytes) {
    targets.push_back(form_.Pair(kind, a.After(byte), b.After(byte)));
  }
  return {classes, std::move(targets)};
}

const ExprMoves* ExprDerivatives::MovesOfPair(ExprId pair) {
  auto [classes, targets] = PairTargets(pair);
  for (ExprId& target : targets) target = Settle(target);
  return Store(classes, targets);
}

ExprId ExprDerivatives::Settle(ExprId id) {
  const ExprNode& node = nodes_[id];
  if (node.min_length == kUnknownLength && !node.calls_rule) {
    if (!Search(id).has_value()) nodes_.SetFull();
  }
  if (nodes_.IsDead(id) || nodes_.is_full()) return kNothing;
  const bool is_pair = node.kind == ExprKind::kBoth || node.kind == ExprKind::kExcept;
  if (!is_pair || node.calls_rule) return id;
  // Of one text, what is left is all or nothing.
  if (nodes_.KindOf(ExprId{node.a}) == ExprKind::kText) return ExprId{node.a};
  const bool is_both = node.kind == ExprKind::kBoth;
  return is_both && nodes_.KindOf(ExprId{node.b}) == ExprKind::kText ? ExprId{node.b} : id;
}

/// At most the length of the shortest string; equal to it if that is known.
int64_t ExprDerivatives::LowerBound(ExprId id) const {
  const ExprNode& node = nodes_[id];
  if (node.min_length != kUnknownLength) return node.min_length;
  const int64_t a = nodes_[ExprId{node.a}].min_length;
  if (node.kind == ExprKind::kExcept) return a;
  return std::max(a, nodes_[ExprId{node.b}].min_length);
}

/// The A* algorithm (Hart, Nilsson, Raphael 1968): LowerBound() falls by at most 1 per byte, so a
/// state is expanded once.
std::optional<int64_t> ExprDerivatives::Search(ExprId start) {
  using Entry = std::pair<int64_t, ExprId>;  // length through the state at least; the state
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> open;
  Visits visits{{start, {.length = 0, .parent = start}}};
  open.push({LowerBound(start), start});
  for (int step = 0; !open.empty(); ++step) {
    if (step == kMaxSearchSteps) return std::nullopt;
    const auto [bound, id] = open.top();
    open.pop();
    Visit& visit = visits.at(id);
    if (visit.is_expanded) continue;
    visit.is_expanded = true;
    const int64_t length = visit.length;
    if (nodes_[id].min_length != kUnknownLength) {
      SetLengths(visits, id, bound);
      return bound;
    }
    if (Compute(ExprId{nodes_[id].a}) == nullptr || Compute(ExprId{nodes_[id].b}) == nullptr) {
      return std::nullopt;
    }
    for (const ExprId target : PairTargets(id).second) {
      if (nodes_.is_full()) return std::nullopt;
      const int64_t rest = LowerBound(target);
      if (rest == Expressions::kNoLimit) continue;
      const auto [found, is_new] = visits.try_emplace(target, Visit{length + 1, id});
      if (!is_new && found->second.length <= length + 1) continue;
      found->second = {.length = length + 1, .parent = id};
      open.push({AddLengths(length + 1, rest), target});
    }
  }
  for (const auto& [id, visit] : visits) nodes_.SetMinLength(id, Expressions::kNoLimit);
  return Expressions::kNoLimit;
}

void ExprDerivatives::SetLengths(const Visits& visits, ExprId last, int64_t length) {
  ExprId id = last;
  while (true) {
    const Visit& visit = visits.at(id);
    if (id != last) nodes_.SetMinLength(id, length - visit.length);
    if (visit.parent == id) return;
    id = visit.parent;
  }
}

const ByteClasses& ExprDerivatives::Intern(const ByteClasses& classes) {
  if (const auto found = classes_.find(classes); found != classes_.end()) return *found;
  constexpr int64_t kBytesPerMap = sizeof(ByteClasses) + 16;
  nodes_.Charge(kBytesPerMap + classes.num_classes);
  ByteClasses complete = classes;
  complete.bytes = BytesOf(classes);
  return *classes_.insert(std::move(complete)).first;
}

const ExprMoves* ExprDerivatives::Store(const ByteClasses& classes,
                                        std::span<const ExprId> targets) {
  nodes_.Charge(static_cast<int64_t>(sizeof(ExprMoves) + targets.size_bytes()));
  if (num_free_targets_ < targets.size()) {
    target_blocks_.push_back(std::make_unique<ExprId[]>(kTargetsPerBlock));
    num_free_targets_ = kTargetsPerBlock;
  }
  ExprId* stored = target_blocks_.back().get() + (kTargetsPerBlock - num_free_targets_);
  num_free_targets_ -= targets.size();
  std::ranges::copy(targets, stored);
  return &moves_.emplace_back(ExprMoves{&classes, stored});
}

}  // namespace shortlist

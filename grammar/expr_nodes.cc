#include "grammar/expr_nodes.h"

#include <algorithm>
#include <optional>

#include "absl/hash/hash.h"

namespace shortlist {
namespace {

// The hash of a text is a polynomial in an odd number modulo 2^64, so that of a suffix follows
// from it: hash = (first + 1) + kTextBase * hash of the rest.
constexpr uint64_t kTextBase = 0x9E3779B97F4A7C15;

constexpr uint64_t InverseOf(uint64_t odd) {
  uint64_t inverse = odd;
  for (int i = 0; i < 6; ++i) inverse *= 2 - odd * inverse;  // Newton's method doubles the bits
  return inverse;
}

constexpr uint64_t kTextBaseInverse = InverseOf(kTextBase);

uint64_t HashText(std::string_view text) {
  uint64_t hash = 0;
  for (auto c = text.rbegin(); c != text.rend(); ++c) {
    hash = hash * kTextBase + static_cast<uint8_t>(*c) + 1;
  }
  return hash;
}

uint64_t HashWithoutFirst(uint64_t hash, char first) {
  return (hash - static_cast<uint8_t>(first) - 1) * kTextBaseInverse;
}

constexpr int64_t kMaxBytes = int64_t{1} << 31;          // offsets are 32 bits
constexpr int64_t kBytesPerNode = sizeof(ExprNode) + 8;  // with its entry in the hash table
constexpr size_t kUsualNodes = 2000;                     // of a JSON schema and its states

}  // namespace

int64_t AddLengths(int64_t a, int64_t b) {
  constexpr int64_t kNoLimit = Expressions::kNoLimit;
  if (a == kNoLimit || b == kNoLimit) return kNoLimit;
  return a >= kNoLimit - 1 - b ? kNoLimit - 1 : a + b;
}

int64_t MultiplyLength(int64_t length, int64_t times) {
  constexpr int64_t kNoLimit = Expressions::kNoLimit;
  if (times == 0 || length == 0) return 0;
  if (length == kNoLimit) return kNoLimit;
  return length >= (kNoLimit - 1) / times ? kNoLimit - 1 : length * times;
}

ExprNodes::ExprNodes(int64_t max_bytes)
    : max_bytes_(std::min(max_bytes, kMaxBytes)), ids_(kUsualNodes, KeyHash{this}, KeyEq{this}) {
  chunks_.resize((max_bytes_ / kBytesPerNode >> kChunkBits) + 1);
  chunks_[0] = std::make_unique<ExprNode[]>(size_t{1} << kChunkBits);
  NodeAt(0).min_length = kNoLimit;
  NodeAt(1).kind = ExprKind::kEmpty;
  NodeAt(1).min_length = 0;
  size_ = 2;
}

std::string_view ExprNodes::TextOf(ExprId id) const {
  const ExprNode& node = (*this)[id];
  return std::string_view(texts_).substr(node.a, node.b);
}

std::span<const ExprId> ExprNodes::OptionsOf(ExprId id) const {
  const ExprNode& node = (*this)[id];
  return std::span(options_).subspan(node.a, node.b);
}

size_t ExprNodes::KeyHash::operator()(const Key& key) const {
  switch (key.kind) {
    case ExprKind::kBytes:
      return absl::HashOf(key.kind, *key.set);
    case ExprKind::kText:
      return absl::HashOf(key.kind, key.x, key.text.size());
    case ExprKind::kChoice:
      return absl::HashOf(key.kind, absl::MakeConstSpan(key.options.data(), key.options.size()));
    default:
      return absl::HashOf(key.kind, key.a, key.b, key.x, key.max);
  }
}

bool ExprNodes::KeyEq::Equal(const Key& a, const Key& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case ExprKind::kBytes:
      return *a.set == *b.set;
    case ExprKind::kText:
      return a.x == b.x && a.text.size() == b.text.size() &&
             (a.text.data() == b.text.data() || a.text == b.text);
    case ExprKind::kChoice:
      return std::ranges::equal(a.options, b.options);
    default:
      return a.a == b.a && a.b == b.b && a.x == b.x && a.max == b.max;
  }
}

ExprNodes::Key ExprNodes::KeyOf(ExprId id) const {
  const ExprNode& node = (*this)[id];
  switch (node.kind) {
    case ExprKind::kBytes:
      return {.kind = node.kind, .set = &SetOf(id)};
    case ExprKind::kText:
      return {.kind = node.kind, .x = node.x, .text = TextOf(id)};
    case ExprKind::kChoice:
      return {.kind = node.kind, .options = OptionsOf(id)};
    case ExprKind::kRepeat:
      return {.kind = node.kind, .a = node.a, .x = node.x, .max = MaxOf(id)};
    default:
      return {.kind = node.kind, .a = node.a, .b = node.b};
  }
}

std::optional<ExprId> ExprNodes::Find(const Key& key) {
  const auto found = ids_.find(key);
  if (found == ids_.end()) return std::nullopt;
  ExprNode& node = NodeAt(Raw(*found));
  // Check() may have run since the node was added, without reaching it.
  const bool has_parts = ExprKind::kText < node.kind && node.kind < ExprKind::kBoth;
  if (has_parts && node.min_length == kUnknownLength) SetProperties(node);
  return *found;
}

bool ExprNodes::Charge(int64_t bytes) {
  if (is_full() || bytes > max_bytes_ - num_bytes()) {
    SetFull();
    return false;
  }
  num_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

ExprId ExprNodes::Append(ExprKind kind, int32_t a, int32_t b, int64_t x, int64_t extra_bytes) {
  if (!Charge(kBytesPerNode + extra_bytes)) return kNothing;
  std::unique_ptr<ExprNode[]>& chunk = chunks_[size_ >> kChunkBits];
  if (chunk == nullptr) chunk = std::make_unique<ExprNode[]>(size_t{1} << kChunkBits);
  const ExprId id{size_++};
  ExprNode& node = NodeAt(Raw(id));
  node.kind = kind;
  node.a = a;
  node.b = b;
  node.x = x;
  return id;
}

ExprId ExprNodes::AddBytes(const ByteSet& set) {
  const Key key{.kind = ExprKind::kBytes, .set = &set};
  if (const auto found = Find(key)) return *found;
  const ExprId id = Append(ExprKind::kBytes, static_cast<int32_t>(sets_.size()),
                           set.size() == 1 ? set.first() : -1, 0, sizeof(ByteSet));
  if (id == kNothing) return id;
  sets_.push_back(set);
  NodeAt(Raw(id)).min_length = 1;
  ids_.insert(id);
  return id;
}

ExprId ExprNodes::AddText(std::string_view text) {
  const auto hash = static_cast<int64_t>(HashText(text));
  const Key key{.kind = ExprKind::kText, .x = hash, .text = text};
  if (const auto found = Find(key)) return *found;
  const auto length = static_cast<int64_t>(text.size());
  if (length > max_bytes_) {
    SetFull();
    return kNothing;
  }
  const ExprId id = Append(ExprKind::kText, static_cast<int32_t>(texts_.size()),
                           static_cast<int32_t>(length), hash, length);
  if (id == kNothing) return id;
  texts_.append(text);
  NodeAt(Raw(id)).min_length = length;
  ids_.insert(id);
  return id;
}

ExprId ExprNodes::AddTextSuffix(ExprId of, int32_t num_bytes) {
  const ExprNode& node = (*this)[of];
  std::string_view text = TextOf(of);
  auto hash = static_cast<uint64_t>(node.x);
  for (int32_t i = 0; i < num_bytes; ++i) hash = HashWithoutFirst(hash, text[i]);
  text.remove_prefix(num_bytes);
  const Key key{.kind = ExprKind::kText, .x = static_cast<int64_t>(hash), .text = text};
  if (const auto found = Find(key)) return *found;
  const ExprId id =
      Append(ExprKind::kText, node.a + num_bytes, node.b - num_bytes, key.x, /*extra_bytes=*/0);
  if (id == kNothing) return id;
  NodeAt(Raw(id)).min_length = static_cast<int64_t>(text.size());
  ids_.insert(id);
  return id;
}

ExprId ExprNodes::AddChoice(std::span<const ExprId> options) {
  if (const auto found = Find({.kind = ExprKind::kChoice, .options = options})) return *found;
  const ExprId id =
      Append(ExprKind::kChoice, static_cast<int32_t>(options_.size()),
             static_cast<int32_t>(options.size()), 0, static_cast<int64_t>(options.size_bytes()));
  if (id == kNothing) return id;
  options_.insert(options_.end(), options.begin(), options.end());
  SetProperties(NodeAt(Raw(id)));
  ids_.insert(id);
  return id;
}

ExprId ExprNodes::AddRepeat(ExprId of, int64_t min, int64_t max) {
  const Key key{.kind = ExprKind::kRepeat, .a = Raw(of), .x = min, .max = max};
  if (const auto found = Find(key)) return *found;
  const ExprId id = Append(ExprKind::kRepeat, Raw(of), static_cast<int32_t>(maxima_.size()), min,
                           sizeof(int64_t));
  if (id == kNothing) return id;
  maxima_.push_back(max);
  SetProperties(NodeAt(Raw(id)));
  ids_.insert(id);
  return id;
}

ExprId ExprNodes::AddPair(ExprKind kind, ExprId a, ExprId b) {
  if (const auto found = Find({.kind = kind, .a = Raw(a), .b = Raw(b)})) return *found;
  const ExprId id = Append(kind, Raw(a), Raw(b), 0, 0);
  if (id == kNothing) return id;
  SetProperties(NodeAt(Raw(id)));
  ids_.insert(id);
  return id;
}

ExprId ExprNodes::AddCall(RuleId rule) {
  if (const auto found = Find({.kind = ExprKind::kCall, .a = Raw(rule)})) return *found;
  const ExprId id = Append(ExprKind::kCall, Raw(rule), 0, 0, 0);
  if (id == kNothing) return id;
  NodeAt(Raw(id)).calls_rule = true;
  ids_.insert(id);
  return id;
}

void ExprNodes::AddChild(ExprNode& node, ExprId child) const {
  const ExprNode& other = (*this)[child];
  node.calls_rule = node.calls_rule || other.calls_rule;
  node.both_depth = std::max(node.both_depth, other.both_depth);
}

/// Sets what follows from the parts of the node.
void ExprNodes::SetProperties(ExprNode& node) const {
  const auto length = [&](int32_t id) { return NodeAt(id).min_length; };
  AddChild(node, ExprId{node.kind == ExprKind::kChoice ? Raw(options_[node.a]) : node.a});
  switch (node.kind) {
    case ExprKind::kSequence:
      AddChild(node, ExprId{node.b});
      if (length(node.a) != kUnknownLength && length(node.b) != kUnknownLength) {
        node.min_length = AddLengths(length(node.a), length(node.b));
      }
      break;
    case ExprKind::kChoice:
      node.min_length = kNoLimit;
      for (const ExprId option : std::span(options_).subspan(node.a, node.b)) {
        AddChild(node, option);
        // The least value is kUnknownLength: one unknown option makes the choice unknown.
        node.min_length = std::min(node.min_length, length(Raw(option)));
      }
      break;
    case ExprKind::kRepeat:
      if (length(node.a) != kUnknownLength) {
        node.min_length = MultiplyLength(length(node.a), node.x);
      }
      break;
    default: {  // kBoth, kExcept
      AddChild(node, ExprId{node.b});
      if (node.both_depth < UINT8_MAX) ++node.both_depth;
      const bool has_empty = (length(node.b) == 0) == (node.kind == ExprKind::kBoth);
      if (!node.calls_rule && length(node.a) == 0 && has_empty) node.min_length = 0;
      break;
    }
  }
}

}  // namespace shortlist

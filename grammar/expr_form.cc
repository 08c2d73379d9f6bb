#include "grammar/expr_form.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace shortlist {
namespace {

constexpr size_t kMaxFormBytes = 4096;
constexpr int kMaxFormDepth = 64;

/// Appends forms to one text. The form of a part is prefix-free, so that parts may be joined.
class FormWriter {
 public:
  explicit FormWriter(const ExprNodes& nodes) : nodes_(nodes) {}

  /// False: too long or too deep.
  bool Write(ExprId id, int depth);
  std::string Take() && { return std::move(form_); }

 private:
  bool WriteOptions(std::span<const ExprId> options, int depth);
  bool WriteInOrder(ExprId a, ExprId b, int depth) {
    return Write(a, depth + 1) && Write(b, depth + 1);
  }
  void Append(const void* data, size_t size) { form_.append(static_cast<const char*>(data), size); }
  template <typename T>
  void AppendValue(const T& value) {
    Append(&value, sizeof(value));
  }

  const ExprNodes& nodes_;
  std::string form_;
};

/// Sorted by form, as ids differ between `Expressions`.
bool FormWriter::WriteOptions(std::span<const ExprId> options, int depth) {
  const size_t begin = form_.size();
  std::vector<std::pair<size_t, size_t>> places;  // in form_
  for (const ExprId option : options) {
    const size_t first = form_.size();
    if (!Write(option, depth + 1)) return false;
    places.emplace_back(first, form_.size() - first);
  }
  const auto form_at = [&](std::pair<size_t, size_t> place) {
    return std::string_view(form_).substr(place.first, place.second);
  };
  if (std::ranges::is_sorted(places, {}, form_at)) return true;
  std::ranges::sort(places, {}, form_at);
  std::string sorted;
  for (const auto& place : places) sorted.append(form_at(place));
  form_.replace(begin, std::string::npos, sorted);
  return true;
}

bool FormWriter::Write(ExprId id, int depth) {
  const ExprNode& node = nodes_[id];
  if (depth > kMaxFormDepth || form_.size() > kMaxFormBytes) return false;
  AppendValue(node.kind);
  switch (node.kind) {
    case ExprKind::kBytes:
      AppendValue(nodes_.SetOf(id));
      return true;
    case ExprKind::kText: {
      const std::string_view text = nodes_.TextOf(id);
      if (text.size() > kMaxFormBytes) return false;
      AppendValue(text.size());
      Append(text.data(), text.size());
      return true;
    }
    case ExprKind::kChoice:
      AppendValue(node.b);
      return WriteOptions(nodes_.OptionsOf(id), depth);
    case ExprKind::kRepeat:
      AppendValue(node.x);
      AppendValue(nodes_.MaxOf(id));
      return Write(ExprId{node.a}, depth + 1);
    case ExprKind::kBoth:
      return WriteOptions(std::array{ExprId{node.a}, ExprId{node.b}}, depth);
    case ExprKind::kSequence:
    case ExprKind::kExcept:
      return WriteInOrder(ExprId{node.a}, ExprId{node.b}, depth);
    default:
      return true;
  }
}

}  // namespace

std::optional<std::string> FormOf(const ExprNodes& nodes, ExprId id) {
  if (nodes[id].calls_rule) return std::nullopt;
  FormWriter writer(nodes);
  if (!writer.Write(id, /*depth=*/0)) return std::nullopt;
  std::string form = std::move(writer).Take();
  if (form.size() > kMaxFormBytes) return std::nullopt;
  return form;
}

}  // namespace shortlist

#include "grammar/expr_form.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace shortlist {
namespace {

constexpr size_t kMaxFormBytes = 4096;
constexpr int kMaxFormDepth = 64;

class FormWriter {
 public:
  explicit FormWriter(const ExprNodes& nodes) : nodes_(nodes) {}

  /// Empty: too long or too deep.
  const std::string& Write(ExprId id, int depth);

 private:
  std::string WriteParts(std::vector<ExprId> parts, bool is_ordered, int depth);
  std::string WriteNode(ExprId id, int depth);

  const ExprNodes& nodes_;
  absl::flat_hash_map<ExprId, std::string> forms_;
  const std::string none_;
};

const std::string& FormWriter::Write(ExprId id, int depth) {
  if (depth > kMaxFormDepth || forms_.size() > kMaxFormBytes) return none_;
  if (const auto found = forms_.find(id); found != forms_.end()) return found->second;
  std::string form = WriteNode(id, depth);
  if (form.size() > kMaxFormBytes) form.clear();
  return forms_.insert_or_assign(id, std::move(form)).first->second;
}

/// Parts without an order are sorted by form, as their ids differ between `Expressions`.
std::string FormWriter::WriteParts(std::vector<ExprId> parts, bool is_ordered, int depth) {
  std::vector<std::string> forms;
  for (const ExprId part : parts) {
    forms.push_back(Write(part, depth + 1));
    if (forms.back().empty()) return "";
  }
  if (!is_ordered) std::ranges::sort(forms);
  std::string joined;
  for (const std::string& form : forms) joined.append(form);
  return joined;
}

std::string FormWriter::WriteNode(ExprId id, int depth) {
  const ExprNode& node = nodes_[id];
  const auto header = [&](auto... values) {
    return absl::StrCat(static_cast<int>(node.kind), ":", values..., ":");
  };
  std::string parts;
  switch (node.kind) {
    case ExprKind::kBytes: {
      std::string set(32, '\0');
      for (int byte = 0; byte < 256; ++byte) {
        const bool is_in = nodes_.SetOf(id).Contains(static_cast<uint8_t>(byte));
        if (is_in) set[byte / 8] = static_cast<char>(set[byte / 8] | 1 << (byte % 8));
      }
      return header("") + set;
    }
    case ExprKind::kText:
      return node.b > static_cast<int32_t>(kMaxFormBytes)
                 ? ""
                 : header(node.b) + std::string(nodes_.TextOf(id));
    case ExprKind::kChoice: {
      if (node.b > static_cast<int32_t>(kMaxFormBytes)) return "";
      const auto options = nodes_.OptionsOf(id);
      parts = WriteParts({options.begin(), options.end()}, /*is_ordered=*/false, depth);
      return parts.empty() ? "" : header(node.b) + parts;
    }
    case ExprKind::kRepeat:
      parts = WriteParts({ExprId{node.a}}, /*is_ordered=*/true, depth);
      return parts.empty() ? "" : header(node.x, ":", nodes_.MaxOf(id)) + parts;
    case ExprKind::kSequence:
    case ExprKind::kBoth:
    case ExprKind::kExcept:
      parts = WriteParts({ExprId{node.a}, ExprId{node.b}},
                         /*is_ordered=*/node.kind != ExprKind::kBoth, depth);
      return parts.empty() ? "" : header("") + parts;
    default:
      return header("");
  }
}

}  // namespace

std::optional<std::string> FormOf(const ExprNodes& nodes, ExprId id) {
  if (nodes[id].calls_rule) return std::nullopt;
  FormWriter writer(nodes);
  std::string form = writer.Write(id, /*depth=*/0);
  if (form.empty()) return std::nullopt;
  return form;
}

}  // namespace shortlist

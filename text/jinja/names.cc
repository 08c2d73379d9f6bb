#include "text/jinja/names.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/filters.h"
#include "text/jinja/functions.h"
#include "text/jinja/tests.h"

namespace shortlist::jinja {
namespace {

absl::Status Unknown(std::string_view what, const std::string& name, int line) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", std::string(what), " '",
                                                 name.substr(0, 40), "' is not supported"));
}

/// Returns the index of the argument of `filter` that names a filter or test to apply to each
/// element; 0 if there is none.
size_t PlaceOfName(std::string_view filter) {
  if (filter == "map" || filter == "select" || filter == "reject") return 1;
  return filter == "selectattr" || filter == "rejectattr" ? 2 : 0;
}

class NameCheck {
 public:
  absl::Status Run(const Block& block) {
    SHORTLIST_RETURN_IF_ERROR(Visit(block));
    for (const auto& [name, line] : called_) {
      if (!bound_.contains(name)) return Unknown("function", name, line);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Visit(const Block& block) {
    for (const Statement& statement : block) {
      Bind(statement.target);
      if (statement.kind == Statement::Kind::kMacro) bound_.insert(statement.name);
      bound_.insert(statement.parameters.begin(), statement.parameters.end());
      for (const ExprPtr& expr : statement.exprs) SHORTLIST_RETURN_IF_ERROR(Visit(expr));
      for (const Block& body : statement.bodies) SHORTLIST_RETURN_IF_ERROR(Visit(body));
    }
    return absl::OkStatus();
  }

  void Bind(const Target& target) {
    if (target.attribute.empty()) bound_.insert(target.name);
    for (const Target& part : target.parts) Bind(part);
  }

  absl::Status Visit(const ExprPtr& expr) {
    if (expr == nullptr) return absl::OkStatus();
    SHORTLIST_RETURN_IF_ERROR(Check(*expr));
    for (const ExprPtr& child : expr->children) SHORTLIST_RETURN_IF_ERROR(Visit(child));
    for (const auto& [name, child] : expr->named) SHORTLIST_RETURN_IF_ERROR(Visit(child));
    SHORTLIST_RETURN_IF_ERROR(Visit(expr->unpacked));
    return Visit(expr->unpacked_named);
  }

  absl::Status Check(const Expr& expr) {
    const ExprPtr* const subject = expr.children.empty() ? nullptr : &expr.children[0];
    const bool of_name = subject != nullptr && *subject && (*subject)->kind == Expr::Kind::kName;
    if (expr.kind == Expr::Kind::kFilter) return CheckFilter(expr);
    if (expr.kind == Expr::Kind::kTest) {
      if (!HasTest(expr.name)) return Unknown("test", expr.name, expr.line);
      if (of_name && (expr.name == "defined" || expr.name == "undefined"))
        bound_.insert((*subject)->name);
    }
    if (expr.kind == Expr::Kind::kCall && of_name && !HasFunction((*subject)->name)) {
      called_.emplace_back((*subject)->name, expr.line);
    }
    return absl::OkStatus();
  }

  static absl::Status CheckFilter(const Expr& expr) {
    if (!HasFilter(expr.name)) return Unknown("filter", expr.name, expr.line);
    const size_t place = PlaceOfName(expr.name);
    if (place == 0 || expr.children.size() <= place) return absl::OkStatus();
    const Expr& argument = *expr.children[place];
    if (argument.kind != Expr::Kind::kConstant || !argument.constant.Is(Kind::kText)) {
      return absl::OkStatus();
    }
    const std::string& name = argument.constant.bytes();
    const bool is_filter = expr.name == "map";
    if (is_filter ? HasFilter(name) : HasTest(name)) return absl::OkStatus();
    return Unknown(is_filter ? "filter" : "test", name, argument.line);
  }

  std::set<std::string> bound_;
  std::vector<std::pair<std::string, int>> called_;  // unknown functions and their lines
};

bool Reads(const ExprPtr& expr, std::string_view name) {
  if (expr == nullptr) return false;
  if (expr->kind == Expr::Kind::kName && expr->name == name) return true;
  return std::any_of(expr->children.begin(), expr->children.end(),
                     [&](const ExprPtr& child) { return Reads(child, name); }) ||
         std::any_of(expr->named.begin(), expr->named.end(),
                     [&](const auto& named) { return Reads(named.second, name); }) ||
         Reads(expr->unpacked, name) || Reads(expr->unpacked_named, name);
}

}  // namespace

bool Reads(const Block& block, std::string_view name) {
  return std::any_of(block.begin(), block.end(), [name](const Statement& statement) {
    return std::any_of(statement.exprs.begin(), statement.exprs.end(),
                       [name](const ExprPtr& expr) { return Reads(expr, name); }) ||
           std::any_of(statement.bodies.begin(), statement.bodies.end(),
                       [name](const Block& body) { return Reads(body, name); });
  });
}

absl::Status CheckNames(const Block& block) { return NameCheck().Run(block); }

}  // namespace shortlist::jinja

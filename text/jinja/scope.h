#ifndef SHORTLIST_TEXT_JINJA_SCOPE_H_
#define SHORTLIST_TEXT_JINJA_SCOPE_H_

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

/// Maximum number of variables; bounds the linear search for a name. Real scopes hold a few.
constexpr size_t kMaxVariables = 256;

/// Variables of one block. Inner scopes see the variables of outer ones and do not change them.
struct Scope {
  const Scope* outer = nullptr;
  std::vector<std::pair<std::string_view, Value>> variables;

  const Value* Find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      for (const auto& [key, value] : scope->variables) {
        if (key == name) return &value;
      }
    }
    return nullptr;
  }

  absl::Status Set(std::string_view name, Value value) {
    for (auto& [key, old] : variables) {
      if (key == name) {
        old = std::move(value);
        return absl::OkStatus();
      }
    }
    if (variables.size() == kMaxVariables) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMaxVariables, " variables in one scope"));
    }
    variables.emplace_back(name, std::move(value));
    return absl::OkStatus();
  }
};

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_SCOPE_H_

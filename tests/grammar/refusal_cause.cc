#include "tests/grammar/refusal_cause.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "grammar/json_schema.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;
using States = std::set<ExprId>;

/// Walks a value through a grammar in every order of its members.
class AnyOrderWalk {
 public:
  AnyOrderWalk(Expressions& expressions, bool plain_numbers)
      : expressions_(expressions), plain_numbers_(plain_numbers) {}

  /// The states after `value`; empty if it does not go on so.
  States After(ExprId state, const ordered_json& value) {
    if (value.is_array()) {
      States states = AfterText({state}, "[");
      for (size_t i = 0; i < value.size(); ++i) {
        if (i > 0) states = AfterText(states, ",");
        states = AfterEach(states, value[i]);
      }
      return AfterText(states, "]");
    }
    if (!value.is_object()) return AfterText({state}, TextOf(value));
    std::vector<std::string> left;
    for (const auto& [name, unused] : value.items()) left.push_back(name);
    States ends;
    AddMembers(AfterText({state}, "{"), value, left, ends);
    return AfterText(ends, "}");
  }

 private:
  std::string TextOf(const ordered_json& value) const {
    if (!plain_numbers_ || !value.is_number()) return value.dump();
    const double number = value.get<double>();
    return std::trunc(number) == number ? absl::StrFormat("%.0f", number) : value.dump();
  }

  States AfterText(const States& states, std::string_view text) {
    States after;
    for (ExprId state : states) {
      for (const char byte : text) state = expressions_.After(state, static_cast<uint8_t>(byte));
      if (state != expressions_.Nothing()) after.insert(state);
    }
    return after;
  }

  States AfterEach(const States& states, const ordered_json& value) {
    States all;
    for (const ExprId state : states) all.merge(After(state, value));
    return all;
  }

  void AddMembers(const States& states, const ordered_json& value,
                  const std::vector<std::string>& left, States& ends) {
    if (states.empty() || ++num_steps_ > kMaxSteps) return;
    if (left.empty()) return ends.insert(states.begin(), states.end()), void();
    for (size_t i = 0; i < left.size(); ++i) {
      States next = left.size() == value.size() ? states : AfterText(states, ",");
      next = AfterText(next, ordered_json(left[i]).dump() + ":");
      next = AfterEach(next, value[left[i]]);
      std::vector<std::string> others = left;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      AddMembers(next, value, others, ends);
    }
  }

  static constexpr int kMaxSteps = 20'000;

  Expressions& expressions_;
  const bool plain_numbers_;
  int num_steps_ = 0;
};

bool AcceptsInSomeOrder(Expressions& expressions, ExprId grammar, const ordered_json& value,
                        bool plain_numbers) {
  const States ends = AnyOrderWalk(expressions, plain_numbers).After(grammar, value);
  for (const ExprId state : ends) {
    if (expressions.IsNullable(state)) return true;
  }
  return false;
}

ordered_json WithoutFormats(ordered_json schema) {
  if (schema.is_object() && schema.contains("format") && schema["format"].is_string()) {
    schema.erase("format");
  }
  if (schema.is_structured()) {
    for (ordered_json& part : schema) part = WithoutFormats(part);
  }
  return schema;
}

}  // namespace

bool Accepts(Expressions& expressions, ExprId grammar, std::string_view text) {
  ExprId state = grammar;
  for (const char byte : text) {
    state = expressions.After(state, static_cast<uint8_t>(byte));
    if (state == expressions.Nothing()) return false;
  }
  return expressions.IsNullable(state);
}

RefusalCause CauseOfRefusal(Expressions& expressions, ExprId grammar, const ordered_json& schema,
                            const ordered_json& value) {
  if (Accepts(expressions, grammar, value.dump())) return RefusalCause::kNone;
  if (AcceptsInSomeOrder(expressions, grammar, value, /*plain_numbers=*/false)) {
    return RefusalCause::kKeyOrder;
  }
  if (AcceptsInSomeOrder(expressions, grammar, value, /*plain_numbers=*/true)) {
    return RefusalCause::kNumber;
  }
  Expressions others;
  const auto lenient = CompileJsonSchema(WithoutFormats(schema), JsonSchemaOptions{}, others);
  if (lenient.ok() && (AcceptsInSomeOrder(others, *lenient, value, false) ||
                       AcceptsInSomeOrder(others, *lenient, value, true))) {
    return RefusalCause::kFormat;
  }
  return RefusalCause::kOther;
}

}  // namespace shortlist

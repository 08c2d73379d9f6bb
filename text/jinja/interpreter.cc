#include "text/jinja/interpreter.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "text/jinja/budget.h"
#include "text/jinja/filters.h"
#include "text/jinja/functions.h"
#include "text/jinja/methods.h"
#include "text/jinja/nested.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/scope.h"
#include "text/jinja/tests.h"
#include "text/jinja/text_methods.h"

namespace shortlist::jinja {
namespace {

/// How a statement ended.
enum class Flow { kNext, kBreak, kContinue };

class Interpreter {
 public:
  explicit Interpreter(const std::tm& now) : now_(now) {}

  ~Interpreter() {  // namespaces may contain themselves
    for (const auto& name_space : namespaces_) name_space.name_space().attributes.clear();
  }

  absl::StatusOr<Text> Run(const Block& block,
                           const std::vector<std::pair<std::string, Value>>& variables) {
    for (const auto& [name, value] : variables) SHORTLIST_RETURN_IF_ERROR(root_.Set(name, value));
    Text out;
    SHORTLIST_RETURN_IF_ERROR(ExecBlock(block, root_, out).status());
    return out;
  }

 private:
  using Result = absl::StatusOr<Value>;

  /// Adds the line to an error, once: that of the innermost statement or expression.
  absl::Status Locate(absl::Status status, int line) {
    if (located_) return status;
    located_ = true;
    return absl::Status(status.code(),
                        absl::StrCat("line ", line, ": ", Excerpt(std::string(status.message()))));
  }

  // Statements.

  absl::StatusOr<Flow> ExecBlock(const Block& block, Scope& scope, Text& out) {
    for (const Statement& statement : block) {
      const Nested nested(budget_.depth());
      absl::StatusOr<Flow> flow = Flow::kNext;
      if (absl::Status status = budget_.Step(); !status.ok()) {
        flow = std::move(status);
      } else {
        flow = Exec(statement, scope, out);
      }
      if (!flow.ok()) return Locate(flow.status(), statement.line);
      if (*flow != Flow::kNext) return flow;
    }
    return Flow::kNext;
  }

  absl::StatusOr<Flow> Exec(const Statement& statement, Scope& scope, Text& out) {
    switch (statement.kind) {
      case Statement::Kind::kText:
        SHORTLIST_RETURN_IF_ERROR(Print(statement.text, out));
        return Flow::kNext;
      case Statement::Kind::kOutput: {
        SHORTLIST_ASSIGN_OR_RETURN(const Value value, Eval(*statement.exprs[0], scope));
        SHORTLIST_RETURN_IF_ERROR(PrintValue(value, out));
        return Flow::kNext;
      }
      case Statement::Kind::kIf:
        return ExecIf(statement, scope, out);
      case Statement::Kind::kFor:
        return ExecFor(statement, scope, out);
      case Statement::Kind::kSet: {
        SHORTLIST_ASSIGN_OR_RETURN(Value value, Eval(*statement.exprs[0], scope));
        SHORTLIST_RETURN_IF_ERROR(Assign(statement.target, std::move(value), scope));
        return Flow::kNext;
      }
      case Statement::Kind::kMacro:
        SHORTLIST_RETURN_IF_ERROR(scope.Set(
            statement.name, std::make_shared<const Function>(Function{.macro = &statement})));
        return Flow::kNext;
      case Statement::Kind::kWith:
        return ExecWith(statement, scope, out);
      case Statement::Kind::kSetBlock:
      case Statement::Kind::kFilter:
        return ExecFiltered(statement, scope, out);
      case Statement::Kind::kGeneration: {
        Scope inner{.outer = &scope};
        return ExecBlock(statement.bodies[0], inner, out);
      }
      case Statement::Kind::kBreak:
        return Flow::kBreak;
      case Statement::Kind::kContinue:
        return Flow::kContinue;
    }
    return Flow::kNext;
  }

  absl::Status Print(const Text& text, Text& out) {
    out.Append(text);
    SHORTLIST_RETURN_IF_ERROR(CheckLength(out));
    return budget_.Work(static_cast<int64_t>(text.bytes().size()));
  }

  absl::Status PrintValue(const Value& value, Text& out) {
    const size_t length = out.bytes().size();
    SHORTLIST_RETURN_IF_ERROR(AppendStr(value, out));
    return budget_.Work(static_cast<int64_t>(out.bytes().size() - length));
  }

  absl::StatusOr<Flow> ExecIf(const Statement& statement, Scope& scope, Text& out) {
    for (size_t i = 0; i < statement.exprs.size(); ++i) {
      SHORTLIST_ASSIGN_OR_RETURN(const Value condition, Eval(*statement.exprs[i], scope));
      if (condition.IsTrue()) return ExecBlock(statement.bodies[i], scope, out);
    }
    if (statement.bodies.size() == statement.exprs.size()) return Flow::kNext;
    return ExecBlock(statement.bodies.back(), scope, out);
  }

  absl::StatusOr<Flow> ExecFor(const Statement& statement, Scope& scope, Text& out) {
    SHORTLIST_ASSIGN_OR_RETURN(const Value iterated, Eval(*statement.exprs[0], scope));
    SHORTLIST_RETURN_IF_ERROR(budget_.Work(iterated.own_bytes()));
    Source source(iterated);
    const auto items = std::make_shared<LoopItems>();
    if (statement.exprs[1] == nullptr && !iterated.Is(Kind::kGenerator)) {
      SHORTLIST_ASSIGN_OR_RETURN(items->values, Items(iterated));
    } else {
      items->pull = [&] { return PullItem(statement, scope, source, items->values); };
    }
    const absl::StatusOr<Flow> flow = ExecRounds(statement, scope, items, out);
    items->pull = nullptr;  // a namespace may keep the loop
    return flow;
  }

  absl::StatusOr<Flow> ExecRounds(const Statement& statement, Scope& scope,
                                  const std::shared_ptr<LoopItems>& items, Text& out) {
    for (size_t i = 0;; ++i) {
      SHORTLIST_ASSIGN_OR_RETURN(const bool is_there, items->Has(i));
      Scope inner{.outer = &scope};
      if (!is_there && i == 0) return ExecBlock(statement.bodies[1], inner, out);
      if (!is_there) return Flow::kNext;
      SHORTLIST_RETURN_IF_ERROR(budget_.Step());
      SHORTLIST_RETURN_IF_ERROR(
          inner.Set("loop", std::make_shared<const Loop>(Loop{.items = items, .index0 = i})));
      SHORTLIST_RETURN_IF_ERROR(Assign(statement.target, items->values[i], inner));
      const absl::StatusOr<Flow> flow = ExecBlock(statement.bodies[0], inner, out);
      if (!flow.ok()) return flow;
      if (*flow == Flow::kBreak) return Flow::kNext;
    }
  }

  /// Appends the next item for which the condition of the for statement, if any, holds. Returns
  /// false if there is none.
  absl::StatusOr<bool> PullItem(const Statement& statement, Scope& scope, Source& source,
                                std::vector<Value>& items) {
    for (;;) {
      SHORTLIST_ASSIGN_OR_RETURN(std::optional<Value> item, source.Next());
      if (!item) return false;
      bool holds = true;
      if (statement.exprs[1] != nullptr) {
        Scope inner{.outer = &scope};
        SHORTLIST_RETURN_IF_ERROR(Assign(statement.target, *item, inner));
        SHORTLIST_ASSIGN_OR_RETURN(const Value condition, Eval(*statement.exprs[1], inner));
        holds = condition.IsTrue();
      }
      if (!holds) continue;
      items.push_back(*std::move(item));
      return true;
    }
  }

  /// Evaluates the values in the outer scope.
  absl::StatusOr<Flow> ExecWith(const Statement& statement, Scope& scope, Text& out) {
    Scope inner{.outer = &scope};
    for (size_t i = 0; i < statement.exprs.size(); ++i) {
      SHORTLIST_ASSIGN_OR_RETURN(Value value, Eval(*statement.exprs[i], scope));
      SHORTLIST_RETURN_IF_ERROR(Assign(statement.target.parts[i], std::move(value), inner));
    }
    return ExecBlock(statement.bodies[0], inner, out);
  }

  /// Executes a set block or a filter block: applies the filters to the text of its body.
  absl::StatusOr<Flow> ExecFiltered(const Statement& statement, Scope& scope, Text& out) {
    Scope inner{.outer = &scope};
    Text body;
    SHORTLIST_ASSIGN_OR_RETURN(const Flow flow, ExecBlock(statement.bodies[0], inner, body));
    if (flow != Flow::kNext) return flow;
    Scope filtered{.outer = &scope};
    SHORTLIST_RETURN_IF_ERROR(filtered.Set(kBlockText, Value(std::move(body))));
    SHORTLIST_ASSIGN_OR_RETURN(Value value, Eval(*statement.exprs[0], filtered));
    if (statement.kind == Statement::Kind::kFilter) {
      SHORTLIST_RETURN_IF_ERROR(PrintValue(value, out));
    } else {
      SHORTLIST_RETURN_IF_ERROR(Assign(statement.target, std::move(value), scope));
    }
    return Flow::kNext;
  }

  absl::Status Assign(const Target& target, Value value, Scope& scope) {
    if (!target.parts.empty()) {
      SHORTLIST_ASSIGN_OR_RETURN(const std::vector<Value> items, Items(value));
      if (items.size() != target.parts.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat(items.size(), " values for ", target.parts.size(), " variables"));
      }
      for (size_t i = 0; i < items.size(); ++i) {
        SHORTLIST_RETURN_IF_ERROR(Assign(target.parts[i], items[i], scope));
      }
      return absl::OkStatus();
    }
    if (target.attribute.empty()) return scope.Set(target.name, std::move(value));
    const Value* name_space = scope.Find(target.name);
    if (name_space == nullptr || !name_space->Is(Kind::kNamespace)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", target.name, "' is not a namespace, so its attributes cannot be set"));
    }
    if (target.attribute.starts_with('_')) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute '", target.attribute, "' of a namespace begins with '_'"));
    }
    name_space->name_space().attributes[target.attribute] = std::move(value);
    return absl::OkStatus();
  }

  // Expressions.

  Result Eval(const Expr& expr, const Scope& scope) {
    if (expr.kind == Expr::Kind::kConstant) return expr.constant;
    const Nested nested(budget_.depth());
    absl::Status step = budget_.Step();
    if (!step.ok()) return Locate(std::move(step), expr.line);
    Result value = EvalKind(expr, scope);
    if (!value.ok()) return Locate(value.status(), expr.line);
    return value;
  }

  Result EvalKind(const Expr& expr, const Scope& scope) {
    switch (expr.kind) {
      case Expr::Kind::kConstant:
        return expr.constant;
      case Expr::Kind::kName:
        return Variable(expr.name, scope);
      case Expr::Kind::kList:
      case Expr::Kind::kTuple:
      case Expr::Kind::kDict:
      case Expr::Kind::kConcat:
      case Expr::Kind::kSlice:
        return EvalBuilt(expr, scope);
      case Expr::Kind::kAttribute: {
        SHORTLIST_ASSIGN_OR_RETURN(const Value value, Eval(*expr.children[0], scope));
        return GetAttribute(value, expr.name);
      }
      case Expr::Kind::kItem: {
        SHORTLIST_ASSIGN_OR_RETURN(const Value value, Eval(*expr.children[0], scope));
        SHORTLIST_ASSIGN_OR_RETURN(const Value key, Eval(*expr.children[1], scope));
        if (value.Is(Kind::kText)) SHORTLIST_RETURN_IF_ERROR(budget_.Work(value.own_bytes()));
        return GetItem(value, key);
      }
      case Expr::Kind::kCall:
      case Expr::Kind::kFilter:
      case Expr::Kind::kTest:
        return EvalCall(expr, scope);
      case Expr::Kind::kCompare:
        return EvalCompare(expr, scope);
      case Expr::Kind::kConditional: {
        SHORTLIST_ASSIGN_OR_RETURN(const Value condition, Eval(*expr.children[0], scope));
        if (condition.IsTrue()) return Eval(*expr.children[1], scope);
        if (expr.children[2] != nullptr) return Eval(*expr.children[2], scope);
        return Value::MakeUndefined("the condition of an 'if' without 'else' does not hold");
      }
      default:
        return EvalOperator(expr, scope);
    }
  }

  Result Variable(const std::string& name, const Scope& scope) {
    if (const Value* value = scope.Find(name)) return *value;
    if (HasFunction(name)) return Value(std::make_shared<const Function>(Function{.name = name}));
    for (const std::string_view other : {"cycler", "joiner", "lipsum", "self"}) {
      if (name != other) continue;  // Jinja has this function, so the name is not undefined
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' is not supported"));
    }
    return Value::MakeUndefined(absl::StrCat("'", name.substr(0, 80), "' is undefined"));
  }

  Result EvalOperator(const Expr& expr, const Scope& scope) {
    SHORTLIST_ASSIGN_OR_RETURN(Value left, Eval(*expr.children[0], scope));
    switch (expr.kind) {
      case Expr::Kind::kAnd:
        return left.IsTrue() ? Eval(*expr.children[1], scope) : Result(std::move(left));
      case Expr::Kind::kOr:
        return left.IsTrue() ? Result(std::move(left)) : Eval(*expr.children[1], scope);
      case Expr::Kind::kNot:
        return Value(!left.IsTrue());
      case Expr::Kind::kNegate:
        return Negate(left);
      case Expr::Kind::kPlus:
        return Arithmetic(Operator::kAdd, Value(int64_t{0}), left);
      default:
        break;
    }
    SHORTLIST_ASSIGN_OR_RETURN(const Value right, Eval(*expr.children[1], scope));
    SHORTLIST_ASSIGN_OR_RETURN(Value value, Arithmetic(expr.operators[0], left, right));
    SHORTLIST_RETURN_IF_ERROR(budget_.Charge(value));
    return value;
  }

  Result EvalCompare(const Expr& expr, const Scope& scope) {
    SHORTLIST_ASSIGN_OR_RETURN(Value left, Eval(*expr.children[0], scope));
    for (size_t i = 0; i < expr.operators.size(); ++i) {
      SHORTLIST_ASSIGN_OR_RETURN(Value right, Eval(*expr.children[i + 1], scope));
      SHORTLIST_RETURN_IF_ERROR(WorkOfCompare(expr.operators[i], left, right));
      SHORTLIST_ASSIGN_OR_RETURN(const bool holds, Compare(expr.operators[i], left, right));
      if (!holds) return Value(false);
      left = std::move(right);
    }
    return Value(true);
  }

  absl::Status WorkOfCompare(Operator op, const Value& left, const Value& right) {
    if (op != Operator::kIn && op != Operator::kNotIn) {
      return budget_.Work(std::min(left.deep_bytes(), right.deep_bytes()));
    }
    return right.Is(Kind::kDict) ? absl::OkStatus() : budget_.Work(right.deep_bytes());
  }

  /// Evaluates lists, dictionaries, concatenations and slices.
  Result EvalBuilt(const Expr& expr, const Scope& scope) {
    std::vector<Value> parts;
    for (const ExprPtr& child : expr.children) {
      parts.emplace_back();
      if (child == nullptr) continue;
      SHORTLIST_ASSIGN_OR_RETURN(parts.back(), Eval(*child, scope));
    }
    if (expr.kind == Expr::Kind::kSlice && parts[0].Is(Kind::kText)) {
      SHORTLIST_RETURN_IF_ERROR(budget_.Work(parts[0].own_bytes()));
    }
    SHORTLIST_ASSIGN_OR_RETURN(Value value, Build(expr.kind, std::move(parts)));
    SHORTLIST_RETURN_IF_ERROR(budget_.Charge(value));
    return value;
  }

  static Result Build(Expr::Kind kind, std::vector<Value> parts) {
    if (kind == Expr::Kind::kSlice) return GetSlice(parts[0], parts[1], parts[2], parts[3]);
    if (kind == Expr::Kind::kConcat) return Join(Text(), parts);
    if (kind != Expr::Kind::kDict)
      return Value::MakeList(std::move(parts),
                             kind == Expr::Kind::kTuple ? ListKind::kTuple : ListKind::kList);
    Dict dict;
    for (size_t i = 0; i < parts.size(); i += 2) {
      const bool is_key =
          parts[i].Is(Kind::kText) || parts[i].AsFloat() || parts[i].Is(Kind::kNone);
      if (!is_key) {
        return absl::InvalidArgumentError(
            absl::StrCat("a dictionary key of type ", parts[i].TypeName()));
      }
      dict.Set(parts[i], parts[i + 1]);
    }
    return Value::MakeDict(std::move(dict));
  }

  /// Evaluates a call, a filter or a test; it applies to children[0].
  Result EvalCall(const Expr& expr, const Scope& scope) {
    SHORTLIST_ASSIGN_OR_RETURN(const Value subject, Eval(*expr.children[0], scope));
    Arguments arguments;
    for (size_t i = 1; i < expr.children.size(); ++i) {
      SHORTLIST_ASSIGN_OR_RETURN(arguments.positional.emplace_back(),
                                 Eval(*expr.children[i], scope));
    }
    for (const auto& [name, argument] : expr.named) {
      SHORTLIST_ASSIGN_OR_RETURN(Value value, Eval(*argument, scope));
      arguments.named.emplace_back(Text::FromTemplate(name), std::move(value));
    }
    SHORTLIST_RETURN_IF_ERROR(Unpack(expr, scope, arguments));
    if (expr.kind == Expr::Kind::kTest) {
      for (const Value& argument : arguments.positional) {
        SHORTLIST_RETURN_IF_ERROR(budget_.Work(argument.deep_bytes()));
      }
      SHORTLIST_ASSIGN_OR_RETURN(const bool holds, ApplyTest(expr.name, subject, arguments));
      return Value(holds);
    }
    const bool is_deep = expr.kind == Expr::Kind::kCall || ReadsElements(expr.name);
    Result value = Value();
    if (expr.kind == Expr::Kind::kFilter) {
      SHORTLIST_RETURN_IF_ERROR(budget_.Work(is_deep ? subject.deep_bytes() : subject.own_bytes()));
      value = ApplyFilter(expr.name, subject, arguments);
    } else {
      value = Call(subject, arguments);
    }
    if (!value.ok()) return value;
    SHORTLIST_RETURN_IF_ERROR(budget_.Charge(*value));
    SHORTLIST_RETURN_IF_ERROR(budget_.Work(is_deep ? value->deep_bytes() : 0));
    return value;
  }

  /// Appends the arguments after * and **.
  absl::Status Unpack(const Expr& expr, const Scope& scope, Arguments& arguments) {
    if (expr.unpacked) {
      SHORTLIST_ASSIGN_OR_RETURN(const Value value, Eval(*expr.unpacked, scope));
      SHORTLIST_RETURN_IF_ERROR(budget_.Work(value.own_bytes()));
      SHORTLIST_RETURN_IF_ERROR(arguments.AppendUnpacked(value));
    }
    if (expr.unpacked_named) {
      SHORTLIST_ASSIGN_OR_RETURN(const Value value, Eval(*expr.unpacked_named, scope));
      SHORTLIST_RETURN_IF_ERROR(budget_.Work(value.own_bytes()));
      SHORTLIST_RETURN_IF_ERROR(arguments.AppendUnpackedNamed(value));
    }
    return absl::OkStatus();
  }

  Result Call(const Value& callee, const Arguments& arguments) {
    if (callee.Is(Kind::kUndefined)) return absl::InvalidArgumentError(callee.undefined_what());
    if (!callee.Is(Kind::kFunction)) {
      return absl::InvalidArgumentError(absl::StrCat("a ", callee.TypeName(), " cannot be called"));
    }
    const Function& function = callee.function();
    if (function.macro != nullptr) return CallMacro(*function.macro, arguments);
    if (HasMethod(function.receiver, function.name)) {
      SHORTLIST_RETURN_IF_ERROR(WorkOfMethod(function));
      return CallMethod(function.receiver, function.name, arguments);
    }
    SHORTLIST_ASSIGN_OR_RETURN(Value value, CallFunction(function.name, arguments, now_));
    if (value.Is(Kind::kNamespace)) namespaces_.push_back(value);
    return value;
  }

  /// Returns the value of a macro's parameter: by position, by name, its default, or undefined.
  Result Parameter(const Statement& macro, size_t i, const Arguments& arguments,
                   const Scope& scope) {
    if (i < arguments.positional.size()) return arguments.positional[i];
    for (const auto& [name, value] : arguments.named) {
      if (name.bytes() == macro.parameters[i]) return value;
    }
    if (macro.exprs[i] != nullptr) return Eval(*macro.exprs[i], scope);
    return Value::MakeUndefined(
        absl::StrCat("parameter '", macro.parameters[i], "' was not given"));
  }

  /// Charges for a method: it reads a whole text, and index and count compare a list's elements.
  absl::Status WorkOfMethod(const Function& method) {
    if (method.receiver.Is(Kind::kList)) return budget_.Work(method.receiver.deep_bytes());
    return budget_.Work(method.receiver.Is(Kind::kText) ? method.receiver.own_bytes() : 0);
  }

  Result CallMacro(const Statement& macro, const Arguments& arguments) {
    const size_t num_parameters = macro.parameters.size();
    const size_t num_placed = std::min(arguments.positional.size(), num_parameters);
    if (arguments.positional.size() > num_parameters && !macro.takes_more) {
      return absl::InvalidArgumentError(
          absl::StrCat("macro '", macro.name, "' takes at most ", num_parameters, " arguments"));
    }
    Dict more_named;
    for (const auto& [name, value] : arguments.named) {
      const auto found = std::find(macro.parameters.begin(), macro.parameters.end(), name.bytes());
      const auto index = static_cast<size_t>(found - macro.parameters.begin());
      if (found != macro.parameters.end() && index >= num_placed) continue;
      if (!macro.takes_more_named || name.bytes() == "caller") {
        return absl::InvalidArgumentError(absl::StrCat("macro '", macro.name,
                                                       "' takes no further argument '",
                                                       name.bytes().substr(0, 40), "'"));
      }
      more_named.Set(name, value);
    }
    Scope scope{.outer = &root_};
    for (size_t i = 0; i < macro.parameters.size(); ++i) {
      SHORTLIST_ASSIGN_OR_RETURN(Value value, Parameter(macro, i, arguments, scope));
      SHORTLIST_RETURN_IF_ERROR(scope.Set(macro.parameters[i], std::move(value)));
    }
    if (macro.takes_more) {
      const auto first = arguments.positional.begin() + static_cast<int64_t>(num_placed);
      SHORTLIST_ASSIGN_OR_RETURN(
          Value more, Value::MakeList({first, arguments.positional.end()}, ListKind::kTuple));
      SHORTLIST_RETURN_IF_ERROR(scope.Set("varargs", std::move(more)));
    }
    if (macro.takes_more_named) {
      SHORTLIST_ASSIGN_OR_RETURN(Value more, Value::MakeDict(std::move(more_named)));
      SHORTLIST_RETURN_IF_ERROR(scope.Set("kwargs", std::move(more)));
    }
    Text out;
    SHORTLIST_RETURN_IF_ERROR(ExecBlock(macro.bodies[0], scope, out).status());
    return Value(std::move(out));
  }

  const std::tm& now_;
  Scope root_;
  std::vector<Value> namespaces_;
  RenderBudget budget_;
  bool located_ = false;
};

}  // namespace

absl::StatusOr<Text> Render(const Block& block,
                            const std::vector<std::pair<std::string, Value>>& variables,
                            const std::tm& now) {
  return Interpreter(now).Run(block, variables);
}

}  // namespace shortlist::jinja

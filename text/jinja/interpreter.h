#ifndef SHORTLIST_TEXT_JINJA_INTERPRETER_H_
#define SHORTLIST_TEXT_JINJA_INTERPRETER_H_

#include <cstdint>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

/// Renders a template with `variables`. The language is that of Jinja 3.1's
/// ImmutableSandboxedEnvironment as transformers sets it up. Attributes are keys, the methods of
/// text/jinja/methods.h, and those of namespaces, `loop`, numbers, ranges and macros
/// (text/jinja/operators.cc). Functions: range, namespace, dict, raise_exception, and strftime_now,
/// which prints `now`.
///
/// InvalidArgument names the line of:
/// - an operation that its operands do not support;
/// - a filter, test or function that does not exist;
/// - the template's own raise_exception;
/// - steps, work, depth, or a text, list or value beyond its bound.
absl::StatusOr<Text> Render(const Block& block,
                            const std::vector<std::pair<std::string, Value>>& variables,
                            const std::tm& now);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_INTERPRETER_H_

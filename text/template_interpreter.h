#ifndef SHORTLIST_TEXT_TEMPLATE_INTERPRETER_H_
#define SHORTLIST_TEXT_TEMPLATE_INTERPRETER_H_

#include <cstdint>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "text/template_ast.h"
#include "text/template_value.h"

namespace shortlist::jinja {

/// Statements and expressions evaluated by one render: some seconds at the very most.
inline constexpr int64_t kMaxRenderSteps = 10'000'000;
/// Bytes of text and of values that one render writes or reads through, all operations together;
/// bounds its memory too.
inline constexpr int64_t kMaxRenderWork = int64_t{256} << 20;
/// Evaluations within evaluations; a macro that calls itself ends here.
inline constexpr int kMaxRenderDepth = 500;

/// Runs a template over `variables`. The language is that of Jinja 3.1's
/// ImmutableSandboxedEnvironment as transformers sets it up: no attributes but keys, namespaces'
/// own, `loop`'s, and the methods of text/template_methods.h; functions range, namespace, dict,
/// raise_exception and strftime_now, which prints `now`.
///
/// InvalidArgument names the line: an operation that its operands do not take, a filter, test or
/// function that does not exist, the template's own raise_exception. ResourceExhausted: steps,
/// work, depth, or a text, list or value beyond its bound.
absl::StatusOr<Text> Render(const Block& block,
                            const std::vector<std::pair<std::string, Value>>& variables,
                            const std::tm& now);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_TEMPLATE_INTERPRETER_H_

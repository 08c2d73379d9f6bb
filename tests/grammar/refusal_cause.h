#ifndef SHORTLIST_TESTS_GRAMMAR_REFUSAL_CAUSE_H_
#define SHORTLIST_TESTS_GRAMMAR_REFUSAL_CAUSE_H_

#include <string_view>

#include "grammar/expressions.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// True if `text` is in `grammar`.
bool Accepts(Expressions& expressions, ExprId grammar, std::string_view text);

/// Why a grammar of `schema` refuses `value`, which is valid.
enum class RefusalCause {
  kNone,      // it does not
  kKeyOrder,  // it accepts the members in another order
  kNumber,    // it accepts 1 for 1.0 and 10000000000000000 for 1e16, in some order
  kFormat,    // it accepts the value if formats are no limits, and all of the above
  kOther
};
RefusalCause CauseOfRefusal(Expressions& expressions, ExprId grammar,
                            const nlohmann::ordered_json& schema,
                            const nlohmann::ordered_json& value);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_GRAMMAR_REFUSAL_CAUSE_H_

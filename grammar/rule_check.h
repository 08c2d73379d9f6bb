#ifndef SHORTLIST_GRAMMAR_RULE_CHECK_H_
#define SHORTLIST_GRAMMAR_RULE_CHECK_H_

#include <string>
#include <vector>

#include "grammar/expr_derivatives.h"
#include "grammar/expr_nodes.h"
#include "grammar/expressions.h"

namespace shortlist {

/// Checks what `start` can reach and was not checked before, and sets the shortest length of all of
/// it. Returns what is wrong, or nothing; on an error no length is set, so the moves of what calls
/// a broken rule stay empty. The caller holds the lock of `nodes`.
std::string CheckRules(ExprId start, ExprNodes& nodes, const ExprDerivatives& derivatives,
                       const std::vector<ExprRule>& rules);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_RULE_CHECK_H_

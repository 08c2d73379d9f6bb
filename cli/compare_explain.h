#ifndef SHORTLIST_CLI_COMPARE_EXPLAIN_H_
#define SHORTLIST_CLI_COMPARE_EXPLAIN_H_

#include <ostream>

#include "cli/compare_report.h"

namespace shortlist {

/// Explains why each way to decode won or lost against plain decoding, in three lines: the cost of
/// a step in plain steps, the tokens per step, and the expected speed next to the measured one.
void WriteExplanations(const Comparison& comparison, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_COMPARE_EXPLAIN_H_

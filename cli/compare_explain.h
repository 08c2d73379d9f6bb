#ifndef SHORTLIST_CLI_COMPARE_EXPLAIN_H_
#define SHORTLIST_CLI_COMPARE_EXPLAIN_H_

#include <ostream>

#include "cli/compare_report.h"

namespace shortlist {

/// Why each way to decode won or lost against plain decoding, in three lines: what a step costs,
/// in plain steps; what it brings; and which speed that leads to, beside the measured one.
void WriteExplanations(const Comparison& comparison, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_COMPARE_EXPLAIN_H_

#ifndef SHORTLIST_CLI_COMPARE_H_
#define SHORTLIST_CLI_COMPARE_H_

#include <ostream>

#include "absl/status/statusor.h"
#include "cli/flags/flags.h"

namespace shortlist {

/// `shortlist compare`: decodes the prompts plainly, with the draft over its full head, over the
/// list, and over list and dynamic rows, as far as `flags` ask for them, interleaved and
/// repeated, and writes a report to `out` (WriteTables, or WriteJson with --json). With --sweep,
/// list, and list and dynamic rows, come in several sizes, in pairs with as many rows at most.
///
/// Returns whether every output had the ids of plain decoding. Rejection sampling at a temperature
/// draws other outputs by design: they are not compared then, and count as fine.
absl::StatusOr<bool> Compare(const CompareFlags& flags, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_COMPARE_H_

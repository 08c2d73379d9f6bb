#ifndef SHORTLIST_CLI_COMPARE_H_
#define SHORTLIST_CLI_COMPARE_H_

#include <ostream>

#include "absl/status/statusor.h"
#include "cli/flags/flags.h"

namespace shortlist {

/// `shortlist compare`: decodes the prompts in several ways, interleaved and repeated, and writes a
/// report to `out` (WriteTables, or WriteJson with --json). The ways are plain decoding, the draft
/// with its full head, with the list, and with list and dynamic rows, as far as `flags` request
/// them. With --sweep, the list runs at several sizes, with and without dynamic rows, with the same
/// maximum number of rows in both cases.
///
/// Returns true if every output had the ids of plain decoding. Rejection sampling at a temperature
/// draws other outputs by design: these are not compared and count as identical.
absl::StatusOr<bool> Compare(const CompareFlags& flags, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_COMPARE_H_

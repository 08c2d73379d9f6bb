#ifndef SHORTLIST_BASE_CATCH_BAD_ALLOC_H_
#define SHORTLIST_BASE_CATCH_BAD_ALLOC_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace shortlist {

/// Runs `body` and converts exceptions of allocations to a Status: ResourceExhausted if there is
/// not enough memory, Internal for another exception of the standard library. The message begins
/// with `what`.
absl::Status CatchBadAlloc(absl::string_view what, absl::FunctionRef<absl::Status()> body);

}  // namespace shortlist

#endif  // SHORTLIST_BASE_CATCH_BAD_ALLOC_H_

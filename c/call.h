#ifndef SHORTLIST_C_CALL_H_
#define SHORTLIST_C_CALL_H_

#include <exception>
#include <new>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "c/shortlist.h"

namespace shortlist {

/// Remembers what went wrong for shortlist_last_error and gives its number.
shortlist_status Report(const absl::Status& status);

/// The body of every function of the C interface: no exception passes.
shortlist_status Call(absl::FunctionRef<absl::Status()> body);

/// InvalidArgument names `what` where it is null.
absl::Status CheckNotNull(const void* pointer, const char* what);
/// InvalidArgument names `what` for a count below 0, or a null array of more than 0 elements.
absl::Status CheckArray(const void* array, int64_t count, const char* what);

}  // namespace shortlist

#endif  // SHORTLIST_C_CALL_H_

#ifndef SHORTLIST_C_CALL_H_
#define SHORTLIST_C_CALL_H_

#include <exception>
#include <new>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "c/shortlist.h"

namespace shortlist {

/// Saves the message of an error for shortlist_last_error and returns the status's number.
shortlist_status Report(const absl::Status& status);

/// Runs the body of a function of the C interface and reports its status. No exception escapes.
shortlist_status Call(absl::FunctionRef<absl::Status()> body);

/// InvalidArgument names `what` if `pointer` is null.
absl::Status CheckNotNull(const void* pointer, const char* what);
/// InvalidArgument names `what` for a count below 0, or a null array of more than 0 elements.
absl::Status CheckArray(const void* array, int64_t count, const char* what);

}  // namespace shortlist

#endif  // SHORTLIST_C_CALL_H_

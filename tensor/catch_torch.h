#ifndef SHORTLIST_TENSOR_CATCH_TORCH_H_
#define SHORTLIST_TENSOR_CATCH_TORCH_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace shortlist {

/// Runs `body` and turns what libtorch and the allocator throw into a Status: ResourceExhausted for
/// memory, Internal for the rest. `what` begins the message.
absl::Status CatchTorch(absl::string_view what, absl::FunctionRef<absl::Status()> body);

}  // namespace shortlist

#endif  // SHORTLIST_TENSOR_CATCH_TORCH_H_

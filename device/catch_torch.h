#ifndef SHORTLIST_DEVICE_CATCH_TORCH_H_
#define SHORTLIST_DEVICE_CATCH_TORCH_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace shortlist {

/// Runs `body` and converts exceptions of libtorch and the allocator to a Status: ResourceExhausted
/// for memory, Internal for all others. The message begins with `what`.
absl::Status CatchTorch(absl::string_view what, absl::FunctionRef<absl::Status()> body);

}  // namespace shortlist

#endif  // SHORTLIST_DEVICE_CATCH_TORCH_H_

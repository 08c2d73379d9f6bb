#ifndef SHORTLIST_BASE_FILE_PIECES_H_
#define SHORTLIST_BASE_FILE_PIECES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace shortlist {

/// Appends bytes to a file that is being written. Unavailable names the path and the reason.
using AppendBytes = std::function<absl::Status(std::string_view bytes)>;

/// Same as WriteFileAtomically of base/file.h, for contents of `num_bytes` that `write` appends in
/// pieces. An error of `write` is returned, and the file stays unchanged.
absl::Status WriteFileAtomically(const std::string& path, int64_t num_bytes,
                                 const std::function<absl::Status(const AppendBytes&)>& write);

}  // namespace shortlist

#endif  // SHORTLIST_BASE_FILE_PIECES_H_

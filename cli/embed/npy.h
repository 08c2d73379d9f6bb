#ifndef SHORTLIST_CLI_EMBED_NPY_H_
#define SHORTLIST_CLI_EMBED_NPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace shortlist {

/// Returns the header of an .npy file of little-endian f32, [num_rows, width] in row order (format
/// 1.0 of numpy.lib.format). Its length is a multiple of 64.
std::string NpyHeader(int64_t num_rows, int64_t width);

/// Reads a file that begins with NpyHeader(num_rows, width), as VectorFile writes it: [num_rows,
/// width]. Errors as ReadFile. InvalidArgument for another dtype, shape or length (names both), and
/// for a value that is NaN or infinite (names its row).
absl::StatusOr<std::vector<float>> ReadNpy(const std::string& path, int64_t num_rows,
                                           int64_t width);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_NPY_H_

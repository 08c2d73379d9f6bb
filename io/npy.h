#ifndef SHORTLIST_IO_NPY_H_
#define SHORTLIST_IO_NPY_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace shortlist {

/// The header of an .npy file of `shape` in row order (format 1.0 of numpy.lib.format), such as
/// dtype "<f4". Its length is a multiple of 64.
std::string NpyHeaderOf(std::string_view dtype, std::span<const int64_t> shape);

/// An .npy file of little-endian int64 of one dimension.
std::string NpyFileOf(std::span<const int64_t> values);

/// The integers of such a file, or of one of any little-endian integer dtype, in format 1.0 to 3.0.
/// InvalidArgument, without a file's name, says what is wrong: another dtype (bool is a mask), more
/// dimensions, another length, an element that is not below 2^63.
absl::StatusOr<std::vector<int64_t>> ParseNpyIntegers(const std::string& contents);

}  // namespace shortlist

#endif  // SHORTLIST_IO_NPY_H_

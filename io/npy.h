#ifndef SHORTLIST_IO_NPY_H_
#define SHORTLIST_IO_NPY_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace shortlist {

/// Returns the header of an .npy file of `shape` in row order and of `dtype`, such as "<f4" (format
/// 1.0 of numpy.lib.format). Its length is a multiple of 64.
std::string NpyHeaderOf(std::string_view dtype, std::span<const int64_t> shape);

/// Returns an .npy file of one-dimensional little-endian int64.
std::string NpyFileOf(std::span<const int64_t> values);

/// Returns the integers of a one-dimensional .npy file of any little-endian integer dtype, format
/// 1.0 to 3.0. InvalidArgument, without the file's name, says what is wrong: another dtype (bool is
/// a mask), more dimensions, another length, an element that is not below 2^63.
absl::StatusOr<std::vector<int64_t>> ParseNpyIntegers(const std::string& contents);

}  // namespace shortlist

#endif  // SHORTLIST_IO_NPY_H_

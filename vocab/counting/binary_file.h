#ifndef SHORTLIST_VOCAB_COUNTING_BINARY_FILE_H_
#define SHORTLIST_VOCAB_COUNTING_BINARY_FILE_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"

namespace shortlist {

/// Number of bytes that CheckIsText examines; a file may have fewer.
inline constexpr size_t kCheckedBytes = size_t{64} << 10;

/// Checks that a file beginning with `head` (unpacked) is text in an encoding that extends ASCII.
/// InvalidArgument, without the file's name, says what the file is: a known format (Parquet,
/// SQLite, zip, tar, ...), UTF-16, or binary. A file is binary if more than 16 of its first
/// kCheckedBytes, and more than one in 20, are control characters that text does not use. Stray
/// bytes and text that is not UTF-8 are accepted.
absl::Status CheckIsText(std::string_view head);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_BINARY_FILE_H_

#ifndef SHORTLIST_VOCAB_COUNTING_BINARY_FILE_H_
#define SHORTLIST_VOCAB_COUNTING_BINARY_FILE_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"

namespace shortlist {

/// What CheckIsText looks at, where a file has as much.
inline constexpr size_t kCheckedBytes = size_t{64} << 10;

/// Whether a file that begins with `head`, unpacked, is text in an encoding that extends ASCII.
/// InvalidArgument, without a file's name, says what it is instead: it begins as a file of a known
/// format does (Parquet, SQLite, zip, tar, ...) or as UTF-16; or more than 16 of its first
/// kCheckedBytes, and more than one in 20, are control characters that text does not use. Stray
/// bytes, and text that is not UTF-8, are no reason to refuse a file.
absl::Status CheckIsText(std::string_view head);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_BINARY_FILE_H_

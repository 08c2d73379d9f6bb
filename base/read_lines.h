#ifndef SHORTLIST_BASE_READ_LINES_H_
#define SHORTLIST_BASE_READ_LINES_H_

#include <cstdint>
#include <istream>
#include <string>

#include "absl/status/statusor.h"

namespace shortlist {

/// Reads the next line of `in` into `line`, without its line break. Returns false at the end of the
/// input. InvalidArgument names the bound if the line has more than `max_bytes` bytes; `line` never
/// exceeds the bound. Unavailable if reading fails.
absl::StatusOr<bool> ReadLine(std::istream& in, int64_t max_bytes, std::string& line);

/// Limits of ReadLines.
struct LineBounds {
  int64_t max_line_bytes = 0;
  int64_t max_bytes = 0;  // of all lines, line breaks included
};

/// Reads all of `in`. InvalidArgument names `origin`, the line and the exceeded bound.
absl::StatusOr<std::string> ReadLines(std::istream& in, const std::string& origin,
                                      const LineBounds& bounds);

}  // namespace shortlist

#endif  // SHORTLIST_BASE_READ_LINES_H_

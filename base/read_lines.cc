#include "base/read_lines.h"

#include <cerrno>
#include <cstring>
#include <ios>
#include <streambuf>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shortlist {

absl::StatusOr<bool> ReadLine(std::istream& in, int64_t max_bytes, std::string& line) {
  using Traits = std::istream::traits_type;
  line.clear();
  std::streambuf& bytes = *in.rdbuf();
  bool has_any = false;
  errno = 0;
  while (true) {
    const Traits::int_type next = bytes.sbumpc();
    if (Traits::eq_int_type(next, Traits::eof())) {
      in.setstate(std::ios_base::eofbit);
      // A stream does not distinguish an error from the end; other errno values are not read
      // errors.
      const bool has_failed = errno == EIO || errno == EISDIR || errno == EBADF;
      if (!has_failed) return has_any;
      return absl::UnavailableError(absl::StrCat("cannot read: ", std::strerror(errno)));
    }
    has_any = true;
    const char byte = Traits::to_char_type(next);
    if (byte == '\n') return true;
    if (static_cast<int64_t>(line.size()) == max_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a line longer than the ", max_bytes, " bytes admitted here"));
    }
    line.push_back(byte);
  }
}

absl::StatusOr<std::string> ReadLines(std::istream& in, const std::string& origin,
                                      const LineBounds& bounds) {
  std::string contents, line;
  for (int64_t number = 1;; ++number) {
    const absl::StatusOr<bool> is_there = ReadLine(in, bounds.max_line_bytes, line);
    if (!is_there.ok()) {
      return absl::Status(is_there.status().code(), absl::StrCat(origin, " line ", number, ": ",
                                                                 is_there.status().message()));
    }
    if (!*is_there) return contents;
    if (static_cast<int64_t>(contents.size() + line.size() + 1) > bounds.max_bytes) {
      return absl::InvalidArgumentError(absl::StrCat(origin, " line ", number, ": more than the ",
                                                     bounds.max_bytes, " bytes admitted here"));
    }
    contents += line;
    contents += '\n';
  }
}

}  // namespace shortlist

#ifndef SHORTLIST_BASE_FILE_H_
#define SHORTLIST_BASE_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shortlist {

/// True when something has that name. A symbolic link to nothing counts, so that whoever reads it
/// says so instead of going on without it.
bool FileExists(const std::string& path);

/// Reads a whole regular file. NotFound when it does not exist, InvalidArgument when it is no
/// regular file, a symbolic link to nothing, or longer than `max_bytes` (the message names both
/// sizes), Unavailable on a read error.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes);

/// Writes `contents` to a new file beside `path` and renames it, so that `path` holds either the
/// old bytes or all of the new ones; the mode of a file that is replaced is kept. A process that is
/// killed meanwhile leaves `path`.tmp.PID, which nobody reads. A symbolic link stays one: what it
/// leads to is replaced; where that is nothing, the link is. A device or a pipe is not replaced: it
/// takes the bytes, and waits for a reader. Unavailable names the path and the system's reason.
absl::Status WriteFileAtomically(const std::string& path, const std::string& contents);

/// Before long work whose result WriteFileAtomically is to write: InvalidArgument names the path
/// and why that would fail, as far as it shows without writing. Changes nothing.
absl::Status CheckWritable(const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_BASE_FILE_H_

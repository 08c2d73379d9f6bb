#ifndef SHORTLIST_BASE_FILE_H_
#define SHORTLIST_BASE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shortlist {

/// True when something has that name. A symbolic link to nothing counts, so that whoever reads it
/// says so instead of going on without it.
bool FileExists(const std::string& path);

/// What tells that a file has been written, replaced, renamed or removed: any of these changes
/// when that happens, as far as the clock of the file system has moved on (some milliseconds). New
/// permissions and further links change the last one, too.
struct FileVersion {
  uint64_t device = 0, inode = 0;
  int64_t size = 0;
  int64_t written_ns = 0, changed_ns = 0;  // mtime, ctime

  bool operator==(const FileVersion&) const = default;
};

/// Of an open file, or of what has that name; nullopt where the system refuses to say.
std::optional<FileVersion> VersionOf(int fd);
std::optional<FileVersion> VersionOf(const std::string& path);

/// Reads a whole regular file. NotFound when it does not exist, InvalidArgument when it is no
/// regular file, a symbolic link to nothing, or longer than `max_bytes` (the message names both
/// sizes), Unavailable on a read error, and where it was written to while it was read.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes);

/// Writes `contents` to a new file in the folder of `path`, brings it to the disk and renames it:
/// `path` holds either the old bytes or all of the new ones, also after a power failure. The mode
/// of a file that is replaced is kept. Any number of threads and processes may write one path.
///
/// The new file has no name until it is whole, where the file system can do that (O_TMPFILE). A
/// process that is killed then leaves nothing; one that is killed between naming and renaming, or
/// on another file system, leaves NAME.tmp.RANDOM, which may be removed and which nothing reads. No
/// file that is there already is opened, and no link followed, under such a name.
///
/// A symbolic link stays one: what it leads to is replaced; where that is nothing, the link is. A
/// device or a pipe is not replaced: it takes the bytes, and waits for a reader. Unavailable names
/// the path and the system's reason, also for more bytes than RLIMIT_FSIZE; behind an error a
/// regular file is as it was, unless the error is that its folder could not be brought to the disk.
absl::Status WriteFileAtomically(const std::string& path, const std::string& contents);

/// Brings the names in the folder of `path` to the disk, as after a rename. Unavailable names the
/// path and the system's reason; a folder that may not be read, or a file system that cannot do
/// this, is no error.
absl::Status SyncFolderOf(const std::string& path);

/// Before long work whose result WriteFileAtomically is to write: InvalidArgument names the path
/// and why that would fail, as far as it shows without writing. Changes nothing.
absl::Status CheckWritable(const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_BASE_FILE_H_

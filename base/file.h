#ifndef SHORTLIST_BASE_FILE_H_
#define SHORTLIST_BASE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shortlist {

/// True if a file of any kind has that name. A dangling symbolic link counts, so that reading it
/// fails instead of being skipped.
bool FileExists(const std::string& path);

/// Identifies a version of a file. At least one field changes when the file is written, replaced,
/// renamed or removed, within the resolution of the file system's clock (some milliseconds). New
/// permissions and further links change `changed_ns`, too.
struct FileVersion {
  uint64_t device = 0, inode = 0;
  int64_t size = 0;
  int64_t written_ns = 0, changed_ns = 0;  // mtime, ctime

  bool operator==(const FileVersion&) const = default;
};

/// Returns the version of an open file or of a path; nullopt if the system call fails.
std::optional<FileVersion> VersionOf(int fd);
std::optional<FileVersion> VersionOf(const std::string& path);

/// Reads a whole regular file. NotFound: it does not exist. InvalidArgument: it is no regular file,
/// a dangling symbolic link, or longer than `max_bytes` (the message names both sizes).
/// Unavailable: a read error, or the file was written to during the read.
/// If `version` is not null, it receives the version of the file that was read.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes,
                                     FileVersion* version = nullptr);

/// Writes `contents` to a new file in the folder of `path`, flushes it to the disk and renames it.
/// `path` holds either the old bytes or all of the new ones, also after a power failure. The mode
/// of a replaced file is kept. Any number of threads and processes may write one path.
///
/// The new file has no name until it is complete, if the file system supports this (O_TMPFILE). A
/// killed process then leaves no file. If it is killed between naming and renaming, or on another
/// file system, it leaves NAME.tmp.RANDOM, which is never read and may be removed. Under such a
/// name, no existing file is opened and no link is followed.
///
/// A symbolic link stays one: its target is replaced. A dangling link is itself replaced. A device
/// or a pipe is not replaced: it receives the bytes, and the call waits for a reader. Unavailable
/// names the path and the system's reason, also for more bytes than RLIMIT_FSIZE. After an error a
/// regular file is unchanged, unless the error is that its folder could not be flushed to the disk.
absl::Status WriteFileAtomically(const std::string& path, const std::string& contents);

/// Flushes the names in the folder of `path` to the disk, as needed after a rename. Unavailable
/// names the path and the system's reason. An unreadable folder, or a file system without support,
/// is no error.
absl::Status SyncFolderOf(const std::string& path);

/// Checks, before long work, that WriteFileAtomically can write its result to `path`.
/// InvalidArgument names the path and the reason, as far as it is known without writing. Changes
/// nothing.
absl::Status CheckWritable(const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_BASE_FILE_H_

#ifndef SHORTLIST_IO_BYTE_SOURCE_H_
#define SHORTLIST_IO_BYTE_SOURCE_H_

#include <cstdint>
#include <istream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shortlist {

/// Reads a file sequentially and unpacks gzip, xz and Zstandard, recognised by the first bytes, not
/// the name. Memory use does not grow with the file. Used by one thread.
class ByteSource {
 public:
  /// Maximum number of bytes returned by one Read().
  static constexpr size_t kChunkBytes = size_t{1} << 18;

  /// Opens a file or a pipe. NotFound if it does not exist; InvalidArgument for a directory.
  static absl::StatusOr<std::unique_ptr<ByteSource>> Open(const std::string& path);
  /// Reads a stream, which must outlive the source. Errors begin with `name`.
  static absl::StatusOr<std::unique_ptr<ByteSource>> Of(std::istream& in, const std::string& name);

  virtual ~ByteSource() = default;

  /// Replaces `chunk` by the next bytes; empty at the end. InvalidArgument for a damaged or
  /// truncated archive, Unavailable on a read error; both name the file. Chunks read before an
  /// error remain valid.
  virtual absl::Status Read(std::string& chunk) = 0;

  /// Stored (packed) bytes read so far. Some of them may not have been unpacked yet.
  virtual int64_t num_stored_bytes() const = 0;
};

/// Returns a whole regular file, unpacked. Errors as in ReadFile and ByteSource::Read;
/// InvalidArgument if the file has more than `max_bytes`, packed or unpacked.
absl::StatusOr<std::string> ReadUnpacked(const std::string& path, int64_t max_bytes);

/// Returns `contents` packed as an .xz file.
std::string PackXz(const std::string& contents);

}  // namespace shortlist

#endif  // SHORTLIST_IO_BYTE_SOURCE_H_

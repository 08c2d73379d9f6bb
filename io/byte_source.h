#ifndef SHORTLIST_IO_BYTE_SOURCE_H_
#define SHORTLIST_IO_BYTE_SOURCE_H_

#include <cstdint>
#include <istream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shortlist {

/// Bytes of a file from front to back, unpacked where it is gzip, xz or Zstandard (by its first
/// bytes, not its name). Memory does not grow with the file. Of one thread.
class ByteSource {
 public:
  /// Bytes that one Read gives at most.
  static constexpr size_t kChunkBytes = size_t{1} << 18;

  /// NotFound when there is no such file; InvalidArgument for a directory. Pipes are fine.
  static absl::StatusOr<std::unique_ptr<ByteSource>> Open(const std::string& path);
  /// Of a stream, which must outlive it; `name` goes before errors.
  static absl::StatusOr<std::unique_ptr<ByteSource>> Of(std::istream& in, const std::string& name);

  virtual ~ByteSource() = default;

  /// Replaces `chunk` by what comes next; empty: the end. InvalidArgument for an archive that is
  /// damaged or cut short, Unavailable on a read error; both name the file. What was read before
  /// stands.
  virtual absl::Status Read(std::string& chunk) = 0;

  /// Bytes as they are stored, packed or not, that were read so far; some may not have come out
  /// yet.
  virtual int64_t num_stored_bytes() const = 0;
};

/// A whole regular file, unpacked. Errors as ReadFile and ByteSource::Read; InvalidArgument when it
/// has more than `max_bytes`, packed or unpacked.
absl::StatusOr<std::string> ReadUnpacked(const std::string& path, int64_t max_bytes);

/// `contents` as an .xz file holds it.
std::string PackXz(const std::string& contents);

}  // namespace shortlist

#endif  // SHORTLIST_IO_BYTE_SOURCE_H_

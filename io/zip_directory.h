#ifndef SHORTLIST_IO_ZIP_DIRECTORY_H_
#define SHORTLIST_IO_ZIP_DIRECTORY_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/raw_file.h"

namespace shortlist {

/// The bytes of one uncompressed member of a zip archive.
struct ZipMember {
  int64_t offset = 0;
  int64_t size = 0;
  /// CRC-32 in the central directory. nullopt if that field is 0: torch.save writes 0 when it
  /// computes no checksum (torch.serialization.set_crc32_options(False), skip_data), and torch.load
  /// accepts such a member. One member in 2^32 has a true CRC-32 of 0 and is not checked either.
  std::optional<uint32_t> crc32;
};

/// Returns the members of a zip archive by name, including ZIP64 (PKWARE's APPNOTE.TXT, 4.3).
/// Accepts only stored members, each of which lies inside the file. Messages do not contain the
/// path. InvalidArgument for a damaged archive; Unimplemented for compression, encryption or
/// several disks.
absl::StatusOr<std::map<std::string, ZipMember>> ReadZipDirectory(const RawFile& file);

/// A member that is read in parts. Its bytes are checked once, whichever parts are read.
/// Thread-safe.
class CheckedZipMember {
 public:
  CheckedZipMember(std::string name, const ZipMember& member)
      : name_(std::move(name)), member_(member) {}

  /// Returns OK if the member has no CRC-32 or its bytes have that CRC-32. The first call reads the
  /// whole member, in chunks; calls after a success read nothing. InvalidArgument, without the
  /// path, names a damaged member. Other errors are those of RawFile::Read.
  absl::Status Check(const RawFile& file);

 private:
  const std::string name_;
  const ZipMember member_;
  std::mutex mutex_;  // guards is_checked_; held while the member is read
  bool is_checked_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_IO_ZIP_DIRECTORY_H_

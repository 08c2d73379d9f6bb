#ifndef SHORTLIST_IO_ZIP_DIRECTORY_H_
#define SHORTLIST_IO_ZIP_DIRECTORY_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "io/raw_file.h"

namespace shortlist {

/// The bytes of one uncompressed member of a zip archive.
struct ZipMember {
  int64_t offset = 0;
  int64_t size = 0;
};

/// Returns the members of a zip archive by name, including ZIP64 (PKWARE's APPNOTE.TXT, 4.3).
/// Accepts only stored members, each of which lies inside the file. Messages do not contain the
/// path. InvalidArgument for a damaged archive; Unimplemented for compression, encryption or
/// several disks.
absl::StatusOr<std::map<std::string, ZipMember>> ReadZipDirectory(const RawFile& file);

}  // namespace shortlist

#endif  // SHORTLIST_IO_ZIP_DIRECTORY_H_

#ifndef SHORTLIST_IO_ZIP_DIRECTORY_H_
#define SHORTLIST_IO_ZIP_DIRECTORY_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "io/raw_file.h"

namespace shortlist {

/// The bytes of one member of a zip archive, which lie in the file as they are.
struct ZipMember {
  int64_t offset = 0;
  int64_t size = 0;
};

/// The members of a zip archive by name, ZIP64 included (PKWARE's APPNOTE.TXT, 4.3). Only stored
/// members are admitted, and every one lies inside the file. Messages, without the path:
/// InvalidArgument for a damaged archive, Unimplemented for compression, encryption or several
/// disks.
absl::StatusOr<std::map<std::string, ZipMember>> ReadZipDirectory(const RawFile& file);

}  // namespace shortlist

#endif  // SHORTLIST_IO_ZIP_DIRECTORY_H_

#include "io/zip_directory.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

constexpr int64_t kEndBytes = 22;  // end of central directory, without its comment
constexpr int64_t kMaxComment = 0xffff;
constexpr int64_t kLocatorBytes = 20;  // of the ZIP64 end
constexpr int64_t kEnd64Bytes = 56;
constexpr int64_t kCentralBytes = 46;  // of one member, without names
constexpr int64_t kLocalBytes = 30;
constexpr int64_t kMaxDirectoryBytes = 100'000'000;
constexpr int64_t kChunkBytes = 1 << 20;
constexpr uint64_t kIn64 = 0xffffffff;  // a 32-bit field whose value is in the ZIP64 extra field

template <typename Number>
Number At(const std::string& bytes, int64_t offset) {
  Number value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

absl::Status Damaged(const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat("damaged zip archive: ", problem));
}

absl::StatusOr<std::string> ReadBytes(const RawFile& file, int64_t offset, int64_t count) {
  if (offset < 0 || count < 0 || offset > file.size() || count > file.size() - offset) {
    return Damaged(absl::StrCat("bytes ", offset, " to ", offset, " + ", count, " lie outside its ",
                                file.size()));
  }
  std::string bytes(static_cast<size_t>(count), '\0');
  SHORTLIST_RETURN_IF_ERROR(file.Read(offset, count, bytes.data()));
  return bytes;
}

/// Converts a 64-bit field to a size or offset in the file; -1, which ReadBytes rejects, if it is
/// larger.
int64_t ToOffset(uint64_t value) {
  return value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
             ? -1
             : static_cast<int64_t>(value);
}

struct Directory {
  uint64_t num_members = 0;
  int64_t size = 0;
  int64_t offset = 0;
};

absl::StatusOr<Directory> FindDirectory(const RawFile& file) {
  const int64_t tail_bytes = std::min(file.size(), kEndBytes + kMaxComment);
  SHORTLIST_ASSIGN_OR_RETURN(const std::string tail,
                             ReadBytes(file, file.size() - tail_bytes, tail_bytes));
  int64_t end = tail_bytes - kEndBytes;
  while (end >= 0 && !(At<uint32_t>(tail, end) == 0x06054b50 &&
                       end + kEndBytes + At<uint16_t>(tail, end + 20) == tail_bytes)) {
    --end;
  }
  if (end < 0) return Damaged("no end of central directory: truncated, or no zip archive");
  if (At<uint16_t>(tail, end + 4) != At<uint16_t>(tail, end + 6)) {
    return absl::UnimplementedError("a zip archive on several disks is not supported");
  }
  Directory directory = {At<uint16_t>(tail, end + 10), At<uint32_t>(tail, end + 12),
                         At<uint32_t>(tail, end + 16)};
  if (directory.num_members != 0xffff && directory.size != kIn64 && directory.offset != kIn64) {
    return directory;
  }
  const int64_t locator_at = file.size() - tail_bytes + end - kLocatorBytes;
  SHORTLIST_ASSIGN_OR_RETURN(const std::string locator, ReadBytes(file, locator_at, kLocatorBytes));
  if (At<uint32_t>(locator, 0) != 0x07064b50) return directory;  // exactly that many members
  SHORTLIST_ASSIGN_OR_RETURN(const std::string end64,
                             ReadBytes(file, ToOffset(At<uint64_t>(locator, 8)), kEnd64Bytes));
  if (At<uint32_t>(end64, 0) != 0x06064b50) return Damaged("no ZIP64 end of central directory");
  directory.num_members = At<uint64_t>(end64, 32);
  directory.size = ToOffset(At<uint64_t>(end64, 40));
  directory.offset = ToOffset(At<uint64_t>(end64, 48));
  return directory;
}

/// Sizes, offset and CRC-32 of one member, from the central directory.
struct Central {
  uint64_t packed_size, size, local_offset;
  uint32_t crc32;
};

/// Reads the values that do not fit 32 bits from the ZIP64 part of `extra`.
absl::Status ReadExtra(const std::string& extra, Central& central) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const size_t id = At<uint16_t>(extra, at), length = At<uint16_t>(extra, at + 2);
    at += 4;
    if (length > extra.size() - at) return Damaged("an extra field is longer than its header");
    if (id == 1) {
      size_t left = length, from = at;
      for (uint64_t* value : {&central.size, &central.packed_size, &central.local_offset}) {
        if (*value != kIn64) continue;
        if (left < 8) return Damaged("a ZIP64 extra field is too short");
        *value = At<uint64_t>(extra, from);
        from += 8;
        left -= 8;
      }
    }
    at += length;
  }
  return absl::OkStatus();
}

/// Locates the data of a member: after its local header, whose name must be the same.
absl::StatusOr<ZipMember> Locate(const RawFile& file, const std::string& name,
                                 const Central& central) {
  const int64_t local_at = ToOffset(central.local_offset);
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::string local,
      ReadBytes(file, local_at, kLocalBytes + static_cast<int64_t>(name.size())));
  const int64_t name_bytes = At<uint16_t>(local, 26);
  if (At<uint32_t>(local, 0) != 0x04034b50 || name_bytes != static_cast<int64_t>(name.size()) ||
      local.compare(kLocalBytes, name.size(), name) != 0) {
    return Damaged(absl::StrCat("no local header of member ", Quote(name), " at byte ", local_at));
  }
  const int64_t offset = local_at + kLocalBytes + name_bytes + At<uint16_t>(local, 28);
  const int64_t size = ToOffset(central.size);
  if (size < 0 || offset > file.size() || size > file.size() - offset) {
    return Damaged(absl::StrCat("member ", Quote(name), ", ", central.size, " bytes from byte ",
                                offset, " on, ends after the file's ", file.size()));
  }
  return ZipMember{offset, size, central.crc32 == 0 ? std::nullopt : std::optional(central.crc32)};
}

}  // namespace

absl::StatusOr<std::map<std::string, ZipMember>> ReadZipDirectory(const RawFile& file) {
  SHORTLIST_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(file));
  if (directory.size > kMaxDirectoryBytes) {
    return Damaged(absl::StrCat("a central directory of ", directory.size, " bytes, more than the ",
                                kMaxDirectoryBytes, " admitted here"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::string bytes,
                             ReadBytes(file, directory.offset, directory.size));
  std::map<std::string, ZipMember> members;
  int64_t at = 0;
  for (uint64_t i = 0; i < directory.num_members; ++i) {
    if (directory.size - at < kCentralBytes || At<uint32_t>(bytes, at) != 0x02014b50) {
      return Damaged(absl::StrCat("member ", i, " of ", directory.num_members,
                                  " is not in the central directory"));
    }
    const int64_t name_bytes = At<uint16_t>(bytes, at + 28);
    const int64_t extra_bytes = At<uint16_t>(bytes, at + 30);
    const int64_t comment_bytes = At<uint16_t>(bytes, at + 32);
    const int64_t next = at + kCentralBytes + name_bytes + extra_bytes + comment_bytes;
    if (next > directory.size) return Damaged("the central directory is cut short");
    const std::string name = bytes.substr(at + kCentralBytes, name_bytes);
    Central central = {At<uint32_t>(bytes, at + 20), At<uint32_t>(bytes, at + 24),
                       At<uint32_t>(bytes, at + 42), At<uint32_t>(bytes, at + 16)};
    SHORTLIST_RETURN_IF_ERROR(
        ReadExtra(bytes.substr(at + kCentralBytes + name_bytes, extra_bytes), central));
    if ((At<uint16_t>(bytes, at + 8) & 1) != 0) {
      return absl::UnimplementedError(
          absl::StrCat("zip member ", Quote(name), " is encrypted; only plain ones are read"));
    }
    if (At<uint16_t>(bytes, at + 10) != 0 || central.packed_size != central.size) {
      return absl::UnimplementedError(
          absl::StrCat("zip member ", Quote(name), " is compressed; only stored ones are read"));
    }
    SHORTLIST_ASSIGN_OR_RETURN(const ZipMember member, Locate(file, name, central));
    if (!members.emplace(name, member).second) {
      return Damaged(absl::StrCat("member ", Quote(name), " is there twice"));
    }
    at = next;
  }
  return members;
}

absl::Status CheckedZipMember::Check(const RawFile& file) {
  if (!member_.crc32) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  if (is_checked_) return absl::OkStatus();
  std::string chunk(static_cast<size_t>(std::min(member_.size, kChunkBytes)), '\0');
  uint32_t sum = 0;
  for (int64_t done = 0; done < member_.size;) {
    const int64_t count = std::min(member_.size - done, kChunkBytes);
    SHORTLIST_RETURN_IF_ERROR(file.Read(member_.offset + done, count, chunk.data()));
    sum = static_cast<uint32_t>(
        crc32_z(sum, reinterpret_cast<const Bytef*>(chunk.data()), static_cast<size_t>(count)));
    done += count;
  }
  if (sum != *member_.crc32) {
    return Damaged(absl::StrCat("record ", Quote(name_), " has CRC-32 ",
                                absl::Hex(sum, absl::kZeroPad8), ", not ",
                                absl::Hex(*member_.crc32, absl::kZeroPad8),
                                " as when it was written; copy or download the file again"));
  }
  is_checked_ = true;
  return absl::OkStatus();
}

}  // namespace shortlist

#ifndef SHORTLIST_TESTS_IO_TORCH_ARCHIVE_H_
#define SHORTLIST_TESTS_IO_TORCH_ARCHIVE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shortlist {

/// The bytes of a number.
template <typename Number>
std::string LittleEndian(Number value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

struct ZipContent {
  std::string name;
  std::string bytes;
};

/// False values that the directory states for every member.
struct ZipLies {
  uint16_t method = 0;
  uint16_t flags = 0;
  int64_t extra_size = 0;    // added to its size
  int64_t extra_offset = 0;  // added to the place of its local header
  int64_t extra_members = 0;
  bool zip64 = false;  // sizes and offsets in ZIP64 fields; no lie
};

/// A zip archive of stored members with their CRC-32.
std::string ZipBytes(const std::vector<ZipContent>& members, const ZipLies& lies = {});

/// Returns an archive of `pickle` and the members in the folder "archive", as torch.save writes.
std::string TorchArchive(const std::string& pickle, const std::vector<ZipContent>& members);

/// A tensor, of f32 unless `storage` says otherwise ("BFloat16Storage").
struct TensorShape {
  std::string key = "0";
  int64_t storage_size = 6;
  int64_t offset = 0;
  std::vector<int64_t> size;
  std::vector<int64_t> stride;
  std::string storage = "FloatStorage";
};

/// The opcodes that leave this tensor on the stack.
std::string TensorPickle(const TensorShape& tensor);

/// The pickle of {"w": value}, `value` being opcodes.
std::string StateDictPickle(const std::string& value);
/// The pickle of a dictionary of values by name.
std::string StateDictPickle(const std::map<std::string, std::string>& values);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_IO_TORCH_ARCHIVE_H_

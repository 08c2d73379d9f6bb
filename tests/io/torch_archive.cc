#include "tests/io/torch_archive.h"

#include <zlib.h>

namespace shortlist {
namespace {

std::string Number16(int64_t value) { return LittleEndian(static_cast<uint16_t>(value)); }
std::string Number32(int64_t value) { return LittleEndian(static_cast<uint32_t>(value)); }

int64_t Crc32(const std::string& bytes) {
  return static_cast<int64_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string PickledInt(int64_t value) { return "\x8a\x08" + LittleEndian(value); }
std::string PickledString(const std::string& text) {
  return "X" + Number32(static_cast<int64_t>(text.size())) + text;
}
std::string PickledTuple(const std::vector<int64_t>& values) {
  std::string opcodes = "(";
  for (const int64_t value : values) opcodes += PickledInt(value);
  return opcodes + "t";
}

}  // namespace

std::string ZipBytes(const std::vector<ZipContent>& members, const ZipLies& lies) {
  std::string file, directory;
  for (const ZipContent& member : members) {
    const int64_t true_size = static_cast<int64_t>(member.bytes.size());
    const int64_t size = true_size + lies.extra_size;
    const int64_t offset = static_cast<int64_t>(file.size()) + lies.extra_offset;
    const int64_t name_size = static_cast<int64_t>(member.name.size());
    const std::string crc32 = Number32(Crc32(member.bytes));
    file += "PK\x03\x04" + Number16(20) + Number16(lies.flags) + Number16(lies.method) +
            std::string(4, '\0') + crc32 + Number32(true_size) + Number32(true_size) +
            Number16(name_size) + Number16(0) + member.name + member.bytes;
    const std::string extra = lies.zip64 ? Number16(1) + Number16(24) + LittleEndian(size) +
                                               LittleEndian(size) + LittleEndian(offset)
                                         : "";
    const auto field = [&](int64_t value) { return Number32(lies.zip64 ? 0xffffffff : value); };
    directory += "PK\x01\x02" + Number16(20) + Number16(20) + Number16(lies.flags) +
                 Number16(lies.method) + std::string(4, '\0') + crc32 + field(size) + field(size) +
                 Number16(name_size) + Number16(static_cast<int64_t>(extra.size())) +
                 std::string(10, '\0') + field(offset) + member.name + extra;
  }
  const int64_t num_members = static_cast<int64_t>(members.size()) + lies.extra_members;
  const int64_t directory_at = static_cast<int64_t>(file.size());
  const int64_t directory_size = static_cast<int64_t>(directory.size());
  file += directory;
  if (lies.zip64) {
    const int64_t end_at = static_cast<int64_t>(file.size());
    file += "PK\x06\x06" + LittleEndian<int64_t>(44) + std::string(12, '\0') +
            LittleEndian(num_members) + LittleEndian(num_members) + LittleEndian(directory_size) +
            LittleEndian(directory_at);
    file += "PK\x06\x07" + Number32(0) + LittleEndian(end_at) + Number32(1);
  }
  return file + "PK\x05\x06" + Number32(0) + Number16(num_members) + Number16(num_members) +
         Number32(directory_size) + Number32(lies.zip64 ? 0xffffffff : directory_at) + Number16(0);
}

std::string TorchArchive(const std::string& pickle, const std::vector<ZipContent>& members) {
  std::vector<ZipContent> all = {{"archive/data.pkl", pickle}, {"archive/byteorder", "little"}};
  for (const ZipContent& member : members) all.push_back({"archive/" + member.name, member.bytes});
  return ZipBytes(all);
}

std::string TensorPickle(const TensorShape& tensor) {
  const std::string storage = "(" + PickledString("storage") + "ctorch\n" + tensor.storage + "\n" +
                              PickledString(tensor.key) + PickledString("cpu") +
                              PickledInt(tensor.storage_size) + "tQ";
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + PickledInt(tensor.offset) +
         PickledTuple(tensor.size) + PickledTuple(tensor.stride) +
         "\x89"
         "ccollections\nOrderedDict\n)RtR";
}

std::string StateDictPickle(const std::string& value) {
  return StateDictPickle(std::map<std::string, std::string>{{"w", value}});
}

std::string StateDictPickle(const std::map<std::string, std::string>& values) {
  std::string pickle = "\x80\x02}";
  for (const auto& [name, value] : values) pickle += PickledString(name) + value + "s";
  return pickle + ".";
}

}  // namespace shortlist

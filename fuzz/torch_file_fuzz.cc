// Files written by torch.save: open, then read every tensor. The input is a whole file, or the byte
// 'P' followed by a pickle, around which an archive with a storage "0" of 64 bytes is built.
//
//   fuzz_torch_file -max_len=8192 CORPUS tests/reference/golden/torch

#include <string>
#include <utility>

#include "fuzz/memory_file.h"
#include "fuzz/tensor_file_check.h"
#include "io/torch_file.h"

namespace shortlist {
namespace {

template <typename Number>
std::string Bytes(Number value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string Archive(const std::string& pickle) {
  std::string file, directory;
  for (const auto& [name, bytes] :
       {std::pair<std::string, std::string>("a/data.pkl", pickle),
        std::pair<std::string, std::string>("a/data/0", std::string(64, '\1'))}) {
    const auto size = static_cast<uint32_t>(bytes.size());
    const auto name_size = static_cast<uint16_t>(name.size());
    directory += "PK\x01\x02" + std::string(16, '\0') + Bytes(size) + Bytes(size) +
                 Bytes(name_size) + std::string(12, '\0') +
                 Bytes(static_cast<uint32_t>(file.size())) + name;
    file += "PK\x03\x04" + std::string(14, '\0') + Bytes(size) + Bytes(size) + Bytes(name_size) +
            std::string(2, '\0') + name + bytes;
  }
  const auto directory_at = static_cast<uint32_t>(file.size());
  return file + directory + "PK\x05\x06" + std::string(4, '\0') + Bytes(uint16_t{2}) +
         Bytes(uint16_t{2}) + Bytes(static_cast<uint32_t>(directory.size())) + Bytes(directory_at) +
         std::string(2, '\0');
}

}  // namespace
}  // namespace shortlist

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size > 0 && data[0] == 'P' && (size < 2 || data[1] != 'K')) {
    bytes = shortlist::Archive(bytes.substr(1));
  }
  const shortlist::MemoryFile file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const auto opened = shortlist::OpenTorchFile(file.path());
  if (opened.ok()) shortlist::CheckTensors(*opened, bytes.size());
  return 0;
}

#include "io/safetensors_writer.h"

namespace shortlist {

void SafetensorsWriter::Add(const std::string& name, const char* dtype,
                            std::span<const int64_t> shape, std::string_view bytes) {
  header_[name] = {{"dtype", dtype},
                   {"shape", shape},
                   {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
  data_ += bytes;
}

std::string SafetensorsWriter::File() const {
  std::string header = header_.dump();
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string file;
  for (int shift = 0; shift < 64; shift += 8) {
    file.push_back(static_cast<char>(uint64_t{header.size()} >> shift));
  }
  return file + header + data_;
}

}  // namespace shortlist

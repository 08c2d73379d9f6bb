#include "io/safetensors_writer.h"

#include <algorithm>
#include <functional>

#include "base/status_macros.h"

namespace shortlist {
namespace {

/// The bytes before the data: the length of the header, and the header.
std::string BeginOfFile(const nlohmann::ordered_json& object) {
  std::string header = object.dump();
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string begin;
  for (int shift = 0; shift < 64; shift += 8) {
    begin.push_back(static_cast<char>(uint64_t{header.size()} >> shift));
  }
  return begin + header;
}

int64_t ElementBytes(const NewTensor& tensor) {
  int64_t num_elements = 1;
  for (const int64_t extent : tensor.shape) num_elements *= extent;
  return num_elements == 0 ? 0 : tensor.num_bytes / num_elements;
}

}  // namespace

absl::Status WriteSafetensorsFile(const std::string& path, std::vector<NewTensor> tensors) {
  std::ranges::stable_sort(tensors, std::greater<>(), ElementBytes);
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};
  int64_t end = 0;
  for (const NewTensor& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.dtype_name},
                           {"shape", tensor.shape},
                           {"data_offsets", {end, end + tensor.num_bytes}}};
    end += tensor.num_bytes;
  }
  const std::string begin = BeginOfFile(header);
  const auto write = [&](const AppendBytes& append) {
    SHORTLIST_RETURN_IF_ERROR(append(begin));
    for (const NewTensor& tensor : tensors) SHORTLIST_RETURN_IF_ERROR(tensor.write(append));
    return absl::OkStatus();
  };
  return WriteFileAtomically(path, static_cast<int64_t>(begin.size()) + end, write);
}

void SafetensorsWriter::Add(const std::string& name, const char* dtype,
                            std::span<const int64_t> shape, std::string_view bytes) {
  header_[name] = {{"dtype", dtype},
                   {"shape", shape},
                   {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
  data_ += bytes;
}

std::string SafetensorsWriter::File() const { return BeginOfFile(header_) + data_; }

}  // namespace shortlist

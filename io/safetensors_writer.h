#ifndef SHORTLIST_IO_SAFETENSORS_WRITER_H_
#define SHORTLIST_IO_SAFETENSORS_WRITER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace shortlist {

/// Makes a safetensors file in memory.
class SafetensorsWriter {
 public:
  /// Text about the file, by name; before any tensor or behind all.
  void SetMetadata(const std::string& name, const std::string& value) {
    header_["__metadata__"][name] = value;
  }

  /// `name` is new; `dtype` as the format spells it ("F32"); `bytes` row-major, little-endian, as
  /// many as shape and type have.
  void Add(const std::string& name, const char* dtype, std::span<const int64_t> shape,
           std::string_view bytes);

  /// The file of all tensors so far, in the order they came. Data begins at a multiple of 8 bytes.
  std::string File() const;

 private:
  nlohmann::ordered_json header_ = nlohmann::ordered_json::object();
  std::string data_;
};

}  // namespace shortlist

#endif  // SHORTLIST_IO_SAFETENSORS_WRITER_H_

#ifndef SHORTLIST_IO_SAFETENSORS_WRITER_H_
#define SHORTLIST_IO_SAFETENSORS_WRITER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/file_pieces.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// A tensor to be written.
struct NewTensor {
  std::string name;
  std::string dtype_name;  // the format's, "F32"
  std::vector<int64_t> shape;
  int64_t num_bytes = 0;  // row-major, little-endian, of the size that shape and type give
  std::function<absl::Status(const AppendBytes&)> write;  // appends num_bytes
};

/// Writes a safetensors file atomically, piece by piece. Names are distinct. Its metadata is
/// {"format": "pt"}, without which transformers rejects a file. Tensors whose elements have more
/// bytes come first, as PyTorch needs their data aligned. Errors are those of WriteFileAtomically
/// and of `write`.
absl::Status WriteSafetensorsFile(const std::string& path, std::vector<NewTensor> tensors);

/// Builds a safetensors file in memory.
class SafetensorsWriter {
 public:
  /// Adds a named text about the file. May be called before or after Add.
  void SetMetadata(const std::string& name, const std::string& value) {
    header_["__metadata__"][name] = value;
  }

  /// Adds a tensor. `name` is new. `dtype` is the format's name of the type ("F32"). `bytes` are
  /// row-major, little-endian, of the size that shape and type give.
  void Add(const std::string& name, const char* dtype, std::span<const int64_t> shape,
           std::string_view bytes);

  /// Returns the file of all tensors so far, in the order of their Add. Data begin at a multiple of
  /// 8 bytes.
  std::string File() const;

 private:
  nlohmann::ordered_json header_ = nlohmann::ordered_json::object();
  std::string data_;
};

}  // namespace shortlist

#endif  // SHORTLIST_IO_SAFETENSORS_WRITER_H_

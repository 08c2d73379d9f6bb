#include "tests/support/checkpoint_writer.h"

#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "io/safetensors.h"
#include "nlohmann/json.hpp"

namespace shortlist {

StoredTensor MakeTensor(const std::string& name, const std::vector<int64_t>& shape,
                        const std::vector<float>& values, DType dtype) {
  StoredTensor tensor{name, dtype, shape, std::string(values.size() * DTypeBytes(dtype), '\0')};
  for (size_t i = 0; i < values.size(); ++i) {
    StoreFromFloat(tensor.bytes.data(), dtype, static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

std::string SafetensorsBytes(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

std::string SafetensorsBytes(const std::vector<StoredTensor>& tensors) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const StoredTensor& tensor : tensors) {
    const char* const dtype = tensor.dtype == DType::kF32   ? "F32"
                              : tensor.dtype == DType::kF16 ? "F16"
                                                            : "BF16";
    header[tensor.name] = {{"dtype", dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  return SafetensorsBytes(header.dump(), data);
}

absl::Status WriteSafetensors(const std::string& path, const std::vector<StoredTensor>& tensors) {
  return WriteFileAtomically(path, SafetensorsBytes(tensors));
}

absl::StatusOr<std::vector<StoredTensor>> ReadSafetensors(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(const TensorFile file, OpenSafetensors(path));
  std::vector<StoredTensor> tensors;
  for (const auto& [name, entry] : file.entries()) {
    SHORTLIST_CHECK(entry.dtype.has_value());
    StoredTensor tensor{name, *entry.dtype, entry.shape, std::string(entry.num_bytes, '\0')};
    SHORTLIST_RETURN_IF_ERROR(file.Read(entry, 0, entry.num_bytes, tensor.bytes.data()));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

absl::Status WriteModel(const std::string& dir, const nlohmann::json& config,
                        const std::vector<StoredTensor>& tensors) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return absl::UnavailableError(absl::StrCat(dir, ": ", error.message()));
  SHORTLIST_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(dir, "/config.json"), config.dump(1)));
  return WriteSafetensors(absl::StrCat(dir, "/model.safetensors"), tensors);
}

}  // namespace shortlist

#ifndef SHORTLIST_TESTS_SUPPORT_CHECKPOINT_WRITER_H_
#define SHORTLIST_TESTS_SUPPORT_CHECKPOINT_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// A tensor to write, or as read, in its stored form.
struct StoredTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::string bytes;  // little-endian, row-major
};

/// `values`, rounded to `dtype`.
StoredTensor MakeTensor(const std::string& name, const std::vector<int64_t>& shape,
                        const std::vector<float>& values, DType dtype);

/// The file that holds `tensors` in this order: header length, header, data.
std::string SafetensorsBytes(const std::vector<StoredTensor>& tensors);

/// A file with any header and data, honest or not. The length field is the header's own.
std::string SafetensorsBytes(const std::string& header, const std::string& data);

absl::Status WriteSafetensors(const std::string& path, const std::vector<StoredTensor>& tensors);

/// All tensors of a file of F32, F16 and BF16, by name.
absl::StatusOr<std::vector<StoredTensor>> ReadSafetensors(const std::string& path);

/// Writes config.json and model.safetensors into `dir`, which is created.
absl::Status WriteModel(const std::string& dir, const nlohmann::json& config,
                        const std::vector<StoredTensor>& tensors);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SUPPORT_CHECKPOINT_WRITER_H_

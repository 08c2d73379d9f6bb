#ifndef SHORTLIST_TESTS_SUPPORT_TINY_EAGLE3_H_
#define SHORTLIST_TESTS_SUPPORT_TINY_EAGLE3_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tests/support/tiny_llama.h"

namespace shortlist {

/// A tensor of any type, as stored.
struct AnyTensor {
  std::string dtype;  // of safetensors: "F32", "I64", "BOOL"
  std::vector<int64_t> shape;
  std::string bytes;

  static AnyTensor Floats(const std::vector<int64_t>& shape, const std::vector<float>& values);
  static AnyTensor Integers(const std::vector<int64_t>& values);
  static AnyTensor Mask(const std::vector<bool>& values);
};

/// A checkpoint to change before it is written.
struct AnyCheckpoint {
  nlohmann::json config;
  std::map<std::string, AnyTensor> tensors;

  /// Writes config.json and model.safetensors into `dir`, which is created.
  absl::Status Write(const std::string& dir) const;
};

/// A random EAGLE-3 head in the flat format for a target of these options, of its shape, with one
/// layer, three taps and rows for every second token.
AnyCheckpoint TinyEagle3(const TinyLlamaOptions& target, uint64_t seed);

/// Returns the same head in the format of speculators. Layer ids, if there are any, must be
/// boundaries.
AnyCheckpoint AsSpeculators(const AnyCheckpoint& flat);

/// Reads all tensors and config.json of a directory.
absl::StatusOr<AnyCheckpoint> ReadAnyCheckpoint(const std::string& dir);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SUPPORT_TINY_EAGLE3_H_

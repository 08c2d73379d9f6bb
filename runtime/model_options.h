#ifndef SHORTLIST_RUNTIME_MODEL_OPTIONS_H_
#define SHORTLIST_RUNTIME_MODEL_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace shortlist {

/// Where the draft's head is scored; everything else runs on the CPU.
enum class Device { kCpu, kCuda };

struct ModelOptions {
  std::string model;  // a Hugging Face directory, or org/name[@revision] in the local cache
  // Same format as `model`, or "mtp": the MTP layer in the files of `model`; empty: plain decoding.
  std::string draft;
  Device device = Device::kCpu;
  std::optional<DType> dtype;           // nullopt: as in the checkpoint
  std::optional<DType> quantize;        // for linear layers and heads; nullopt: not quantised
  std::optional<DType> quantize_draft;  // for the draft; nullopt: same as `quantize`
  // Layer boundaries of the target that an EAGLE-3 draft reads (StateTaps); nullopt: those that its
  // file implies (Eagle3Config::FitTarget).
  std::optional<std::vector<int64_t>> draft_taps;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_MODEL_OPTIONS_H_

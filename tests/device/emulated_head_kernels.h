#ifndef SHORTLIST_TESTS_DEVICE_EMULATED_HEAD_KERNELS_H_
#define SHORTLIST_TESTS_DEVICE_EMULATED_HEAD_KERNELS_H_

#include <cstdint>

#include "device/device_rows.h"
#include "device/head_kernels.h"
#include "head/head_on_device.h"
#include "tests/kernels/cuda_emulated_machine.h"

namespace shortlist {

/// A device in host memory whose kernels run in the emulator. Tests can make it fail.
class EmulatedHeadKernels : public HeadKernels {
 public:
  at::Device device() const override { return at::kCPU; }

  absl::Status PrepareStates(RowFormat format, int64_t hidden, const float* x,
                             const HeadStates& states) override {
    return Outcome(machine_.PrepareStates(format, hidden, x, states));
  }
  absl::Status Logits(const CudaHeadArgs& args, float* logits, int64_t stride) override {
    *args.error |= flag;
    return Outcome(machine_.HeadLogits(args, logits, stride));
  }
  absl::Status TopK(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                    const HeadTopKOutputs& out) override {
    *args.error |= flag;
    last_noise = noise;
    return Outcome(machine_.HeadTopK(args, k, noise, out));
  }
  absl::Status SelectSketch(const CudaSketchArgs& args) override {
    ++num_selections;
    return Outcome(machine_.SketchSelect(args));
  }

  int64_t num_calls = 0;
  int64_t num_selections = 0;      // of these, rows by a sketch
  int64_t fails_from = INT64_MAX;  // the number of the first call that fails, like all after it
  HeadNoise last_noise;            // of TopK
  int32_t flag = 0;                // HeadErrorBits that every kernel raises

 private:
  absl::Status Outcome(bool taken) {
    if (++num_calls > fails_from) return absl::InternalError("the device is gone");
    return taken ? absl::OkStatus() : absl::InvalidArgumentError("refused");
  }

  EmulatedMachine machine_{/*num_processors=*/2};
};

/// A device whose heads these kernels score.
class EmulatedDevice final : public HeadDevice {
 public:
  explicit EmulatedDevice(std::shared_ptr<HeadKernels> kernels) : kernels_(std::move(kernels)) {}

  absl::StatusOr<std::shared_ptr<const HeadOnDevice>> Copy(
      const HeadWeight& weight) const override {
    return DeviceRows::Copy(weight, kernels_);
  }

 private:
  const std::shared_ptr<HeadKernels> kernels_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_DEVICE_EMULATED_HEAD_KERNELS_H_

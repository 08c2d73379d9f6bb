#ifndef SHORTLIST_TESTS_KERNELS_CUDA_EMULATED_MACHINE_H_
#define SHORTLIST_TESTS_KERNELS_CUDA_EMULATED_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernels/cuda/head_job.h"
#include "tests/kernels/cuda_machine.h"

namespace shortlist {

/// Runs the kernels' templates on the host (tests/kernels/cuda_emulator.h). The launches are those
/// of kernels/cuda/head.cu.
class EmulatedMachine : public CudaMachine {
 public:
  explicit EmulatedMachine(int num_processors) : num_processors_(num_processors) {}

  void* Allocate(size_t bytes) override;
  void Free(void* memory) override;
  void Upload(void* to, const void* from, size_t bytes) override;
  void Download(void* to, const void* from, size_t bytes) override;

  bool PrepareStates(RowFormat format, int64_t hidden, const float* x,
                     const HeadStates& states) override;
  bool HeadLogits(const CudaHeadArgs& args, float* logits, int64_t stride) override;
  bool HeadTopK(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                const HeadTopKOutputs& out) override;
  bool Elementwise(const ElementwiseJob& job) override;
  bool SketchSelect(const CudaSketchArgs& args) override;

 private:
  void Launch(int num_blocks, int num_threads, int64_t shared_bytes,
              const std::function<void(uint8_t*)>& body);
  void Score(const HeadJob& job);
  template <RowFormat kFormat>
  void Score(const HeadJob& job);
  template <RowFormat kFormat, int kRowTiles>
  void Score(const HeadJob& job);
  template <RowFormat kFormat, int kRowTiles, int kTokenTiles>
  void Score(const HeadJob& job);

  const int num_processors_;
  uint32_t seed_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_KERNELS_CUDA_EMULATED_MACHINE_H_

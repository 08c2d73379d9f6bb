#ifndef SHORTLIST_TESTS_KERNELS_CUDA_MACHINE_H_
#define SHORTLIST_TESTS_KERNELS_CUDA_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/elementwise_args.h"
#include "kernels/cuda/head_args.h"
#include "kernels/cuda/sketch_args.h"

namespace shortlist {

/// Where the kernels of kernels/cuda/ run in a test: a GPU, or the host's emulator. Pointers in
/// arguments are the machine's. The calls return false when the launcher refuses them.
class CudaMachine {
 public:
  virtual ~CudaMachine() = default;

  virtual void* Allocate(size_t bytes) = 0;  // aligned to 256
  virtual void Free(void* memory) = 0;
  virtual void Upload(void* to, const void* from, size_t bytes) = 0;
  virtual void Download(void* to, const void* from, size_t bytes) = 0;

  virtual bool PrepareStates(RowFormat format, int64_t hidden, const float* x,
                             const HeadStates& states) = 0;
  virtual bool HeadLogits(const CudaHeadArgs& args, float* logits, int64_t stride) = 0;
  /// The machine brings the workspace.
  virtual bool HeadTopK(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                        const HeadTopKOutputs& out) = 0;
  virtual bool Elementwise(const ElementwiseJob& job) = 0;
  /// The machine brings the workspace.
  virtual bool SketchSelect(const CudaSketchArgs& args) = 0;
};

/// An array in a machine's memory.
template <typename T>
class MachineArray {
 public:
  MachineArray(CudaMachine& machine, size_t size)
      : machine_(&machine), size_(size), data_(static_cast<T*>(machine.Allocate(bytes() + 1))) {}
  MachineArray(CudaMachine& machine, const std::vector<T>& values)
      : MachineArray(machine, values.size()) {
    Set(values);
  }
  MachineArray(const MachineArray&) = delete;
  MachineArray& operator=(const MachineArray&) = delete;
  ~MachineArray() { machine_->Free(data_); }

  void Set(const std::vector<T>& values) {
    if (values.size() > size_) std::abort();
    machine_->Upload(data_, values.data(), values.size() * sizeof(T));
  }
  std::vector<T> Get() const {
    std::vector<T> values(size_);
    machine_->Download(values.data(), data_, bytes());
    return values;
  }
  T* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  size_t bytes() const { return size_ * sizeof(T); }

  CudaMachine* machine_;
  size_t size_;
  T* data_;
};

/// Collects what did not hold.
class Failures {
 public:
  void Expect(bool holds, const std::string& what) {
    if (!holds && messages_.size() < 20) messages_.push_back(what);
    if (!holds) ++count_;
  }
  const std::vector<std::string>& messages() const { return messages_; }
  int count() const { return count_; }

 private:
  std::vector<std::string> messages_;
  int count_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_KERNELS_CUDA_MACHINE_H_

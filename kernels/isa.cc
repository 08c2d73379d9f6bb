#include "kernels/isa.h"

#include <atomic>

#include "kernels/cpu/kernel_table.h"

namespace shortlist {
namespace {

constexpr Isa kAllIsas[] = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16};

bool IsSupported(Isa isa) { return isa <= DetectIsa(); }

std::atomic<Isa>& Selected() {
  static std::atomic<Isa> selected{DetectIsa()};
  return selected;
}

}  // namespace

const char* IsaName(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512_bf16";
  }
  return "unknown";
}

std::optional<Isa> ParseIsa(const std::string& name) {
  for (const Isa isa : kAllIsas) {
    if (name == IsaName(isa)) return isa;
  }
  return std::nullopt;
}

Isa DetectIsa() {
#if defined(SHORTLIST_X86_KERNELS)
  // The compiler's run-time also asks the operating system (XCR0) whether it saves the wide
  // registers.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("f16c")) {
    return Isa::kScalar;
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq")) {
    return Isa::kAvx2;
  }
  // Every processor that has bf16 dot products has those of bytes; the kernels use both.
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni")
             ? Isa::kAvx512Bf16
             : Isa::kAvx512;
#else
  return Isa::kScalar;
#endif
}

Isa CurrentIsa() { return Selected().load(std::memory_order_relaxed); }

bool SetIsa(Isa isa) {
  if (!IsSupported(isa)) return false;
  Selected().store(isa, std::memory_order_relaxed);
  return true;
}

const KernelTable& CurrentKernels() {
#if defined(SHORTLIST_X86_KERNELS)
  switch (CurrentIsa()) {
    case Isa::kScalar:
      return kReferenceKernels;
    case Isa::kAvx2:
      return kAvx2Kernels;
    case Isa::kAvx512:
      return kAvx512Kernels;
    case Isa::kAvx512Bf16:
      return kAvx512Bf16Kernels;
  }
#endif
  return kReferenceKernels;
}

}  // namespace shortlist

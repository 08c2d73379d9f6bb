#include "kernels/isa.h"

#include <atomic>

#include "kernels/cpu/amx_unit.h"
#include "kernels/cpu/kernel_table.h"

namespace shortlist {
namespace {

constexpr Isa kAllIsas[] = {Isa::kScalar, Isa::kAmxPlain,   Isa::kAvx2,
                            Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx};

std::atomic<Isa>& Selected() {
  static std::atomic<Isa> selected{DetectIsa()};
  return selected;
}

}  // namespace

const char* IsaName(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAmxPlain:
      return "amx_plain";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512_bf16";
    case Isa::kAmx:
      return "amx";
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
  // The compiler's runtime also checks (XCR0) that the operating system saves the wide registers.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("f16c")) {
    return Isa::kScalar;
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq")) {
    return Isa::kAvx2;
  }
  // Every processor with bf16 dot products also has byte dot products; the kernels use both.
  if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512vnni")) {
    return Isa::kAvx512;
  }
  return HasAmxUnit() ? Isa::kAmx : Isa::kAvx512Bf16;
#else
  return Isa::kScalar;
#endif
}

std::vector<Isa> SupportedIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : kAllIsas) {
    if (isa <= DetectIsa()) isas.push_back(isa);
  }
  return isas;
}

Isa CurrentIsa() { return Selected().load(std::memory_order_relaxed); }

bool SetIsa(Isa isa) {
  if (isa > DetectIsa()) return false;
  Selected().store(isa, std::memory_order_relaxed);
  return true;
}

const KernelTable& CurrentKernels() {
#if defined(SHORTLIST_X86_KERNELS)
  switch (CurrentIsa()) {
    case Isa::kScalar:
      return kReferenceKernels;
    case Isa::kAmxPlain:
      return kAmxPlainKernels;
    case Isa::kAvx2:
      return kAvx2Kernels;
    case Isa::kAvx512:
      return kAvx512Kernels;
    case Isa::kAvx512Bf16:
      return kAvx512Bf16Kernels;
    case Isa::kAmx:
      return kAmxKernels;
  }
#endif
  return kReferenceKernels;
}

}  // namespace shortlist

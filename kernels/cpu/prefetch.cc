#include "kernels/cpu/prefetch.h"

namespace shortlist {

bool FetchesToSecondLevel() {
#if defined(SHORTLIST_X86_KERNELS)
  // Zen 3 and Zen 4 are of one family, in which only Zen 4 has AVX-512.
  static const bool is_zen4 = __builtin_cpu_is("amdfam19h") && __builtin_cpu_supports("avx512f");
  return is_zen4;
#else
  return false;
#endif
}

}  // namespace shortlist

#ifndef SHORTLIST_KERNELS_CPU_AMX_UNIT_H_
#define SHORTLIST_KERNELS_CPU_AMX_UNIT_H_

namespace shortlist {

/// True if this process may use Intel's AMX with bf16 and bytes: the processor reports it, the
/// operating system grants it (requested once, for all threads), and a test product is correct.
bool HasAmxUnit();

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_AMX_UNIT_H_

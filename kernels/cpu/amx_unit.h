#ifndef SHORTLIST_KERNELS_CPU_AMX_UNIT_H_
#define SHORTLIST_KERNELS_CPU_AMX_UNIT_H_

namespace shortlist {

/// Whether this process may use Intel's AMX with bf16 and bytes: the processor names it, the system
/// grants it (which this asks for, once and for all threads), and a product comes out right.
bool HasAmxUnit();

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_AMX_UNIT_H_

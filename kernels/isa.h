#ifndef SHORTLIST_KERNELS_ISA_H_
#define SHORTLIST_KERNELS_ISA_H_

#include <optional>
#include <string>

namespace shortlist {

/// Instruction sets the CPU kernels come in, weakest first. kScalar is the reference: plain loops,
/// the oracle of every kernel test. Results of one Isa are reproducible bit for bit; two Isas may
/// differ in the last bits.
enum class Isa { kScalar, kAvx2, kAvx512, kAvx512Bf16 };

const char* IsaName(Isa isa);
/// The inverse of IsaName; nullopt for an unknown name.
std::optional<Isa> ParseIsa(const std::string& name);

/// The strongest set that this processor and operating system run.
Isa DetectIsa();

/// The set in use: DetectIsa() until SetIsa changes it.
Isa CurrentIsa();

/// Chooses a set for the whole process; false, and no change, when the processor lacks it. For
/// tests and benches: not while a kernel runs.
bool SetIsa(Isa isa);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_ISA_H_

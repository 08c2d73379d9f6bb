#ifndef SHORTLIST_KERNELS_ISA_H_
#define SHORTLIST_KERNELS_ISA_H_

#include <optional>
#include <string>
#include <vector>

namespace shortlist {

/// Instruction sets of the CPU kernels, weakest first. kScalar is the reference: plain loops, the
/// oracle of every kernel test. kAmxPlain runs kAmx's kernels over AVX2, with the matrix unit
/// emulated by plain loops, for tests on machines without the unit. Results of one Isa are
/// reproducible bit for bit; two Isas may differ in the last bits.
enum class Isa { kScalar, kAmxPlain, kAvx2, kAvx512, kAvx512Bf16, kAmx };

const char* IsaName(Isa isa);
/// The inverse of IsaName; nullopt for an unknown name.
std::optional<Isa> ParseIsa(const std::string& name);

/// Returns the strongest set that this processor and operating system support.
Isa DetectIsa();
/// Returns all sets that the processor and operating system support, weakest first.
std::vector<Isa> SupportedIsas();

/// The set in use: DetectIsa() until SetIsa changes it.
Isa CurrentIsa();

/// Selects a set for the whole process. Returns false, and changes nothing, if the processor lacks
/// the set. For tests and benches. Must not be called while a kernel runs.
bool SetIsa(Isa isa);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_ISA_H_

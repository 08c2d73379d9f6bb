#ifndef SHORTLIST_KERNELS_ISA_H_
#define SHORTLIST_KERNELS_ISA_H_

#include <optional>
#include <string>
#include <vector>

namespace shortlist {

/// Instruction sets the CPU kernels come in, weakest first. kScalar is the reference: plain loops,
/// the oracle of every kernel test. kAmxPlain is kAmx's kernels over AVX2 and a matrix unit in
/// plain loops: for tests, where there is no unit. Results of one Isa are reproducible bit for bit;
/// two Isas may differ in the last bits.
enum class Isa { kScalar, kAmxPlain, kAvx2, kAvx512, kAvx512Bf16, kAmx };

const char* IsaName(Isa isa);
/// The inverse of IsaName; nullopt for an unknown name.
std::optional<Isa> ParseIsa(const std::string& name);

/// The strongest set that this processor and operating system run.
Isa DetectIsa();
/// All that they run, weakest first.
std::vector<Isa> SupportedIsas();

/// The set in use: DetectIsa() until SetIsa changes it.
Isa CurrentIsa();

/// Chooses a set for the whole process; false, and no change, when the processor lacks it. For
/// tests and benches: not while a kernel runs.
bool SetIsa(Isa isa);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_ISA_H_

#ifndef SHORTLIST_TESTS_KERNELS_CUDA_CASES_H_
#define SHORTLIST_TESTS_KERNELS_CUDA_CASES_H_

#include <cstdint>

#include "tests/kernels/cuda_machine.h"

namespace shortlist {

/// How large random cases get: an emulated kernel is some 10^5 times slower than a real one.
struct CaseSizes {
  int num_rounds = 0;
  int64_t min_rows = 1;  // of the vocabulary, and room for as many in the set
  int64_t max_vocab_size = 0;
  int64_t max_hidden = 0;
  int64_t max_tokens = 0;  // at most kHeadMaxTokens
};

// Each runs one kind of case on a machine and notes what does not hold. The oracles are the CPU's
// rows, rounding and order, with sums in double precision.

/// Random heads of every format: logits against the oracle; the same bits for a row in any batch,
/// gathered, in a tail, alone or in the full head; top k, sums of exponentials and draws against
/// the logits; the same bits again when the same arrays hold another set.
void CheckHeads(CudaMachine& machine, uint32_t seed, const CaseSizes& sizes, Failures& failures);

/// Ids out of range, counts and tails that pass their capacity, NaN and infinite hidden states.
void CheckHeadBadInput(CudaMachine& machine, uint32_t seed, Failures& failures);

/// Arguments that are refused: nothing is written.
void CheckHeadRefusals(CudaMachine& machine, Failures& failures);

/// Random sketches: the rows that a full sort on the CPU gives; and arguments that are refused.
void CheckSketches(CudaMachine& machine, uint32_t seed, const CaseSizes& sizes, Failures& failures);

void CheckElementwise(CudaMachine& machine, uint32_t seed, const CaseSizes& sizes,
                      Failures& failures);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_KERNELS_CUDA_CASES_H_

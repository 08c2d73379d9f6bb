// The kernels of kernels/cuda/, run by the emulator: every CI run proves what they compute, on a
// machine without a GPU.

#include "gtest/gtest.h"
#include "kernels/cuda/head_plan.h"
#include "tests/kernels/cuda_cases.h"
#include "tests/kernels/cuda_emulated_machine.h"

namespace shortlist {
namespace {

void ExpectNone(const Failures& failures) {
  EXPECT_EQ(failures.count(), 0);
  for (const std::string& message : failures.messages()) ADD_FAILURE() << message;
}

TEST(CudaKernelsTest, HeadsMatchOracleInAnyBatch) {
  EmulatedMachine machine(/*num_processors=*/3);
  Failures failures;
  CheckHeads(machine, /*seed=*/501,
             {.num_rounds = 8, .max_vocab_size = 250, .max_hidden = 500, .max_tokens = 20},
             failures);
  ExpectNone(failures);
}

TEST(CudaKernelsTest, FewerLargerBlocksMatchOracle) {
  EmulatedMachine machine(/*num_processors=*/2);
  Failures failures;
  CheckHeads(machine, /*seed=*/502,
             {.num_rounds = 6, .max_vocab_size = 250, .max_hidden = 500, .max_tokens = 20},
             failures);
  ExpectNone(failures);
}

TEST(CudaKernelsTest, WideRowsOfManyTokensMatchOracle) {
  EmulatedMachine machine(/*num_processors=*/1);
  Failures failures;
  CheckHeads(machine, /*seed=*/503,
             {.num_rounds = 2, .max_vocab_size = 40, .max_hidden = 5000, .max_tokens = 64},
             failures);
  ExpectNone(failures);
}

TEST(CudaKernelsTest, ManyRowsAreSelectedInParts) {
  EmulatedMachine machine(/*num_processors=*/8);
  Failures failures;
  CheckHeads(machine, /*seed=*/507,
             {.num_rounds = 1,
              .min_rows = 2 * kPartRows,
              .max_vocab_size = 3 * kPartRows,
              .max_hidden = 40,
              .max_tokens = 3},
             failures);
  ExpectNone(failures);
}

TEST(CudaKernelsTest, BadInputIsFlaggedAndHarmless) {
  EmulatedMachine machine(/*num_processors=*/2);
  Failures failures;
  CheckHeadBadInput(machine, /*seed=*/504, failures);
  ExpectNone(failures);
}

TEST(CudaKernelsTest, BadArgumentsAreRejectedBeforeWrites) {
  EmulatedMachine machine(/*num_processors=*/2);
  Failures failures;
  CheckHeadRefusals(machine, failures);
  ExpectNone(failures);
}

TEST(CudaKernelsTest, ElementwiseMatchesOracle) {
  EmulatedMachine machine(/*num_processors=*/1);
  Failures failures;
  CheckElementwise(machine, /*seed=*/505, {.num_rounds = 20}, failures);
  ExpectNone(failures);
}

TEST(CudaKernelsTest, SketchesChooseOracleRows) {
  EmulatedMachine machine(/*num_processors=*/1);
  Failures failures;
  CheckSketches(machine, /*seed=*/506, {.num_rounds = 4, .max_vocab_size = 5000, .max_tokens = 3},
                failures);
  ExpectNone(failures);
}

}  // namespace
}  // namespace shortlist

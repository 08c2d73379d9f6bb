// The kernels of kernels/cuda/, run by the emulator: every CI run proves what they compute, on a
// machine without a GPU.

#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

#include "gtest/gtest.h"
#include "kernels/cuda/elementwise_kernel.h"
#include "kernels/cuda/head_kernel.h"
#include "kernels/cuda/states_kernel.h"
#include "tests/kernels/cuda_cases.h"
#include "tests/kernels/cuda_emulator.h"

namespace shortlist {
namespace {

class EmulatedMachine : public CudaMachine {
 public:
  /// Copies rows as sm_90 does (bulk) or as sm_80 does, and has that device's limits.
  EmulatedMachine(int num_processors, int shared_bytes, bool bulk)
      : device_{num_processors, shared_bytes}, bulk_(bulk) {}

  void* Allocate(size_t bytes) override { return ::operator new (bytes, std::align_val_t{256}); }
  void Free(void* memory) override { ::operator delete (memory, std::align_val_t{256}); }
  void Upload(void* to, const void* from, size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void Download(void* to, const void* from, size_t bytes) override { Upload(to, from, bytes); }

  bool PrepareStates(RowFormat format, int64_t hidden, const float* x,
                     const HeadStates& states) override {
    if (HeadStatesProblem(format, hidden, x, states) != nullptr) return false;
    const StatesJob job{RowLayout::Of(format, hidden), x,
                        static_cast<uint8_t*>(const_cast<void*>(states.codes)),
                        const_cast<float*>(states.scales), const_cast<float*>(states.factors)};
    Launch(static_cast<int>(states.num_tokens), kHeadThreads, kHeadWarps * 4,
           [&](uint8_t* shared) { PrepareState<Emulated>(job, shared); });
    return true;
  }

  bool HeadLogits(const CudaHeadArgs& args, float* logits, int64_t stride) override {
    if (HeadLogitsProblem(args, logits, stride) != nullptr) return false;
    if (args.x.num_tokens == 0) return true;
    HeadJob job = MakeHeadJob(args, /*k=*/0, PlanHead(args, 0, device_), nullptr);
    job.logits = logits;
    job.stride = stride;
    Score(job);
    return true;
  }

  bool HeadTopK(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                const HeadTopKOutputs& out) override {
    if (HeadTopKProblem(args, k, noise, out) != nullptr) return false;
    if (args.x.num_tokens == 0) return true;
    const HeadPlan plan = PlanHead(args, k, device_);
    void* workspace = Allocate(plan.workspace_bytes);
    std::memset(workspace, 0xff, plan.workspace_bytes);
    HeadJob job = MakeHeadJob(args, k, plan, workspace);
    job.noise = noise;
    job.out = out;
    Score(job);
    Launch(static_cast<int>(args.x.num_tokens), kHeadThreads, kMergeSharedBytes,
           [&](uint8_t* shared) { MergeParts<Emulated>(job, shared); });
    Free(workspace);
    return true;
  }

  bool Elementwise(const ElementwiseJob& job) override {
    if (ElementwiseProblem(job) != nullptr) return false;
    Launch(
        static_cast<int>(ElementwiseBlocks(job)), kElementwiseThreads, kElementwiseWarps * 4,
        [&](uint8_t* shared) { RunElementwise<Emulated>(job, reinterpret_cast<float*>(shared)); });
    return true;
  }

 private:
  void Launch(int num_blocks, int num_threads, int64_t shared_bytes,
              const std::function<void(uint8_t*)>& body) {
    Emulated::Launch(num_blocks, num_threads, shared_bytes, ++seed_, body);
  }

  void Score(const HeadJob& job) {
    ASSERT_GT(job.plan.num_blocks, 0);
    switch (job.args.format) {
      case RowFormat::kBf16:
        return Score<RowFormat::kBf16>(job);
      case RowFormat::kF16:
        return Score<RowFormat::kF16>(job);
      case RowFormat::kFp8:
        return Score<RowFormat::kFp8>(job);
      case RowFormat::kInt8:
        return Score<RowFormat::kInt8>(job);
      case RowFormat::kInt4:
        return Score<RowFormat::kInt4>(job);
    }
  }
  template <RowFormat kFormat>
  void Score(const HeadJob& job) {
    if (job.args.x.num_tokens <= kTileTokens) {
      bulk_ ? ScoreTiles<kFormat, 1, true>(job) : ScoreTiles<kFormat, 1, false>(job);
    } else {
      bulk_ ? ScoreTiles<kFormat, kMaxTokenTiles, true>(job)
            : ScoreTiles<kFormat, kMaxTokenTiles, false>(job);
    }
  }
  template <RowFormat kFormat, int kTokenTiles, bool kBulk>
  void ScoreTiles(const HeadJob& job) {
    Launch(job.plan.num_blocks, kHeadThreads, job.plan.shared_bytes, [&](uint8_t* shared) {
      ScoreItems<Emulated, kFormat, kTokenTiles, kBulk>(job, shared);
    });
  }

  const HeadDevice device_;
  const bool bulk_;
  uint32_t seed_ = 0;
};

constexpr int kSm80Shared = 163 << 10, kSm90Shared = 227 << 10;

void ExpectNone(const Failures& failures) {
  EXPECT_EQ(failures.count(), 0);
  for (const std::string& message : failures.messages()) ADD_FAILURE() << message;
}

TEST(CudaKernelsTest, HeadsEqualTheOracleInAnyBatchWithBulkCopies) {
  EmulatedMachine machine(/*num_processors=*/3, kSm90Shared, /*bulk=*/true);
  Failures failures;
  CheckHeads(machine, /*seed=*/501,
             {.num_rounds = 8, .max_vocab_size = 250, .max_hidden = 500, .max_tokens = 20},
             failures);
  ExpectNone(failures);
}

TEST(CudaKernelsTest, HeadsEqualTheOracleInAnyBatchWithSmallCopies) {
  EmulatedMachine machine(/*num_processors=*/2, kSm80Shared, /*bulk=*/false);
  Failures failures;
  CheckHeads(machine, /*seed=*/502,
             {.num_rounds = 6, .max_vocab_size = 250, .max_hidden = 500, .max_tokens = 20},
             failures);
  ExpectNone(failures);
}

TEST(CudaKernelsTest, WideRowsAndManyTokensRunThroughTheRing) {
  EmulatedMachine machine(/*num_processors=*/1, kSm80Shared, /*bulk=*/true);
  Failures failures;
  CheckHeads(machine, /*seed=*/503,
             {.num_rounds = 2, .max_vocab_size = 40, .max_hidden = 5000, .max_tokens = 64},
             failures);
  ExpectNone(failures);
}

TEST(CudaKernelsTest, BadInputIsFlaggedAndHarmless) {
  EmulatedMachine machine(/*num_processors=*/2, kSm90Shared, /*bulk=*/true);
  Failures failures;
  CheckHeadBadInput(machine, /*seed=*/504, failures);
  ExpectNone(failures);
}

TEST(CudaKernelsTest, BadArgumentsAreRefusedBeforeAnyWrite) {
  EmulatedMachine machine(/*num_processors=*/2, kSm90Shared, /*bulk=*/false);
  Failures failures;
  CheckHeadRefusals(machine, failures);
  ExpectNone(failures);
}

TEST(CudaKernelsTest, ElementwiseEqualsTheOracle) {
  EmulatedMachine machine(/*num_processors=*/1, kSm90Shared, /*bulk=*/false);
  Failures failures;
  CheckElementwise(machine, /*seed=*/505, {.num_rounds = 20}, failures);
  ExpectNone(failures);
}

}  // namespace
}  // namespace shortlist

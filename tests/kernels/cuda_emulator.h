#ifndef SHORTLIST_TESTS_KERNELS_CUDA_EMULATOR_H_
#define SHORTLIST_TESTS_KERNELS_CUDA_EMULATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>

namespace shortlist {

/// The Device of the kernels in kernels/cuda/, on the host. Runs one block at a time, each of its
/// threads on its own stack. The order of threads depends on the seed and changes at every barrier
/// and warp operation. Copies into shared memory complete at random: when they are issued or when a
/// thread waits for them. Shared memory starts as NaNs.
///
/// Aborts with a message on a deadlock, on a different operation in the lanes of a warp, on
/// misaligned copies, and on copies without a wait.
class Emulated {
 public:
  /// Runs `body(shared)` for all threads of all blocks; shared: [shared_bytes], aligned to 128.
  /// num_threads: a multiple of 32.
  static void Launch(int num_blocks, int num_threads, int64_t shared_bytes, uint32_t seed,
                     const std::function<void(uint8_t*)>& body);

  static int Thread();
  static int Block();
  static int Lane() { return Thread() % 32; }
  static int Warp() { return Thread() / 32; }

  static void SyncBlock();
  static void SyncWarp();
  static uint64_t Shuffle(uint64_t value, int lane);
  static float Shuffle(float value, int lane);
  static uint64_t ShuffleUp(uint64_t value, int distance);
  static float ShuffleUp(float value, int distance);
  static uint64_t ShuffleXor(uint64_t value, int distance);
  static float ShuffleXor(float value, int distance);
  static uint32_t Ballot(bool value);
  static int FirstLane(uint32_t lanes);
  static uint32_t WarpMax(uint32_t value);

  static void LoadOnce16(const void* global, uint32_t (&words)[4]);
  static void CopyAsync16(void* shared, const void* global, bool inside);
  static void CommitCopies();
  template <int kPending>
  static void WaitCopies() {
    WaitCopies(kPending);
  }

  // mma.sync m16n8k16 and m16n8k32, fragments as PTX ISA 8.7, 9.7.14.5 lays them out.
  static void MultiplyBf16(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                           uint32_t b0, uint32_t b1);
  static void MultiplyF16(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                          uint32_t b0, uint32_t b1);
  static void MultiplyInt8(int32_t (&sums)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                           uint32_t b0, uint32_t b1);

  static void Flag(int32_t* word, int32_t bit) { *word |= bit; }
  static void AddShared(uint32_t* word) { ++*word; }
  static int32_t DotBytes(uint32_t a, uint32_t b, int32_t sum) {
    for (int i = 0; i < 32; i += 8)
      sum += static_cast<int8_t>(a >> i) * static_cast<int8_t>(b >> i);
    return sum;
  }
  static uint16_t Bf16Bits(float value);
  static uint16_t F16Bits(float value);
  static float F16Value(uint16_t bits);

 private:
  static void WaitCopies(int num_pending);
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_KERNELS_CUDA_EMULATOR_H_

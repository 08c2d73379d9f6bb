#ifndef SHORTLIST_KERNELS_CUDA_DEVICE_CUH_
#define SHORTLIST_KERNELS_CUDA_DEVICE_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace shortlist {

/// The Device of the kernels in this folder for a GPU: PTX ISA 8.0. Blocks are one-dimensional, and
/// all lanes of a warp take part in warp operations.
struct CudaDevice {
  static constexpr unsigned kAllLanes = 0xffffffffu;

  __device__ static int Thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int Block() { return static_cast<int>(blockIdx.x); }
  __device__ static int Lane() { return static_cast<int>(threadIdx.x % 32); }
  __device__ static int Warp() { return static_cast<int>(threadIdx.x / 32); }

  __device__ static void SyncBlock() { __syncthreads(); }
  __device__ static void SyncWarp() { __syncwarp(); }
  __device__ static uint64_t Shuffle(uint64_t value, int lane) {
    return __shfl_sync(kAllLanes, static_cast<unsigned long long>(value), lane);
  }
  __device__ static float Shuffle(float value, int lane) {
    return __shfl_sync(kAllLanes, value, lane);
  }
  __device__ static uint64_t ShuffleUp(uint64_t value, int distance) {
    return __shfl_up_sync(kAllLanes, static_cast<unsigned long long>(value), distance);
  }
  __device__ static float ShuffleUp(float value, int distance) {
    return __shfl_up_sync(kAllLanes, value, distance);
  }
  __device__ static uint64_t ShuffleXor(uint64_t value, int distance) {
    return __shfl_xor_sync(kAllLanes, static_cast<unsigned long long>(value), distance);
  }
  __device__ static float ShuffleXor(float value, int distance) {
    return __shfl_xor_sync(kAllLanes, value, distance);
  }
  __device__ static uint32_t Ballot(bool value) { return __ballot_sync(kAllLanes, value); }
  __device__ static int FirstLane(uint32_t lanes) { return __ffs(static_cast<int>(lanes)) - 1; }
  __device__ static uint32_t WarpMax(uint32_t value) { return __reduce_max_sync(kAllLanes, value); }

  /// Loads 16 aligned bytes. Nothing writes them while the kernel runs, and nothing reads them
  /// again.
  __device__ static void LoadOnce16(const void* global, uint32_t (&words)[4]) {
    // volatile: keeps loads before the products that follow them.
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "l"(global));
  }
  /// Copies to shared memory, or writes zeros if not `inside`. The copies of a thread form groups.
  __device__ static void CopyAsync16(void* shared, const void* global, bool inside) {
    const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global),
                 "r"(inside ? 16 : 0)
                 : "memory");
  }
  __device__ static void CommitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  /// Waits until at most kPending groups of this thread are in flight.
  template <int kPending>
  __device__ static void WaitCopies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
  }

  __device__ static void MultiplyBf16(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                      uint32_t a3, uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  __device__ static void MultiplyF16(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                     uint32_t a3, uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  __device__ static void MultiplyInt8(int32_t (&sums)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                      uint32_t a3, uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }

  __device__ static void Flag(int32_t* word, int32_t bit) { atomicOr(word, bit); }
  __device__ static void AddShared(uint32_t* word) { atomicAdd(word, 1u); }
  /// Returns sum plus the four products of signed bytes.
  __device__ static int32_t DotBytes(uint32_t a, uint32_t b, int32_t sum) {
    return __dp4a(static_cast<int>(a), static_cast<int>(b), sum);
  }
  __device__ static uint16_t Bf16Bits(float value) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
  }
  __device__ static uint16_t F16Bits(float value) {
    return __half_as_ushort(__float2half_rn(value));
  }
  __device__ static float F16Value(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_DEVICE_CUH_

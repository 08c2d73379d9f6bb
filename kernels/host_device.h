#ifndef SHORTLIST_KERNELS_HOST_DEVICE_H_
#define SHORTLIST_KERNELS_HOST_DEVICE_H_

/// Attributes of functions that the CUDA compiler also compiles. SHORTLIST_HOST_DEVICE functions
/// run on host and device; SHORTLIST_DEVICE functions are parts of a kernel. A C++ compiler sees
/// plain functions. The tests use this to run kernels without a GPU
/// (tests/kernels/cuda_emulator.h).
///
/// SHORTLIST_DEVICE_UNROLL: the following loop indexes registers, so it must be unrolled.
/// SHORTLIST_DEVICE_LOOP and SHORTLIST_DEVICE_CALL prevent unrolling and inlining: a kernel that
/// runs once spends longer fetching its instructions than running them.
#if defined(__CUDACC__)
#define SHORTLIST_HOST_DEVICE __host__ __device__
#define SHORTLIST_DEVICE __device__
#define SHORTLIST_DEVICE_UNROLL _Pragma("unroll")
#define SHORTLIST_DEVICE_LOOP _Pragma("unroll 1")
#define SHORTLIST_DEVICE_CALL __device__ __noinline__
#else
#define SHORTLIST_HOST_DEVICE
#define SHORTLIST_DEVICE
#define SHORTLIST_DEVICE_UNROLL
#define SHORTLIST_DEVICE_LOOP
#define SHORTLIST_DEVICE_CALL
#endif

#endif  // SHORTLIST_KERNELS_HOST_DEVICE_H_

#ifndef SHORTLIST_KERNELS_HOST_DEVICE_H_
#define SHORTLIST_KERNELS_HOST_DEVICE_H_

/// Marks of functions that the CUDA compiler sees too: SHORTLIST_HOST_DEVICE run on both sides,
/// SHORTLIST_DEVICE are parts of a kernel. To a C++ compiler both are plain functions, which is how
/// the tests run kernels without a GPU (tests/kernels/cuda_emulator.h).
///
/// SHORTLIST_DEVICE_UNROLL: the loop that follows indexes registers, so it has to go.
/// SHORTLIST_DEVICE_LOOP and SHORTLIST_DEVICE_CALL: the loop, the call stays one, since a kernel
/// that runs once waits longer for its instructions than it takes to run them.
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

#ifndef SHORTLIST_RUNTIME_KV_POOL_SIZE_H_
#define SHORTLIST_RUNTIME_KV_POOL_SIZE_H_

#include <cstdint>
#include <string>

namespace shortlist {

/// Memory that this process can still use, in bytes: what the system can give without swapping, or
/// less if the control groups of this process (version 1 or 2) allow less. File pages count as
/// free, since they are reclaimed first. `root`: root of the file system. Returns the largest
/// int64_t if neither can be read.
int64_t FreeMemoryBytes(const std::string& root = "/");

/// Chooses the number of KV slots for a server: four requests of `context_length` tokens, but at
/// least 16,384 slots, limited to half of `free_bytes`. One such request may use up to nine tenths.
/// The result is at least 1 and at most 2^28. `slot_bytes`: bytes of one slot in all models; at
/// least 1.
int64_t ChooseNumSlots(int64_t free_bytes, int64_t slot_bytes, int64_t context_length);

/// Limits the number of running requests so that their states in recurrent layers, `state_bytes`
/// each (at least 1), fit a quarter of `free_bytes`. At least 1, at most `wanted`.
int64_t LimitRunning(int64_t free_bytes, int64_t state_bytes, int64_t wanted);

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_KV_POOL_SIZE_H_

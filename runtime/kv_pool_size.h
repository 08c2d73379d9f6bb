#ifndef SHORTLIST_RUNTIME_KV_POOL_SIZE_H_
#define SHORTLIST_RUNTIME_KV_POOL_SIZE_H_

#include <cstdint>
#include <string>

namespace shortlist {

/// Memory that this process may still take, in bytes: what the system could give without swapping,
/// or less where the control groups of this process leave less (version 1 or 2; file pages count as
/// free, since they are given back first). `root` is the file system's. The largest number where
/// neither can be read.
int64_t FreeMemoryBytes(const std::string& root = "/");

/// KV slots for a server: four requests of `context_length` tokens, but at least 16,384 slots, as
/// far as half of `free_bytes` holds them; one such request as far as nine tenths do. At least 1,
/// at most 2^28. `slot_bytes`: of one slot, in all models; at least 1.
int64_t ChooseNumSlots(int64_t free_bytes, int64_t slot_bytes, int64_t context_length);

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_KV_POOL_SIZE_H_

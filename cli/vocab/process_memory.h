#ifndef SHORTLIST_CLI_VOCAB_PROCESS_MEMORY_H_
#define SHORTLIST_CLI_VOCAB_PROCESS_MEMORY_H_

#include <cstdint>

namespace shortlist {

/// Memory of this process as counted by the kernel. All zero if unavailable.
struct ProcessMemory {
  int64_t resident_bytes = 0;
  int64_t peak_bytes = 0;  // most resident bytes since start or ResetPeak()

  static ProcessMemory Read();
  /// Resets the peak. False if the kernel does not allow that.
  static bool ResetPeak();
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_PROCESS_MEMORY_H_

#ifndef SHORTLIST_CLI_VOCAB_PROCESS_MEMORY_H_
#define SHORTLIST_CLI_VOCAB_PROCESS_MEMORY_H_

#include <cstdint>

namespace shortlist {

/// What the kernel counts of this process's memory. All zero where it does not tell.
struct ProcessMemory {
  int64_t resident_bytes = 0;
  int64_t peak_bytes = 0;  // the most that was resident since the process began, or ResetPeak

  static ProcessMemory Read();
  /// Lets the peak begin anew. False where the kernel does not allow that.
  static bool ResetPeak();
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_PROCESS_MEMORY_H_

#include "cli/vocab/process_memory.h"

#include <fstream>
#include <string>

namespace shortlist {

ProcessMemory ProcessMemory::Read() {
  ProcessMemory memory;
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    int64_t kib = 0;
    if (word == "VmRSS:" && status >> kib) memory.resident_bytes = kib << 10;
    if (word == "VmHWM:" && status >> kib) memory.peak_bytes = kib << 10;
  }
  return memory;
}

bool ProcessMemory::ResetPeak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;  // proc(5)
  return file.good();
}

}  // namespace shortlist

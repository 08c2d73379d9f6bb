#ifndef SHORTLIST_FUZZ_MEMORY_FILE_H_
#define SHORTLIST_FUZZ_MEMORY_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"

namespace shortlist {

/// A file in memory with `size` bytes, for readers that take a path.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    SHORTLIST_CHECK(descriptor_ >= 0);
    SHORTLIST_CHECK(write(descriptor_, data, size) == static_cast<ssize_t>(size));
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace shortlist

#endif  // SHORTLIST_FUZZ_MEMORY_FILE_H_

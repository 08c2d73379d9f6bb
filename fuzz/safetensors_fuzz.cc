// Safetensors files: open, then read every tensor.
//
//   fuzz_safetensors -max_len=4096 CORPUS tests/reference/golden/packed

#include "fuzz/memory_file.h"
#include "fuzz/tensor_file_check.h"
#include "io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const shortlist::MemoryFile file(data, size);
  const auto opened = shortlist::OpenSafetensors(file.path());
  if (opened.ok()) shortlist::CheckTensors(*opened, size);
  return 0;
}

// GGUF files: open as a model, then read every tensor.
//
//   fuzz_gguf -max_len=8192 CORPUS fuzz/seeds/gguf

#include <string>

#include "base/check.h"
#include "fuzz/memory_file.h"
#include "io/gguf/gguf_file.h"
#include "io/gguf/gguf_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const shortlist::MemoryFile file(data, size);
  const auto opened = shortlist::GgufFile::Open(file.path());
  if (!opened.ok()) return 0;
  const shortlist::TensorFile tensors(opened->file, opened->tensors);
  for (const auto& [name, entry] : tensors.entries()) {
    std::string bytes(static_cast<size_t>(entry.num_bytes), '\0');
    SHORTLIST_CHECK(tensors.Read(entry, 0, entry.num_bytes, bytes.data()).ok());
  }
  const auto source = shortlist::OpenGguf(file.path());
  if (!source.ok()) return 0;
  const auto weights = (*source)->OpenWeights("");
  SHORTLIST_CHECK(weights.ok());
  for (const auto& [name, location] : weights->tensors()) {
    std::string bytes(static_cast<size_t>(location.entry->num_bytes), '\0');
    SHORTLIST_CHECK(weights->file(location)
                        .Read(*location.entry, 0, location.entry->num_bytes, bytes.data())
                        .ok());
  }
  return 0;
}

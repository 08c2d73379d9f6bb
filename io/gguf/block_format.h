#ifndef SHORTLIST_IO_GGUF_BLOCK_FORMAT_H_
#define SHORTLIST_IO_GGUF_BLOCK_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/dtype.h"

namespace shortlist {

class RawFile;
struct TensorEntry;

/// A type of GGUF tensors (ggml_type). A row is a whole number of blocks. Layouts:
/// https://github.com/ggml-org/llama.cpp, ggml/src/ggml-common.h.
struct BlockFormat {
  const char* name;  // as in llama.cpp: "Q4_K"
  uint32_t id;
  int64_t num_elements;  // of a block
  int64_t num_bytes;     // of a block
  DType dtype;           // type that values are read as: f32, f16 and bf16 as stored, others bf16
  // Writes the values of one block, in f32 and exact. Null: blocks are one element of `dtype`.
  void (*decode)(const uint8_t* block, float* values);
};

/// Returns the format with this id; null if it is not supported.
const BlockFormat* FindBlockFormat(uint32_t id);
/// "IQ2_XXS" for a type without support too; "type 99" for an unknown one.
std::string BlockFormatName(uint32_t id);
/// The supported names, for messages.
std::string SupportedBlockFormats();

/// TensorFile::Read for an entry with a BlockFormat. Decoded values are rounded to nearest, ties to
/// even.
absl::Status ReadBlocks(const RawFile& file, const TensorEntry& entry, int64_t begin, int64_t count,
                        char* out);

}  // namespace shortlist

#endif  // SHORTLIST_IO_GGUF_BLOCK_FORMAT_H_

#ifndef SHORTLIST_IO_GGUF_BLOCK_FORMAT_H_
#define SHORTLIST_IO_GGUF_BLOCK_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/dtype.h"

namespace shortlist {

class RawFile;
struct TensorEntry;

/// A type of GGUF tensors (ggml_type). A row is a whole number of blocks (base/weight_block.h), or
/// single elements of f32, f16 or bf16.
struct BlockFormat {
  uint32_t id;
  DType stored;

  const char* name() const;  // as in llama.cpp: "Q4_K"
  /// Elements and bytes of a block.
  int64_t num_elements() const;
  int64_t num_bytes() const;
  /// Type that values are read as: f32, f16 and bf16 as stored, blocks as bf16.
  DType dtype() const { return IsBlocked(stored) ? DType::kBf16 : stored; }
};

/// Returns the format with this id; null if it is not supported.
const BlockFormat* FindBlockFormat(uint32_t id);
/// "IQ2_XXS" for a type without support too; "type 99" for an unknown one.
std::string BlockFormatName(uint32_t id);
/// The supported names, for messages.
std::string SupportedBlockFormats();

/// TensorFile::Read for an entry with a BlockFormat. Decoded values are rounded to nearest, ties to
/// even.
absl::Status ReadDecoded(const RawFile& file, const TensorEntry& entry, int64_t begin,
                         int64_t count, char* out);

/// Copies the stored blocks of rows [first, first + count) of an entry whose format is of blocks,
/// in the order of the entry's rows.
absl::Status ReadBlockRows(const RawFile& file, const TensorEntry& entry, int64_t first,
                           int64_t count, char* out);

}  // namespace shortlist

#endif  // SHORTLIST_IO_GGUF_BLOCK_FORMAT_H_

#ifndef SHORTLIST_BASE_WEIGHT_BLOCK_H_
#define SHORTLIST_BASE_WEIGHT_BLOCK_H_

#include <cstdint>

#include "base/dtype.h"

namespace shortlist {

/// A type of weights in blocks, as GGUF files store them. A row is a whole number of blocks, and a
/// block is 1 or 8 groups of 32 weights. Layouts:
/// https://github.com/ggml-org/llama.cpp, ggml/src/ggml-common.h.
struct BlockType {
  const char* name;      // as in llama.cpp: "Q4_K"
  int64_t num_elements;  // of a block: 32 or 256
  int64_t num_bytes;     // of a block as stored
  int code_bits;         // of a weight: 4, 5, 6 or 8
  int zero;              // the code of weight 0, if there are no mins and no levels
  bool has_mins;         // weight = scale * code + min
  int num_scales;        // of a group: 1, or 2, each for 16 weights
  const int8_t* levels;  // [16]: weight = scale * levels[code]; null: codes are numbers
  int scale_offset;      // of the f16 scale in a stored block; the f16 min, if any, is at 2

  int64_t num_groups() const { return num_elements / kGroup; }
  /// True if the scales of a group are codes, to be multiplied by a scale of the block.
  bool has_scale_codes() const { return num_elements > kGroup; }

  static constexpr int64_t kGroup = 32;
};

/// The levels of IQ4_NL.
inline constexpr int8_t kIq4NlLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                            1,    13,   25,  38,  53,  69,  89,  113};

/// Precondition: IsBlocked(dtype).
const BlockType& BlockTypeOf(DType dtype);

/// One block, taken apart. The scale of 32 / num_scales weights is
///   F16ToFloat(scale), times their scale code if there are scale codes; the min likewise.
struct BlockParts {
  uint8_t codes[256];      // [num_elements]; of 8 bits: the stored signed code + 128
  uint16_t scale, min;     // f16 bits; min is 0 if there are no mins
  int8_t scale_codes[16];  // [num_groups * num_scales]
  uint8_t min_codes[8];    // [num_groups]
};

/// Reads one stored block of BlockTypeOf(dtype).num_bytes.
void ReadBlock(DType dtype, const uint8_t* block, BlockParts& parts);

/// Writes the weights of one stored block, in f32: [num_elements].
void DecodeBlock(DType dtype, const uint8_t* block, float* values);

}  // namespace shortlist

#endif  // SHORTLIST_BASE_WEIGHT_BLOCK_H_

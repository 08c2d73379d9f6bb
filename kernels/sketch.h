#ifndef SHORTLIST_KERNELS_SKETCH_H_
#define SHORTLIST_KERNELS_SKETCH_H_

#include <cstdint>

#include "kernels/host_device.h"

namespace shortlist {

class ThreadPool;

/// Rows of a panel. Their codes are interleaved, so that one vector holds codes of several rows.
inline constexpr int64_t kSketchPanelRows = 16;
/// Ranks are multiples of kSketchStep, up to kMaxSketchRank: kSketchStep codes fill four bytes.
inline constexpr int64_t kSketchStep = 8;
inline constexpr int64_t kMaxSketchRank = 256;
inline constexpr float kMaxSketchScale = 1e20f;

/// A head in few dimensions: each row is `rank` codes of four bits and a scale. Does not own
/// memory.
struct SketchRows {
  // [panels][rank / 8][16 rows][4 bytes], codes in [-7, 7] stored as code + 8: byte b of step s
  // holds code 8 s + b in its low nibble and code 8 s + 4 + b in its high nibble. The last panel
  // has full size; the contents of its missing rows do not matter.
  const uint8_t* codes = nullptr;
  const uint16_t* scales = nullptr;  // bf16, in [0, kMaxSketchScale]: [panels][16]
  int64_t num_rows = 0;
  int64_t rank = 0;

  SHORTLIST_HOST_DEVICE int64_t num_panels() const {
    return (num_rows + kSketchPanelRows - 1) / kSketchPanelRows;
  }
};

/// Further dimensions of the same rows, stored row by row, with their own scales. Read only for the
/// few rows that the first dimensions choose. Does not own memory.
inline constexpr int64_t kSketchFineRank = 128;
struct SketchFine {
  // [num_rows][kSketchFineRank / 2], aligned to 64 bytes, so that a row is one cache line. Codes
  // are packed into bytes as in SketchRows.
  const uint8_t* codes = nullptr;
  const uint16_t* scales = nullptr;  // bf16, in [0, kMaxSketchScale]
};

/// Describes how one token's rows compete: by score, or, if inverse_temperature is above 0, by
///   score * inverse_temperature + Gumbel noise of (seed, position, row).
/// For noise that makes a row a likely winner, this noise is within 0.06 of SampleRaceCpu's
/// (kernels/sampling.h) in stream 0. Noise that holds a row back is treated as 0 at most. So a
/// token drawn from all rows is likely to be among the chosen rows.
struct SketchRace {
  float inverse_temperature = 0.0f;  // finite; beyond about 1e6 noise is negligible
  uint64_t seed = 0;
  int64_t position = 0;
};

/// Chooses the `num_chosen` best rows of each token, without a sort, in one pass over the codes for
/// all tokens. query: [num_tokens, rank], the hidden states in the sketch's dimensions, which are
/// rounded to int8. A row's score is scale * (codes . query). races: [num_tokens], or null: all
/// tokens use the score alone.
///
/// ids: [num_tokens, num_chosen], ascending for each token; ties at the border go to the lower ids.
/// If a query is not finite, all its rows tie. num_chosen is in [0, num_rows]. The chosen rows
/// depend only on that token's query and race, not on threads, other tokens or the instruction set.
void SketchSelectCpu(const SketchRows& rows, const float* query, const SketchRace* races,
                     int64_t num_tokens, int64_t num_chosen, int32_t* ids, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_SKETCH_H_

#ifndef SHORTLIST_KERNELS_SKETCH_H_
#define SHORTLIST_KERNELS_SKETCH_H_

#include <cstdint>

#include "kernels/host_device.h"

namespace shortlist {

class ThreadPool;

/// Rows of a panel: their codes lie side by side, so that one vector holds those of several rows.
inline constexpr int64_t kSketchPanelRows = 16;
/// Ranks are multiples of kSketchStep, up to kMaxSketchRank: so many codes are four bytes.
inline constexpr int64_t kSketchStep = 8;
inline constexpr int64_t kMaxSketchRank = 256;
inline constexpr float kMaxSketchScale = 1e20f;

/// A head in few dimensions: each row is `rank` codes of four bits and a scale. A view.
struct SketchRows {
  // [panels][rank / 8][16 rows][4 bytes], codes in [-7, 7] stored as code + 8: byte b of step s
  // holds code 8 s + b in its low half, code 8 s + 4 + b in the high one. The last panel is whole;
  // what its missing rows hold does not matter.
  const uint8_t* codes = nullptr;
  const uint16_t* scales = nullptr;  // bf16, in [0, kMaxSketchScale]: [panels][16]
  int64_t num_rows = 0;
  int64_t rank = 0;

  SHORTLIST_HOST_DEVICE int64_t num_panels() const {
    return (num_rows + kSketchPanelRows - 1) / kSketchPanelRows;
  }
};

/// Further dimensions of the same rows, row by row, with scales of their own: looked at for the few
/// rows that the first ones choose. A view.
inline constexpr int64_t kSketchFineRank = 128;
struct SketchFine {
  // [num_rows][kSketchFineRank / 2], aligned to 64 bytes, so that a row is one cache line; the
  // codes of four bytes as in SketchRows.
  const uint8_t* codes = nullptr;
  const uint16_t* scales = nullptr;  // bf16, in [0, kMaxSketchScale]
};

/// How one token's rows compete: by score, or, with inverse_temperature above 0, by
///   score * inverse_temperature + Gumbel noise of (seed, position, row)
/// where the noise is, to within 0.06, the one that SampleRaceCpu (kernels/sampling.h) has in
/// stream 0 where it makes a row a likely winner; noise that holds a row back is taken for 0 at
/// the most. So what is drawn from all rows is likely among those that are chosen.
struct SketchRace {
  float inverse_temperature = 0.0f;  // finite; beyond 1e6 or so noise is nothing beside scores
  uint64_t seed = 0;
  int64_t position = 0;
};

/// Chooses the `num_chosen` best rows of each token, without a sort and in one pass over the codes
/// for all of them. query: [num_tokens, rank], the hidden states in the sketch's dimensions, which
/// are rounded to int8: a row's score is scale * (codes . query). races: [num_tokens], or null: all
/// go by score.
///
/// ids: [num_tokens, num_chosen], a token's ascending; ties at the border go to the lower ids. To a
/// query that is not finite all rows are alike. num_chosen is in [0, num_rows]. Which rows are
/// chosen depends on that token's query and race alone, not on threads, neighbours, or the
/// instruction set.
void SketchSelectCpu(const SketchRows& rows, const float* query, const SketchRace* races,
                     int64_t num_tokens, int64_t num_chosen, int32_t* ids, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_SKETCH_H_

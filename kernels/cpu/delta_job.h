#ifndef SHORTLIST_KERNELS_CPU_DELTA_JOB_H_
#define SHORTLIST_KERNELS_CPU_DELTA_JOB_H_

#include <cstdint>

namespace shortlist {

/// Steps of the delta rule of one value head, over consecutive tokens (kernels/delta_net.h).
struct DeltaRuleJob {
  float* state = nullptr;  // in panels of DeltaNetShape::kPanelColumns; updated
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  int64_t num_tokens = 0;
  const float* queries = nullptr;  // [num_tokens, key_dim]
  const float* keys = nullptr;     // [num_tokens, key_dim]
  const float* values = nullptr;   // row t at t * value_stride
  int64_t value_stride = 0;
  const float* decay = nullptr;  // [num_tokens]
  const float* beta = nullptr;   // [num_tokens]
  float* out = nullptr;          // row t at t * out_stride; null: no results wanted
  int64_t out_stride = 0;
};

/// The convolution of one token over some of its channels, and its SiLU: out[i] = SiLU(sum over j
/// of weights[j * stride + first + i] * rows[j][first + i]).
struct CausalConvJob {
  const float* const* rows = nullptr;  // [num_taps]
  const float* weights = nullptr;      // [num_taps, stride]
  int64_t num_taps = 0;
  int64_t stride = 0;
  int64_t first = 0;
  int64_t count = 0;
  float* out = nullptr;  // [count]
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_DELTA_JOB_H_

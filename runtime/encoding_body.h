#ifndef SHORTLIST_RUNTIME_ENCODING_BODY_H_
#define SHORTLIST_RUNTIME_ENCODING_BODY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "embed/hidden_states.h"
#include "io/model_source.h"
#include "kernels/matrix.h"
#include "model/checkpoint/clip_config.h"
#include "model/checkpoint/encoder_config.h"
#include "model/decoder.h"
#include "router/encoding_loop.h"
#include "runtime/causal_encoder.h"

namespace shortlist {

/// Items of one pass of an EncodingModel.
using EncodingItems = std::span<const EncodingLoop::Item>;

/// Hidden states of a pass, items concatenated.
struct EncodedStates {
  Matrix data;                     // [num_tokens, hidden] f32, on the CPU
  std::vector<int32_t> seq_begin;  // [num_items + 1]
  bool last_alone = false;         // one state per item: that of its last token

  HiddenStates view() const { return {data.floats(), data.cols(), seq_begin}; }
};

/// Computes hidden states of inputs: an encoder, or a decoder used as one. One call of Run() at a
/// time.
class EncodingBody {
 public:
  virtual ~EncodingBody() = default;

  /// Loads the model that config.json describes. `pool` must outlive the result. Errors as
  /// for Encoder::Load and Decoder::Load; ResourceExhausted if there is no memory for a decoder's
  /// KV.
  static absl::StatusOr<std::unique_ptr<EncodingBody>> Load(const ModelSource& source,
                                                            std::optional<DType> dtype,
                                                            std::optional<DType> quantize,
                                                            ThreadPool& pool);
  /// `decoder` must outlive the result and must not be called during Run().
  static std::unique_ptr<EncodingBody> Over(Decoder& decoder);

  /// For a decoder, only the fields that it has in common with an encoder.
  virtual const EncoderConfig& config() const = 0;
  /// Type of the embeddings; and of the linear layers.
  virtual DType dtype() const = 0;
  virtual DType weight_dtype() const = 0;
  /// Checkpoint::warning() of the weights.
  virtual std::string warning() const = 0;

  /// Returns the states of all tokens. If `last_alone`, a decoder returns only those of last tokens
  /// and computes shared prefixes once. nullopt: not done; call again with the same items and
  /// `goes_on`.
  virtual absl::StatusOr<std::optional<EncodedStates>> Run(EncodingItems items, bool last_alone,
                                                           bool goes_on) = 0;

  /// Null for an encoder.
  virtual const Decoder* decoder() const { return nullptr; }
  virtual const CausalEncoder::Stats* prefixes() const { return nullptr; }
  /// Null unless the model also reads pictures.
  virtual const ClipConfig* clip() const { return nullptr; }
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_ENCODING_BODY_H_

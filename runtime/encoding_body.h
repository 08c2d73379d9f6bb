#ifndef SHORTLIST_RUNTIME_ENCODING_BODY_H_
#define SHORTLIST_RUNTIME_ENCODING_BODY_H_

#include <ATen/core/Tensor.h>

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
#include "model/checkpoint/clip_config.h"
#include "model/checkpoint/encoder_config.h"
#include "model/decoder.h"
#include "router/encoding_loop.h"
#include "runtime/causal_encoder.h"

namespace shortlist {

/// Items of one pass of an EncodingModel.
using EncodingItems = std::span<const EncodingLoop::Item>;

/// Hidden states of a pass, items one behind the other.
struct EncodedStates {
  at::Tensor data;                 // [num_tokens, hidden] f32, on the CPU
  std::vector<int32_t> seq_begin;  // [num_items + 1]
  bool last_alone = false;         // one for each item: its last token's

  HiddenStates view() const { return {data.data_ptr<float>(), data.size(1), seq_begin}; }
};

/// What computes hidden states of inputs: an encoder, or a decoder that is used as one. One call of
/// Run at a time.
class EncodingBody {
 public:
  virtual ~EncodingBody() = default;

  /// That of config.json. `pool` must outlive it. Errors as Encoder::Load and
  /// Decoder::Load; ResourceExhausted where a decoder has no room for keys and values.
  static absl::StatusOr<std::unique_ptr<EncodingBody>> Load(const ModelSource& source,
                                                            std::optional<DType> dtype,
                                                            std::optional<DType> quantize,
                                                            ThreadPool& pool);
  /// `decoder` must outlive it, and have no call beside one of Run.
  static std::unique_ptr<EncodingBody> Over(Decoder& decoder);

  /// Of a decoder, as far as an encoder's has the field.
  virtual const EncoderConfig& config() const = 0;
  /// Of the embeddings, and of the linear layers.
  virtual DType dtype() const = 0;
  virtual DType weight_dtype() const = 0;

  /// States of all tokens; where `last_alone` is asked for, a decoder, which computes what inputs
  /// share once then, gives those of last tokens. nullopt: there is more to do, and the same items
  /// come again with `goes_on`.
  virtual absl::StatusOr<std::optional<EncodedStates>> Run(EncodingItems items, bool last_alone,
                                                           bool goes_on) = 0;

  /// Null for an encoder.
  virtual const Decoder* decoder() const { return nullptr; }
  virtual const CausalEncoder::Stats* prefixes() const { return nullptr; }
  /// Of what reads pictures too; null for any other.
  virtual const ClipConfig* clip() const { return nullptr; }
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_ENCODING_BODY_H_

#ifndef SHORTLIST_MODEL_ENCODER_H_
#define SHORTLIST_MODEL_ENCODER_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/thread_pool.h"
#include "io/model_source.h"
#include "model/checkpoint/encoder_config.h"
#include "model/encoder_batch.h"

namespace shortlist {

/// The body of an encoder of any EncoderConfig, on the CPU: embeddings and layers. It stops at
/// hidden states; poolers and heads are read from the same checkpoint by whoever wants them.
///
/// Forward uses scratch memory and the pool: one call at a time. Everything else is immutable.
class Encoder {
 public:
  /// Loads config.json and the weights of `source`. `dtype` is what weights are kept in; nullopt
  /// keeps the checkpoint's. `quantize` (kInt8, kInt4) quantises the linear layers instead
  /// (kernels/quant.h); embeddings stay in `dtype`. Attention is f32. `pool` must outlive the
  /// encoder. Tensors of the heads that the architectures know (pooler, classifier, the masked
  /// language model's) are left alone. Errors as ReadEncoderConfig and Checkpoint, and
  /// InvalidArgument for a shape that disagrees with the config, a weight that is not finite or a
  /// tensor that has no place (names the tensor).
  static absl::StatusOr<std::unique_ptr<Encoder>> Load(
      const ModelSource& source, std::optional<DType> dtype, ThreadPool& pool,
      std::optional<DType> quantize = std::nullopt);
  ~Encoder();

  const EncoderConfig& config() const;
  /// Of the embeddings.
  DType dtype() const;
  /// Of the linear layers: dtype(), or what they are quantised to.
  DType weight_dtype() const;
  /// What the names of the body's tensors, and of its pooler's, begin with in this checkpoint: "",
  /// or "bert.", "roberta.", "model.".
  const std::string& tensor_prefix() const;

  /// The hidden states behind the last layer (and ModernBERT's final norm): [num_tokens, hidden]
  /// f32, a tensor of its own. Row t depends on the tokens of its own sequence alone, bit for bit.
  /// Scratch memory is that of kPassTokens tokens, or of the longest sequence. Errors as
  /// CheckEncoderBatch; ResourceExhausted without memory.
  absl::StatusOr<at::Tensor> Forward(const EncoderBatch& batch);

  /// Sequences go through the layers together up to so many tokens.
  static constexpr int64_t kPassTokens = 1024;

 private:
  struct Impl;
  explicit Encoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_ENCODER_H_

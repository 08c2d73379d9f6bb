#ifndef SHORTLIST_MODEL_ENCODER_H_
#define SHORTLIST_MODEL_ENCODER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/thread_pool.h"
#include "io/model_source.h"
#include "kernels/matrix.h"
#include "model/checkpoint/encoder_config.h"
#include "model/encoder_batch.h"

namespace shortlist {

/// The body of an encoder of any EncoderConfig, on the CPU: embeddings and layers. Returns hidden
/// states; poolers and heads are read separately from the same checkpoint.
///
/// Forward uses scratch memory and the pool: one call at a time. Everything else is immutable.
class Encoder {
 public:
  /// Loads config.json and the weights of `source`. `dtype` is the type of the weights; nullopt
  /// keeps the checkpoint's type. `quantize` (kInt8, kInt4) quantises the linear layers
  /// (kernels/quant.h); embeddings stay in `dtype`. Attention is f32, except as
  /// SequenceAttention::dtype describes. `pool` must outlive the encoder. Ignores tensors of the
  /// architectures' known heads (pooler, classifier, masked language model). Errors are those of
  /// ReadEncoderConfig and Checkpoint, and InvalidArgument, naming the tensor, for a shape that
  /// disagrees with the config, a weight that is not finite or an unknown tensor.
  static absl::StatusOr<std::unique_ptr<Encoder>> Load(
      const ModelSource& source, std::optional<DType> dtype, ThreadPool& pool,
      std::optional<DType> quantize = std::nullopt);
  ~Encoder();

  const EncoderConfig& config() const;
  /// Type of the embeddings.
  DType dtype() const;
  /// Type of the linear layers: dtype(), or the type they are quantised to.
  DType weight_dtype() const;
  /// Checkpoint::warning() of the weights.
  const std::string& warning() const;
  /// Prefix of the names of the tensors of the body and its pooler in this checkpoint: "", or
  /// "bert.", "distilbert.", "roberta.", "model.".
  const std::string& tensor_prefix() const;

  /// Returns the hidden states after the last layer (and ModernBERT's final norm): [num_tokens,
  /// hidden] f32, a new tensor. Row t depends only on the tokens of its own sequence, bit for bit.
  /// Scratch memory holds kPassTokens tokens, or the longest sequence. Errors are those of
  /// CheckEncoderBatch, and ResourceExhausted without memory.
  absl::StatusOr<Matrix> Forward(const EncoderBatch& batch);

  /// Sequences pass through the layers together, up to this many tokens at a time.
  static constexpr int64_t kPassTokens = 1024;

 private:
  struct Impl;
  explicit Encoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_ENCODER_H_

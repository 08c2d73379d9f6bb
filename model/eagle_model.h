#ifndef SHORTLIST_MODEL_EAGLE_MODEL_H_
#define SHORTLIST_MODEL_EAGLE_MODEL_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "io/model_source.h"
#include "kernels/head.h"
#include "kernels/matrix.h"
#include "model/checkpoint/config.h"
#include "model/decoder.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"

namespace shortlist {

/// The network of an EAGLE-1 draft (Li et al. 2024, "EAGLE: Speculative Sampling Requires
/// Rethinking Feature Uncertainty", section 3): x_i = fc([embedding(t_i+1); f_i]), then decoder
/// layers, of which the first has no input norm. Its output at position i predicts the target's
/// feature f_i+1 (the hidden state after the final norm). Embedding and head are the target's.
///
/// Same thread rules as Decoder.
class EagleModel {
 public:
  /// Loads `source` for `target`, which must outlive this object and whose dtype and weight_dtype
  /// it uses. `quantize` (kInt8, kInt4) quantises this network's linear layers and, if the target
  /// is not quantised, a copy of the target's head. Drafts get cheaper, and the target's
  /// verification does not change. Ids are the target's: the vocabulary of `source` may differ by
  /// up to kMaxPaddingRows padding rows. FailedPrecondition, with both values, if hidden size or
  /// vocab_size do not fit the target, or if the target is quantised to a type other than
  /// `quantize`. Other errors are those of Decoder::Load.
  static absl::StatusOr<std::unique_ptr<EagleModel>> Load(
      const ModelSource& source, const Decoder& target, ThreadPool& pool,
      std::optional<DType> quantize = std::nullopt);
  ~EagleModel();

  static constexpr int64_t kMaxPaddingRows = 1024;

  /// The configuration in `source`, with the target's vocab_size.
  const ModelConfig& config() const;
  /// Number of embedding rows in `source` that differ from the target's by more than rounding. The
  /// target's rows are used even so.
  int64_t num_foreign_embeddings() const;
  /// Checkpoint::warning() of the weights.
  const std::string& warning() const;
  /// The head that scores this network's predictions: the target's, or the quantised copy.
  HeadWeight head_weight() const;

  /// batch: the token at position i is t_i+1. features: [num_tokens, hidden] f32, contiguous, f_i
  /// from the target or from a previous output of this function. Returns the predicted f_i+1:
  /// [num_tokens, hidden] f32.
  absl::StatusOr<Matrix> Forward(const ForwardBatch& batch, const Matrix& features, KvCache& cache);

 private:
  struct Impl;
  explicit EagleModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_EAGLE_MODEL_H_

#ifndef SHORTLIST_MODEL_EAGLE_MODEL_H_
#define SHORTLIST_MODEL_EAGLE_MODEL_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "io/model_source.h"
#include "kernels/head.h"
#include "kernels/matrix.h"
#include "model/checkpoint/config.h"
#include "model/decoder.h"
#include "model/eagle_network.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"

namespace shortlist {

/// The network of an EAGLE-1 draft (Li et al. 2024, "EAGLE: Speculative Sampling Requires
/// Rethinking Feature Uncertainty", section 3): x_i = fc([embedding(t_i+1); f_i]), then decoder
/// layers, of which the first has no input norm. Its output at position i predicts the target's
/// feature f_i+1 (the hidden state after the final norm), which the head scores. Embedding and head
/// are the target's.
class EagleModel final : public EagleNetwork {
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
  ~EagleModel() override;

  static constexpr int64_t kMaxPaddingRows = 1024;

  /// Number of embedding rows in `source` that differ from the target's by more than rounding. The
  /// target's rows are used even so.
  int64_t num_foreign_embeddings() const;

  /// The configuration in `source`, with the target's vocab_size.
  const ModelConfig& config() const override;
  DType kv_dtype() const override;
  std::span<const int64_t> taps() const override { return {}; }
  int64_t target_width() const override { return config().hidden; }
  /// The target's head, or the quantised copy.
  HeadWeight head_weight() const override;
  std::shared_ptr<const HeadRows> head_rows() const override { return nullptr; }
  std::vector<std::string> warnings() const override;
  absl::StatusOr<Matrix> Fuse(const Matrix& states) override { return states; }
  absl::StatusOr<Prediction> Forward(const ForwardBatch& batch, const Matrix& features,
                                     KvCache& cache) override;

 private:
  struct Impl;
  explicit EagleModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_EAGLE_MODEL_H_

#ifndef SHORTLIST_MODEL_MTP_MODEL_H_
#define SHORTLIST_MODEL_MTP_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/thread_pool.h"
#include "io/model_source.h"
#include "model/decoder.h"
#include "model/eagle_network.h"

namespace shortlist {

/// The multi-token-prediction layer that a model such as Qwen3.5 carries in its own files (tensors
/// "mtp."), as a draft: with e the embedding of t_i+1 and f_i the target's state after its final
/// norm, y_i = norm(layer(fc([norm(e); norm(f_i)]))), of which the head makes the logits of t_i+2,
/// and which is the next step's f_i+1. Embedding and head are the target's.
class MtpModel final : public EagleNetwork {
 public:
  /// True if the files of `source` have such a layer.
  static bool IsIn(const ModelSource& source);

  /// Loads the layer of `source`, the files of `target`, which must outlive this object and whose
  /// dtype it uses. `quantize` (kInt8, kInt4) quantises its linear layers and, if the target's head
  /// has another type, a copy of that. NotFound if there is no such layer; Unimplemented for
  /// several layers. Other errors are those of Decoder::Load.
  static absl::StatusOr<std::unique_ptr<MtpModel>> Load(
      const ModelSource& source, const Decoder& target, ThreadPool& pool,
      std::optional<DType> quantize = std::nullopt);
  ~MtpModel() override;

  /// The target's, with this one layer.
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
  explicit MtpModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_MTP_MODEL_H_

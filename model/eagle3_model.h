#ifndef SHORTLIST_MODEL_EAGLE3_MODEL_H_
#define SHORTLIST_MODEL_EAGLE3_MODEL_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "io/model_source.h"
#include "model/checkpoint/eagle3_config.h"
#include "model/decoder.h"
#include "model/eagle_network.h"

namespace shortlist {

/// The network of an EAGLE-3 head (Eagle3Config). With E its embedding, s the target's states at
/// the taps and N the norms of the file:
///
///   g_i = fc(N(s_i)), or the last prediction's feature         Fuse(), once for true states
///   a = N_in(E[t_i+1]), c = N_hidden(g_i)
///   u = (c or g_i) + attention([a; c])                         norm_before_residual: c
///   x_i = u + mlp(N(u)), then plain layers over x
///   scored = N_final(x_i) * logit_scale; feature = x_i         or N_final(x_i): recurs_normed
class Eagle3Model final : public EagleNetwork {
 public:
  /// Loads `source`, which `config` describes and whose FitTarget() succeeded with `target`, which
  /// must outlive this object. Embeddings, and keys and values, are of the target's dtype.
  /// `quantize` (kInt8, kInt4) quantises the linear layers and the head, a copy of it if it is the
  /// target's; nullopt: the target's weight_dtype. An embedding that equals the target's in its
  /// dtype is not kept twice. FailedPrecondition if the head is the target's, and the target is
  /// quantised to a type other than `quantize`. InvalidArgument names a tensor without a place.
  /// Other errors are those of Checkpoint::Load.
  static absl::StatusOr<std::unique_ptr<Eagle3Model>> Load(
      const ModelSource& source, const Eagle3Config& config, const Decoder& target,
      ThreadPool& pool, std::optional<DType> quantize = std::nullopt);
  ~Eagle3Model() override;

  const Eagle3Config& eagle3_config() const;

  const ModelConfig& config() const override;
  DType kv_dtype() const override;
  std::span<const int64_t> taps() const override;
  int64_t target_width() const override;
  HeadWeight head_weight() const override;
  std::shared_ptr<const HeadRows> head_rows() const override;
  std::vector<std::string> warnings() const override;
  absl::StatusOr<Matrix> Fuse(const Matrix& states) override;
  absl::StatusOr<Prediction> Forward(const ForwardBatch& batch, const Matrix& features,
                                     KvCache& cache) override;

 private:
  struct Impl;
  explicit Eagle3Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_EAGLE3_MODEL_H_

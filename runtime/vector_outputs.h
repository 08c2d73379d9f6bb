#ifndef SHORTLIST_RUNTIME_VECTOR_OUTPUTS_H_
#define SHORTLIST_RUNTIME_VECTOR_OUTPUTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "embed/multi_vector.h"
#include "embed/next_token_head.h"
#include "embed/pooler.h"
#include "embed/sparse_pooler.h"
#include "io/model_source.h"
#include "runtime/encoding_outputs.h"
#include "text/tokenizer.h"

namespace shortlist {

/// Dense and sparse vectors and multi-vectors, all that an item asks for of one pass; scores of
/// multi-vectors for a query's; and of a generating model, how likely tokens come next.
class VectorOutputs final : public EncodingOutputs {
 public:
  /// Of `body`, which was read from `source`, what `config` says that it makes. `pool` must outlive
  /// it. Errors as Pooler::Load, TokenWeightPooler::Load, MaskedLmHead::Load and
  /// MultiVectorHead::Load, and InvalidArgument where truncate_dim, or the width of the states,
  /// does not fit.
  static absl::StatusOr<std::unique_ptr<VectorOutputs>> Load(const ModelSource& source,
                                                             EmbeddingConfig config,
                                                             const EncodingBody& body,
                                                             const Tokenizer& tokenizer,
                                                             ThreadPool& pool);
  /// The normalised mean of the states of a generating model, and its next tokens. Errors are
  /// LmHead's.
  static absl::StatusOr<std::unique_ptr<VectorOutputs>> Over(const Decoder& decoder,
                                                             ThreadPool& pool);

  int64_t result_size() const override;
  bool ReadsLastAlone(EncodingItems items) const override;
  absl::StatusOr<std::vector<EncodeResult>> Run(EncodingItems items,
                                                const EncodedStates& states) override;

  const EmbeddingConfig* embedding() const override { return &config_; }
  int64_t MaxSparseWeights(int64_t num_tokens) const override {
    return sparse_ != nullptr ? sparse_->MaxWeights(num_tokens) : 0;
  }
  int64_t multi_vector_size() const override { return multi_vector_ ? multi_vector_->width() : 0; }

 private:
  VectorOutputs(EmbeddingConfig config, Pooler pooler, ThreadPool& pool)
      : config_(std::move(config)), pooler_(std::move(pooler)), pool_(pool) {}

  absl::Status LoadSparse(const EncodingBody& body, const Tokenizer& tokenizer);
  absl::Status CheckWish(const EncodeWish& wish) const;
  void AddDense(EncodingItems items, const EncodedStates& states,
                std::vector<EncodeResult>& results) const;
  void AddSparse(EncodingItems items, const EncodedStates& states,
                 std::vector<EncodeResult>& results) const;
  void AddMultiVectors(EncodingItems items, const EncodedStates& states,
                       std::vector<EncodeResult>& results) const;
  absl::Status AddNextTokens(EncodingItems items, const EncodedStates& states,
                             std::vector<EncodeResult>& results);

  EmbeddingConfig config_;
  Pooler pooler_;
  std::unique_ptr<SparsePooler> sparse_;  // null: none
  std::optional<MultiVectorHead> multi_vector_;
  std::optional<NextTokenHead> next_token_head_;  // of a generating model
  ThreadPool& pool_;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_VECTOR_OUTPUTS_H_

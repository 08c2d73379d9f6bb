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

/// Makes dense and sparse vectors and multi-vectors, all that an item asks for from one pass;
/// scores of multi-vectors for a query's multi-vector; and, for a generating model, probabilities
/// of next tokens.
class VectorOutputs final : public EncodingOutputs {
 public:
  /// Makes what `config` describes from states of `body`, whose directory is `source`. `pool` must
  /// outlive the result. Errors as for Pooler::Load, TokenWeightPooler::Load, MaskedLmHead::Load
  /// and MultiVectorHead::Load; InvalidArgument if truncate_dim or the width of the states does not
  /// fit.
  static absl::StatusOr<std::unique_ptr<VectorOutputs>> Load(const ModelSource& source,
                                                             EmbeddingConfig config,
                                                             const EncodingBody& body,
                                                             const Tokenizer& tokenizer,
                                                             ThreadPool& pool);
  /// Makes the normalised mean of a generating model's states, and its next-token probabilities.
  /// Returns errors of PrunedHead.
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
  std::unique_ptr<SparsePooler> sparse_;  // null: no sparse vectors
  std::optional<MultiVectorHead> multi_vector_;
  std::optional<NextTokenHead> next_token_head_;  // for a generating model only
  ThreadPool& pool_;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_VECTOR_OUTPUTS_H_

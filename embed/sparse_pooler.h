#ifndef SHORTLIST_EMBED_SPARSE_POOLER_H_
#define SHORTLIST_EMBED_SPARSE_POOLER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "embed/dense_layer.h"
#include "embed/hidden_states.h"
#include "io/model_source.h"
#include "request/encoding.h"

namespace shortlist {

/// Makes a sparse vector of each sequence's hidden states: weights of some tokens of the
/// vocabulary; all others are zero. Immutable; thread-safe, if each thread uses its own ThreadPool.
class SparsePooler {
 public:
  virtual ~SparsePooler() = default;

  /// Maximum weights of a sequence of `num_tokens` tokens.
  virtual int64_t MaxWeights(int64_t num_tokens) const = 0;

  /// ids: [num_tokens], those of the states' tokens; cuts: [num_seqs]. Returns the weights of each
  /// sequence with ascending ids. Internal, for that sequence only, if a hidden state or a value
  /// computed from it is NaN or infinite. A weight has the same bits alone or in any batch, and
  /// with any number of threads.
  virtual std::vector<absl::StatusOr<std::vector<SparseWeight>>> Run(
      const HiddenStates& states, std::span<const TokenId> ids, std::span<const SparseCut> cuts,
      ThreadPool& pool) const = 0;
};

/// bge-m3's lexical weights (Chen et al. 2024, as in FlagEmbedding). The weight of each token in
/// the text is relu(linear(state)); a repeated token gets its largest weight. Tokens that frame a
/// text have none.
class TokenWeightPooler final : public SparsePooler {
 public:
  /// Reads sparse_linear.pt of `source`, whose layer takes `hidden` features. `uncounted`: tokens
  /// without a weight, ascending. Errors as for Checkpoint; ResourceExhausted if out of memory.
  static absl::StatusOr<std::unique_ptr<TokenWeightPooler>> Load(const ModelSource& source,
                                                                 int64_t hidden,
                                                                 std::vector<TokenId> uncounted,
                                                                 ThreadPool& pool);

  int64_t MaxWeights(int64_t num_tokens) const override { return num_tokens; }
  std::vector<absl::StatusOr<std::vector<SparseWeight>>> Run(const HiddenStates& states,
                                                             std::span<const TokenId> ids,
                                                             std::span<const SparseCut> cuts,
                                                             ThreadPool& pool) const override;

 private:
  TokenWeightPooler(DenseLayer linear, std::vector<TokenId> uncounted)
      : linear_(std::move(linear)), uncounted_(std::move(uncounted)) {}

  DenseLayer linear_;               // one output, followed by relu
  std::vector<TokenId> uncounted_;  // ascending
};

/// Keeps only the weights that `cut` selects. Ids ascend before and after.
void CutWeights(const SparseCut& cut, std::vector<SparseWeight>& weights);

/// The dot product, computed in f64, of two sparse vectors with ascending ids.
float SparseDot(std::span<const SparseWeight> a, std::span<const SparseWeight> b);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_SPARSE_POOLER_H_

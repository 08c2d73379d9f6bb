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
/// vocabulary, all others being zero. Immutable; any thread may run it, each with its own
/// ThreadPool.
class SparsePooler {
 public:
  virtual ~SparsePooler() = default;

  /// The most weights that a sequence of so many tokens gets.
  virtual int64_t MaxWeights(int64_t num_tokens) const = 0;

  /// ids: [num_tokens], those of the states' tokens; cuts: [num_seqs]. Of each sequence: its
  /// weights, whose ids ascend; Internal where a hidden state, or what is made of it, is NaN or
  /// infinite, which does not touch the others. A weight has the same bits alone or in any batch,
  /// and with any number of threads.
  virtual std::vector<absl::StatusOr<std::vector<SparseWeight>>> Run(
      const HiddenStates& states, std::span<const TokenId> ids, std::span<const SparseCut> cuts,
      ThreadPool& pool) const = 0;
};

/// bge-m3's lexical weights (Chen et al. 2024, as FlagEmbedding computes them): of each token in
/// the text relu(linear(state)), the largest where it stands several times. Tokens that frame a
/// text have none.
class TokenWeightPooler final : public SparsePooler {
 public:
  /// Reads sparse_linear.pt of `source`, whose layer takes `hidden` features; `uncounted` are the
  /// tokens without a weight, ascending. Errors as Checkpoint; ResourceExhausted when memory is
  /// out.
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

  DenseLayer linear_;               // one output, relu behind it
  std::vector<TokenId> uncounted_;  // ascending
};

/// Leaves of `weights`, whose ids ascend, those that `cut` keeps.
void CutWeights(const SparseCut& cut, std::vector<SparseWeight>& weights);

/// The dot product of two sparse vectors, whose ids ascend, in f64.
float SparseDot(std::span<const SparseWeight> a, std::span<const SparseWeight> b);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_SPARSE_POOLER_H_

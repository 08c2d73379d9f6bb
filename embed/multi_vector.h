#ifndef SHORTLIST_EMBED_MULTI_VECTOR_H_
#define SHORTLIST_EMBED_MULTI_VECTOR_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/thread_pool.h"
#include "embed/dense_layer.h"
#include "embed/hidden_states.h"
#include "embed/sequence_vectors.h"
#include "io/model_source.h"
#include "kernels/linear.h"

namespace shortlist {

/// Makes a vector of length 1 of each token's hidden state, as FlagEmbedding does for bge-m3:
/// linear(state), normalised, for all tokens except the first. Immutable; thread-safe, if each
/// thread uses its own ThreadPool.
class MultiVectorHead {
 public:
  /// Reads colbert_linear.pt of `source`, whose layer takes `hidden` features. The weight is stored
  /// as `dtype`, not quantised. Errors as for Checkpoint; InvalidArgument for a weight that is not
  /// a matrix; ResourceExhausted if out of memory.
  static absl::StatusOr<MultiVectorHead> Load(const ModelSource& source, int64_t hidden,
                                              DType dtype, ThreadPool& pool);

  /// Dimensions of a token's vector.
  int64_t width() const { return linear_.shape().out_features; }

  /// Returns [number of tokens - 1, width] values for each sequence. Internal, for that sequence
  /// only, if a hidden state or the layer's output is NaN or infinite. A vector of zeros stays
  /// zero. Values have the same bits alone or in any batch, and with any number of threads.
  SequenceVectors Run(const HiddenStates& states, ThreadPool& pool) const;

 private:
  explicit MultiVectorHead(DenseLayer linear) : linear_(std::move(linear)) {}

  DenseLayer linear_;
};

/// Scores documents for a query by their multi-vectors (late interaction, Khattab and Zaharia
/// 2020). Takes for each vector of the query the largest dot product with a vector of the document,
/// and returns their mean, as FlagEmbedding does. Immutable; thread-safe, if each thread uses its
/// own ThreadPool.
class MaxSim {
 public:
  /// query: [num_vectors, width], at least one vector.
  MaxSim(std::span<const float> query, int64_t width, ThreadPool& pool);

  /// document: [num_vectors, width]. Returns InvalidArgument if it has no vector. The score has the
  /// same bits with any number of threads.
  absl::StatusOr<float> Score(std::span<const float> document, ThreadPool& pool) const;

 private:
  PackedLinear query_;  // [num_vectors, width]
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_MULTI_VECTOR_H_

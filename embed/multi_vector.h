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

/// Makes a vector of each token's hidden state, of length 1, as bge-m3 does it in FlagEmbedding:
/// linear(state), normalised, of all tokens but the first. Immutable; any thread may run it, each
/// with its own ThreadPool.
class MultiVectorHead {
 public:
  /// Reads colbert_linear.pt of `source`, whose layer takes `hidden` features; `dtype` is what its
  /// weight is kept in, not quantised. Errors as Checkpoint, and InvalidArgument for a weight that
  /// is not a matrix; ResourceExhausted when memory is out.
  static absl::StatusOr<MultiVectorHead> Load(const ModelSource& source, int64_t hidden,
                                              DType dtype, ThreadPool& pool);

  /// Dimensions of a token's vector.
  int64_t width() const { return linear_.shape().out_features; }

  /// Of each sequence [its tokens - 1, width]; Internal where a hidden state, or what the layer
  /// makes of it, is NaN or infinite, which does not touch the others. A vector of zeros stays one.
  /// Values have the same bits alone or in any batch, and with any number of threads.
  SequenceVectors Run(const HiddenStates& states, ThreadPool& pool) const;

 private:
  explicit MultiVectorHead(DenseLayer linear) : linear_(std::move(linear)) {}

  DenseLayer linear_;
};

/// Scores documents for a query by their multi-vectors (late interaction, Khattab and Zaharia
/// 2020): of each vector of the query the largest dot product with one of the document, and their
/// mean over the query, as FlagEmbedding takes it. Immutable; any thread may ask, each with its own
/// ThreadPool.
class MaxSim {
 public:
  /// query: [num_vectors, width], at least one vector.
  MaxSim(std::span<const float> query, int64_t width, ThreadPool& pool);

  /// document: [num_vectors, width]. InvalidArgument where it has no vector. The same bits with any
  /// number of threads.
  absl::StatusOr<float> Score(std::span<const float> document, ThreadPool& pool) const;

 private:
  PackedLinear query_;  // [num_vectors, width]
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_MULTI_VECTOR_H_

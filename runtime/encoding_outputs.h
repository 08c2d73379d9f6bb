#ifndef SHORTLIST_RUNTIME_ENCODING_OUTPUTS_H_
#define SHORTLIST_RUNTIME_ENCODING_OUTPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "embed/embedding_config.h"
#include "request/encoding.h"
#include "runtime/encoding_body.h"

namespace shortlist {

/// Turns a pass's hidden states into vectors (runtime/vector_outputs.h) or scores
/// (runtime/score_outputs.h). One call of Run() at a time.
class EncodingOutputs {
 public:
  virtual ~EncodingOutputs() = default;

  /// Number of values of a result: dimensions of a vector, or labels.
  virtual int64_t result_size() const = 0;
  /// Labels of the scores; empty if vectors are made.
  virtual std::vector<std::string> labels() const { return {}; }
  /// True if the last token's state suffices for every requested output (empty `items`: the default
  /// output).
  virtual bool ReadsLastAlone(EncodingItems items) const = 0;

  /// Returns a result for each item. A failed item does not affect the others; an error of the call
  /// applies to all items.
  virtual absl::StatusOr<std::vector<EncodeResult>> Run(EncodingItems items,
                                                        const EncodedStates& states) = 0;

  /// The following members are for outputs that make vectors; null or 0 for others.
  virtual const EmbeddingConfig* embedding() const { return nullptr; }
  /// Maximum weights in a sparse vector of `num_tokens` tokens; 0: no sparse vectors.
  virtual int64_t MaxSparseWeights(int64_t /*num_tokens*/) const { return 0; }
  /// Dimensions of each token's vector in a multi-vector; 0: no multi-vectors.
  virtual int64_t multi_vector_size() const { return 0; }
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_ENCODING_OUTPUTS_H_

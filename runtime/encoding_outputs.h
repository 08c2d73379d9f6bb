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

/// What becomes of a pass's hidden states: vectors (runtime/vector_outputs.h), or scores
/// (runtime/score_outputs.h). One call of Run at a time.
class EncodingOutputs {
 public:
  virtual ~EncodingOutputs() = default;

  /// Of a result's values: dimensions of a vector, or labels.
  virtual int64_t result_size() const = 0;
  /// What the scores are of; empty where vectors are made.
  virtual std::vector<std::string> labels() const { return {}; }
  /// Whether the states of last tokens are enough for all that these items ask for; without items,
  /// for what is made unless more is asked for.
  virtual bool ReadsLastAlone(EncodingItems items) const = 0;

  /// A result for each item. One that has none does not touch the others; the call's own status is
  /// that of all.
  virtual absl::StatusOr<std::vector<EncodeResult>> Run(EncodingItems items,
                                                        const EncodedStates& states) = 0;

  /// Of those that make vectors; null and nothing of others.
  virtual const EmbeddingConfig* embedding() const { return nullptr; }
  /// The most weights in a sparse vector of so many tokens; 0: there are no sparse vectors.
  virtual int64_t MaxSparseWeights(int64_t /*num_tokens*/) const { return 0; }
  /// Dimensions of each token's vector in a multi-vector; 0: there are none.
  virtual int64_t multi_vector_size() const { return 0; }
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_ENCODING_OUTPUTS_H_

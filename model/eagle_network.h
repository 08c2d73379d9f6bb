#ifndef SHORTLIST_MODEL_EAGLE_NETWORK_H_
#define SHORTLIST_MODEL_EAGLE_NETWORK_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "kernels/head.h"
#include "kernels/matrix.h"
#include "model/checkpoint/config.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "vocab/head_rows.h"

namespace shortlist {

/// The network of an EAGLE draft. At position i it takes token t_i+1 and a feature of position i,
/// and predicts t_i+2 and a feature of position i + 1. The first feature of a chain is made from
/// the target's states (Fuse); the others are the network's own.
///
/// Same thread rules as Decoder.
class EagleNetwork {
 public:
  virtual ~EagleNetwork() = default;

  /// The shape of its layers: width of its features, positions, keys and values.
  virtual const ModelConfig& config() const = 0;
  /// Type of its keys and values.
  virtual DType kv_dtype() const = 0;

  /// What Fuse() reads of the target: the states at these layer boundaries (StateTaps), side by
  /// side; empty: the state after the final norm.
  virtual std::span<const int64_t> taps() const = 0;
  /// Numbers of the target's states at one position.
  virtual int64_t target_width() const = 0;

  /// The head that scores this network's predictions, its own or the target's.
  virtual HeadWeight head_weight() const = 0;
  /// The tokens of the head's rows; null: row i is token i.
  virtual std::shared_ptr<const HeadRows> head_rows() const = 0;

  /// What the user should know of the weights that were loaded: suspicions, each a sentence. May be
  /// empty.
  virtual std::vector<std::string> warnings() const = 0;

  /// Makes features of the target's states: [num_tokens, target_width()] -> [num_tokens, hidden],
  /// both f32. A row does not depend on the others.
  virtual absl::StatusOr<Matrix> Fuse(const Matrix& states) = 0;

  struct Prediction {
    Matrix scored;    // [num_tokens, hidden] f32: what the head scores
    Matrix features;  // [num_tokens, hidden] f32: of the next positions
  };
  /// batch: the token at position i is t_i+1. features: [num_tokens, hidden] f32, of Fuse() or of
  /// an earlier prediction. Row t does not depend on the rest of the batch, bit for bit.
  virtual absl::StatusOr<Prediction> Forward(const ForwardBatch& batch, const Matrix& features,
                                             KvCache& cache) = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_EAGLE_NETWORK_H_

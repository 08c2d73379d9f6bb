#ifndef SHORTLIST_MODEL_EXECUTOR_H_
#define SHORTLIST_MODEL_EXECUTOR_H_

#include <cstdint>
#include <iterator>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "kernels/head.h"
#include "kernels/matrix.h"
#include "model/checkpoint/config.h"
#include "model/forward_batch.h"
#include "model/sequence_state.h"

namespace shortlist {

/// States inside a model that a pass returns in addition to its hidden states.
struct StateTaps {
  // Layer boundaries, each in [0, num_layers]: b is the residual stream that enters layer b, and
  // num_layers the one that enters the final norm. In any order.
  std::span<const int64_t> boundaries;
  // Out: [num_tokens, boundaries.size() * hidden] f32, a new matrix in host memory. Each row holds
  // the token's states side by side, in the order of `boundaries`.
  Matrix states = {};
};

/// Runs passes of one causal model, and owns what they leave behind for later ones: keys and values
/// of each slot, and states of recurrent layers after some prefixes. The caller tracks which
/// sequence owns which slot, and owns the states of running sequences.
///
/// One call at a time among all executors of a model.
class Executor {
 public:
  virtual ~Executor() = default;

  virtual int64_t num_slots() const = 0;

  /// Runs the layers over `batch`, stores its keys and values, and returns the hidden states after
  /// the final norm: [num_tokens, hidden] f32, a new matrix in host memory. Token ids are below
  /// vocab_size, positions below context_len, slots below num_slots() (checked invariants). Row t
  /// does not depend on the rest of the batch, bit for bit. Fills `taps` unless it is null.
  virtual absl::StatusOr<Matrix> Forward(const ForwardBatch& batch, StateTaps* taps) = 0;
  absl::StatusOr<Matrix> Forward(const ForwardBatch& batch) { return Forward(batch, nullptr); }

  // Recurrent layers. Without them the following functions return what is given here.

  /// Returns the state after the tokens in `slots` (a sequence's first slots, by position), with
  /// which the sequence goes on (ForwardBatch::AddChain). Null without recurrent layers, and if
  /// slots.size() is neither 0 nor ResumableLen(slots). Throws std::bad_alloc.
  virtual std::unique_ptr<SequenceState> NewState(std::span<const int32_t> /*slots*/) {
    return nullptr;
  }
  /// The largest number of leading `slots`, computed for a sequence with the same tokens, after
  /// which another one can go on.
  virtual int64_t ResumableLen(std::span<const int32_t> slots) const { return std::ssize(slots); }
  /// Takes the state of a sequence that ends, of which the tokens in `slots` are final, so that
  /// others can go on from there.
  virtual void Keep(std::unique_ptr<SequenceState> /*state*/, std::span<const int32_t> /*slots*/) {}
};

/// A causal language model, wherever its layers are computed. The engine, the small-model drafter
/// and embeddings know no more of a model than this.
class CausalModel {
 public:
  virtual ~CausalModel() = default;

  virtual const ModelConfig& config() const = 0;

  /// The head's rows, in host memory. Precondition: the model has a head.
  virtual HeadWeight head_weight() const = 0;

  /// Bytes of an executor for each of its slots.
  virtual int64_t slot_bytes() const = 0;
  /// Bytes of a sequence's state in recurrent layers; 0 without such.
  virtual int64_t state_bytes() const { return 0; }

  /// Returns an executor without any computed token. The model must outlive it. InvalidArgument if
  /// num_slots is not in [1, 2^31). ResourceExhausted, with the bytes needed, if the system has no
  /// memory for them.
  virtual absl::StatusOr<std::unique_ptr<Executor>> NewExecutor(int64_t num_slots) = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_EXECUTOR_H_

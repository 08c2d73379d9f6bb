#ifndef SHORTLIST_MODEL_STATE_PASS_H_
#define SHORTLIST_MODEL_STATE_PASS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/checkpoint/config.h"
#include "model/delta_net.h"
#include "model/forward_batch.h"
#include "model/prefix_states.h"
#include "model/sequence_state.h"

namespace shortlist {

/// What one pass does to the states of its sequences in recurrent layers.
class StatePass {
 public:
  /// Plans the pass over `batch`, whose sequences' states contain the tokens before it. Prompts
  /// will leave states in `prefixes`, unless it is null. Both must outlive this object. Throws
  /// std::bad_alloc.
  StatePass(const ModelConfig& config, const ForwardBatch& batch, PrefixStates* prefixes);

  /// For each layer: what DeltaNet::Forward does.
  std::span<const StateStep> steps() const { return steps_; }

  /// Ends the pass: sets the lengths of the states, and keeps those of prefixes.
  void Finish();

 private:
  void KeepPrefixes(const ModelConfig& config, const ForwardBatch& batch,
                    const ForwardBatch::Chain& chain, StateStep& step);

  PrefixStates* const prefixes_;
  std::vector<StateStep> steps_;
  std::vector<std::unique_ptr<SequenceState>> own_;  // of sequences that are not continued
  std::vector<std::pair<int32_t, std::unique_ptr<SequenceState>>> kept_;  // with their slots
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_STATE_PASS_H_

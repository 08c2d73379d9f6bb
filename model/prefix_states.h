#ifndef SHORTLIST_MODEL_PREFIX_STATES_H_
#define SHORTLIST_MODEL_PREFIX_STATES_H_

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>

#include "model/sequence_state.h"

namespace shortlist {

/// States of a recurrent model after the leading tokens of sequences, from which other sequences
/// with these tokens go on. A state belongs to the slot of its last token: it is dropped when that
/// slot is written again, or, beyond `max_states`, as the one used least recently.
class PrefixStates {
 public:
  explicit PrefixStates(int64_t max_states) : max_states_(max_states) {}

  /// A prompt leaves states after multiples of this many tokens, and before its last token.
  static constexpr int64_t kInterval = 512;

  int64_t max_states() const { return max_states_; }

  /// Drops the states of slots that are written again.
  void Overwritten(std::span<const int32_t> slots);

  /// Keeps `state`, without pending tokens, after the token in `slot`.
  void Add(int32_t slot, std::unique_ptr<SequenceState> state);

  /// The largest number of leading `slots` (a sequence's, by position) after which there is a
  /// state; 0: none.
  int64_t LongestLen(std::span<const int32_t> slots) const;

  /// The state after the tokens in `slots`; null: none. Valid until the next Add or Overwritten.
  const SequenceState* Find(std::span<const int32_t> slots);

 private:
  struct Entry {
    int32_t slot;
    std::unique_ptr<SequenceState> state;
  };
  const int64_t max_states_;
  std::list<Entry> entries_;  // used most recently first
  std::unordered_map<int32_t, std::list<Entry>::iterator> by_slot_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_PREFIX_STATES_H_

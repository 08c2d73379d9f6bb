#ifndef SHORTLIST_HEAD_ROW_TAILS_H_
#define SHORTLIST_HEAD_ROW_TAILS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// The additional rows that each token of a draft pass scores after those of the active vocabulary:
/// the request's own tail, the successors of its last token and the rows chosen by a sketch, each
/// once. Keeps its memory between passes. Not thread-safe.
class RowTails {
 public:
  /// Starts a pass over `active`, which must outlive it.
  void Clear(const ActiveVocab& active);

  /// Adds one token. `request_tail`: disjoint from the active vocabulary. `last`: the previous
  /// token; -1 means none and has no successors. `sketch_rows`: distinct ids below the vocabulary's
  /// size. Precondition: Clear() was called.
  void Add(std::span<const int32_t> request_tail, TokenId last,
           std::span<const int32_t> sketch_rows = {});

  /// Returns [tokens added] ids for a HeadSelection. Valid until the next Clear or Add.
  std::span<const std::span<const int32_t>> of_tokens();

 private:
  const ActiveVocab* active_ = nullptr;
  std::vector<int32_t> ids_;      // of all tokens, concatenated
  std::vector<size_t> begin_;     // [tokens added] begin of a token's ids
  std::vector<uint64_t> marked_;  // [vocab_size] the last Add with this id; empty until needed
  uint64_t num_adds_ = 0;
  std::vector<std::span<const int32_t>> of_tokens_;
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_ROW_TAILS_H_

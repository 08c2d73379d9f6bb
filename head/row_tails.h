#ifndef SHORTLIST_HEAD_ROW_TAILS_H_
#define SHORTLIST_HEAD_ROW_TAILS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// The rows that the tokens of one draft pass score for themselves, behind those of the active
/// vocabulary: the request's own tail, then the successors of its last token and the rows that a
/// sketch chose for it, each once. Keeps its memory from pass to pass. Not thread-safe.
class RowTails {
 public:
  /// Starts a pass over `active`, which must outlive it.
  void Clear(const ActiveVocab& active);

  /// One more token, after Clear: its request's tail (disjoint from the active vocabulary), the
  /// token it follows (-1, no token, has no successors), and the rows that a sketch chose, distinct
  /// ids below the vocabulary's size.
  void Add(std::span<const int32_t> request_tail, TokenId last,
           std::span<const int32_t> sketch_rows = {});

  /// [tokens added] ids, as HeadSelection takes them. Valid until the next Clear or Add.
  std::span<const std::span<const int32_t>> of_tokens();

 private:
  const ActiveVocab* active_ = nullptr;
  std::vector<int32_t> ids_;      // of all tokens
  std::vector<size_t> begin_;     // [tokens added] where a token's begin
  std::vector<uint64_t> marked_;  // [vocab_size] the last Add that took the id; empty until needed
  uint64_t num_adds_ = 0;
  std::vector<std::span<const int32_t>> of_tokens_;
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_ROW_TAILS_H_

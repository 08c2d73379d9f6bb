#ifndef SHORTLIST_IO_GGUF_PIECE_MERGES_H_
#define SHORTLIST_IO_GGUF_PIECE_MERGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace shortlist {

/// A token of SentencePiece's BPE that other tokens merge into.
struct ScoredPiece {
  std::string text;
  double score = 0.0;  // the larger is merged first
};

/// Returns the merges ("left right", the first are applied first) of the tokenizer.json that
/// transformers makes of a SentencePiece BPE model: every way to cut a piece into two pieces. The
/// order is by descending score. Ties are in the order of the pieces, the shortest left part first.
/// Pieces are distinct and contain no space.
///
/// InvalidArgument for a piece of more than 256 bytes or too many merges, which bounds the time.
///
/// Example: pieces a, b, ab (-1), abb (-2) have the merges "a b", "ab b".
absl::StatusOr<std::vector<std::string>> PieceMerges(const std::vector<ScoredPiece>& pieces);

}  // namespace shortlist

#endif  // SHORTLIST_IO_GGUF_PIECE_MERGES_H_

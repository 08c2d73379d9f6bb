#ifndef SHORTLIST_VOCAB_DISCOVERY_H_
#define SHORTLIST_VOCAB_DISCOVERY_H_

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "vocab/active_vocab.h"
#include "vocab/request_tail.h"
#include "vocab/row_source.h"

namespace shortlist {

/// Tokens that a request may need next, by source. In each span the most important are last.
struct Discovered {
  std::span<const TokenId> prompt;         // all of it, once
  std::span<const TokenId> output;         // the whole prompt, once
  std::span<const TokenId> given;          // ids named by the client
  std::span<const TokenId> prefix;         // rows stored in the radix cache with its prefix
  std::span<const TokenId> continuations;  // tokens that followed the same prefix in other requests
};

/// Adds `found` to `tail`, each id under its RowSource, and adds the number of new rows to `added`.
/// Continuations are guesses: they get at most `continuation_rows` rows of the tail, and lose them
/// to the other sources when rows are short. Adds nothing if `active` is the full head.
void ExtendTail(const Discovered& found, int64_t continuation_rows, const ActiveVocab& active,
                RequestTail& tail, CountsBySource& added);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_DISCOVERY_H_

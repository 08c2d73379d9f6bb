#ifndef SHORTLIST_VOCAB_DISCOVERY_H_
#define SHORTLIST_VOCAB_DISCOVERY_H_

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "vocab/active_vocab.h"
#include "vocab/request_tail.h"
#include "vocab/row_source.h"

namespace shortlist {

/// Tokens that a request may need next, by where they come from. Those that matter most are last.
struct Discovered {
  std::span<const TokenId> prompt;         // all of it, once
  std::span<const TokenId> output;         // tokens emitted since the last call
  std::span<const TokenId> given;          // ids that the client named
  std::span<const TokenId> prefix;         // rows that the radix cache keeps with its prefix
  std::span<const TokenId> continuations;  // what followed the same prefix in other requests
};

/// Adds `found` to `tail`, each id under its RowSource, and adds the number of new rows to `added`.
/// Continuations are guesses: they get at most `continuation_rows` rows of the tail, and lose them
/// to the other sources when rows are short. Adds nothing when `active` is the full head.
void ExtendTail(const Discovered& found, int64_t continuation_rows, const ActiveVocab& active,
                RequestTail& tail, CountsBySource& added);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_DISCOVERY_H_

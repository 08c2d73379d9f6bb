#ifndef SHORTLIST_VOCAB_HELD_BY_H_
#define SHORTLIST_VOCAB_HELD_BY_H_

#include "base/ids.h"
#include "vocab/active_vocab.h"
#include "vocab/request_tail.h"
#include "vocab/row_source.h"

namespace shortlist {

/// Returns why a draft over `active` could propose `id` after the token `last` to the request of
/// `tail`; kNone if it could not. The only definition of coverage, except for a sketch's rows,
/// which are known only where the sketch chose. Ids are in [0, active.vocab_size()).
inline RowSource HeldBy(const ActiveVocab& active, const RequestTail& tail, TokenId last,
                        TokenId id) {
  const RowSource shared = active.SourceOf(id);
  if (shared != RowSource::kNone) return shared;
  if (active.base()->IsSuccessor(last, id)) return RowSource::kSuccessors;
  return tail.SourceOf(id);
}

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_HELD_BY_H_

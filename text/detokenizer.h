#ifndef SHORTLIST_TEXT_DETOKENIZER_H_
#define SHORTLIST_TEXT_DETOKENIZER_H_

#include <string>

#include "base/ids.h"
#include "text/space_cleaner.h"
#include "text/tokenizer.h"

namespace shortlist {

/// Turns a stream of token ids into a stream of text, never emitting half a code point: bytes of an
/// unfinished one are held back until it is complete, or known to be broken (then U+FFFD, as
/// Tokenizer::Decode does). The pieces joined, with Finish(), equal Tokenizer::Decode of all ids,
/// but for a run of byte tokens that is not UTF-8 as a whole: characters that were complete in it
/// have been emitted, as a stream of the tokenizers library emits them too, and stay. One per
/// stream; not thread-safe.
class Detokenizer {
 public:
  /// `tokenizer` must outlive this. `at_start`: the first id starts a text (its added leading space
  /// goes); false when the ids continue a prompt. `shows_controls`: control tokens are written as
  /// spelled.
  Detokenizer(const Tokenizer& tokenizer, bool at_start, bool shows_controls = false);

  /// The text that `id` completes; may be empty.
  std::string Append(TokenId id);

  /// What is still held back, as replacement characters; a space that is, goes. Call once at the
  /// end.
  std::string Finish();

 private:
  const Tokenizer& tokenizer_;
  bool at_start_;
  bool shows_controls_;
  SpaceCleaner cleaner_;  // where the tokenizer asks for it
  std::string pending_;   // an incomplete, so far valid, UTF-8 sequence of at most 3 bytes, or the
                          // space that may be the last
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_DETOKENIZER_H_

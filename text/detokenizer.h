#ifndef SHORTLIST_TEXT_DETOKENIZER_H_
#define SHORTLIST_TEXT_DETOKENIZER_H_

#include <string>
#include <vector>

#include "base/ids.h"
#include "text/space_cleaner.h"
#include "text/tokenizer.h"

namespace shortlist {

/// Turns a stream of token ids into a stream of text and never emits part of a code point. Bytes of
/// an unfinished code point are held back until it is complete or known to be invalid; invalid
/// bytes become U+FFFD, as in Tokenizer::Decode. The pieces joined, with Finish(), equal
/// Tokenizer::Decode of all ids, with one exception: a run of byte tokens that is not UTF-8 as a
/// whole. The complete characters of such a run have been emitted already and stay, as in a stream
/// of the tokenizers library. One object per stream; not thread-safe.
class Detokenizer {
 public:
  /// `tokenizer` must outlive this object. `at_start`: the first id starts a text, so its added
  /// leading space is removed; false if the ids continue a prompt. `shows_controls`: writes control
  /// tokens as they are spelled; `shown`: some that are written in any case.
  Detokenizer(const Tokenizer& tokenizer, bool at_start, bool shows_controls = false,
              std::vector<TokenId> shown = {});

  /// Returns the text that `id` completes; may be empty.
  std::string Append(TokenId id);

  /// Returns U+FFFD for the bytes still held back; drops a space that is held back. Call once at
  /// the end.
  std::string Finish();

 private:
  const Tokenizer& tokenizer_;
  bool at_start_;
  bool shows_controls_;
  std::vector<TokenId> shown_;  // few
  SpaceCleaner cleaner_;        // used if the tokenizer's cleans_up_spaces()
  std::string pending_;  // an incomplete, so far valid UTF-8 sequence of at most 3 bytes, or a
                         // space that may end the text
};

/// Returns the control tokens of `tokenizer` that are spelled as one of `spellings`, ascending.
std::vector<TokenId> FindControls(const Tokenizer& tokenizer,
                                  const std::vector<std::string>& spellings);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_DETOKENIZER_H_

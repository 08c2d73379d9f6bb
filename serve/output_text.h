#ifndef SHORTLIST_SERVE_OUTPUT_TEXT_H_
#define SHORTLIST_SERVE_OUTPUT_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "serve/stop_matcher.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace shortlist {

/// Turns the output ids of one request into text, up to a stop. Not thread-safe.
class OutputText {
 public:
  struct Options {
    std::vector<std::string> stop;  // none of them empty
    int64_t stop_after = 0;         // a stop string counts only if it ends after this many tokens
    std::vector<TokenId> stop_token_ids;  // tokens that end the output
    bool trims_stop = true;            // false: the stop string or stop token is part of the text
    bool skips_special_tokens = true;  // false: control tokens are written as they are spelled
    std::vector<TokenId> shown_controls;  // control tokens that are never skipped
  };

  /// `tokenizer` must outlive this.
  OutputText(const Tokenizer& tokenizer, Options options);

  /// Returns the text that the token completes, regardless of stops. Appends to `text` the part of
  /// the output that is final now.
  std::string Append(TokenId id, std::string& text);
  /// Appends withheld text; call it when no more tokens come.
  void Finish(std::string& text);

  /// True if a stop string is complete or a stop token has come.
  bool ended() const { return matched_token_.has_value() || matcher_.matched(); }
  const std::optional<TokenId>& matched_token() const { return matched_token_; }
  const std::string& matched_text() const { return matcher_.match(); }

 private:
  void AppendPiece(const std::string& piece, std::string& text);

  const Options options_;
  Detokenizer detokenizer_;
  StopMatcher matcher_;
  int64_t num_tokens_ = 0;
  std::optional<TokenId> matched_token_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OUTPUT_TEXT_H_

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

/// Turns the output ids of one request into its text, up to what ends it. Not thread-safe.
class OutputText {
 public:
  struct Options {
    std::vector<std::string> stop;        // none of them empty
    int64_t stop_after = 0;               // a stop text ends no earlier than behind so many tokens
    std::vector<TokenId> stop_token_ids;  // end the output with the token
    bool trims_stop = true;               // false: what ended the output is written
    bool skips_special_tokens = true;     // false: control tokens are written as spelled
  };

  /// `tokenizer` must outlive this.
  OutputText(const Tokenizer& tokenizer, Options options);

  /// The text that the token completes, whatever ends here, and in `text` (appended) what of the
  /// whole can be told now.
  std::string Append(TokenId id, std::string& text);
  /// Appends what was held back, when no more tokens come.
  void Finish(std::string& text);

  /// A stop text is complete, or a stop token has come.
  bool ended() const { return matched_token_.has_value() || matcher_.matched(); }
  const std::optional<TokenId>& matched_token() const { return matched_token_; }
  const std::string& matched_text() const { return matcher_.match(); }

 private:
  void Tell(const std::string& piece, std::string& text);

  const Options options_;
  Detokenizer detokenizer_;
  StopMatcher matcher_;
  int64_t num_tokens_ = 0;
  std::optional<TokenId> matched_token_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OUTPUT_TEXT_H_

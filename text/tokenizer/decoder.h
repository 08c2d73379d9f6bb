#ifndef SHORTLIST_TEXT_TOKENIZER_DECODER_H_
#define SHORTLIST_TEXT_TOKENIZER_DECODER_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// The decoder of a tokenizer.json. It decodes each token on its own, so that text can be streamed.
struct TokenDecoder {
  /// Rewrites the text of a token; `first`: the token is the first of a text.
  using Step = std::function<std::string(std::string token, bool first)>;

  std::vector<Step> steps;
  /// Removes a leading space from the joined text of all tokens.
  bool strips_leading_space = false;
  /// Removes a trailing space from the joined text of all tokens.
  bool strips_trailing_space = false;
  /// Some tokens stand for one byte each, others for text.
  bool has_byte_tokens = false;
  /// A first token may decode differently, even if it decodes to nothing.
  bool first_differs = false;

  /// InvalidArgument names a token that a step makes longer than 16 times its bytes plus 256: no
  /// ordinary decoder does.
  absl::StatusOr<std::string> Read(std::string_view token, bool first) const;
};

/// True for the spelling of a byte token, "<0x00>" to "<0xFF>", in a vocabulary with byte tokens.
bool IsByteToken(std::string_view token);

/// Parses the member "decoder", which may be null (tokens are joined with spaces). InvalidArgument
/// names an unknown type, a step that needs more than one token at a time, or more than 100 steps.
/// `end_of_word_suffix` decodes to a space, also at the end of a text; empty: no suffix does.
absl::StatusOr<TokenDecoder> ParseDecoder(const nlohmann::json& spec,
                                          const std::string& end_of_word_suffix);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_DECODER_H_

#ifndef SHORTLIST_TEXT_TOKENIZER_DECODER_H_
#define SHORTLIST_TEXT_TOKENIZER_DECODER_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// The decoder of a tokenizer.json: how each token reads, on its own, so that text can be streamed.
struct TokenDecoder {
  /// Rewrites what a token reads as; `first`: it is the first of a text.
  using Step = std::function<std::string(std::string token, bool first)>;

  std::vector<Step> steps;
  /// Of all tokens joined, a leading space goes.
  bool strips_leading_space = false;
  /// Of all tokens joined, a trailing space goes.
  bool strips_trailing_space = false;
  /// Some tokens stand for one byte each, beside others that are text.
  bool has_byte_tokens = false;
  /// A first token may read differently, even when it reads as nothing.
  bool first_differs = false;

  std::string Read(std::string_view token, bool first) const;
};

/// Whether a token stands for one byte where there are byte tokens: "<0x00>" to "<0xFF>".
bool IsByteToken(std::string_view token);

/// The member "decoder", which may be null (tokens are joined with spaces). InvalidArgument names a
/// type that is not known, and what would need more than one token at a time.
/// `end_of_word_suffix`: the BPE model's; it reads as a space, at the end of a text too.
absl::StatusOr<TokenDecoder> ParseDecoder(const nlohmann::json& spec,
                                          const std::string& end_of_word_suffix);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_DECODER_H_

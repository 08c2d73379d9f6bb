#ifndef SHORTLIST_TEXT_TOKENIZER_TIKTOKEN_H_
#define SHORTLIST_TEXT_TOKENIZER_TIKTOKEN_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/tokenizer.h"

namespace shortlist {

/// True if the first line is a token in Base64, a space, and a number.
bool LooksLikeRanks(std::string_view contents);

/// Returns the tokenizer of a file of ranks in tiktoken's format: one token and its rank, which is
/// its id, on each line. Such a file says neither how to split words nor which special tokens
/// exist. Both follow from the number of ranks:
/// - Qwen 1 to 3: 151,643; NFC; <|endoftext|>, <|im_start|>, <|im_end|>, <|extra_0|> to
///   <|extra_204|>;
/// - Llama 3: 128,000; its 256 special tokens; BOS first.
///
/// If `config` (tokenizer_config.json, or an empty object) has an added_tokens_decoder, its special
/// tokens are used instead. InvalidArgument names the line that is wrong, or any other number of
/// ranks.
absl::StatusOr<std::unique_ptr<Tokenizer>> ParseRanksTokenizer(std::string_view contents,
                                                               const nlohmann::json& config);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_TIKTOKEN_H_

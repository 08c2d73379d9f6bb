#ifndef SHORTLIST_TEXT_TOKENIZER_TIKTOKEN_H_
#define SHORTLIST_TEXT_TOKENIZER_TIKTOKEN_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/tokenizer.h"

namespace shortlist {

/// True when the first line is a token in Base64, a space, and a number.
bool LooksLikeRanks(std::string_view contents);

/// The tokenizer of a file of ranks in tiktoken's format: one token and its rank, which is its id,
/// on each line. Such a file says neither how words are cut nor which special tokens there are.
/// Known by their number of ranks are Qwen 1 to 3 (151,643; NFC; <|endoftext|>, <|im_start|>,
/// <|im_end|>, <|extra_0|> to <|extra_204|>) and Llama 3 (128,000; its 256 special tokens; BOS
/// first); where `config` (tokenizer_config.json, or an empty object) has an added_tokens_decoder,
/// that counts instead. InvalidArgument names the line that is wrong, and any other number of
/// ranks.
absl::StatusOr<std::unique_ptr<Tokenizer>> ParseRanksTokenizer(std::string_view contents,
                                                               const nlohmann::json& config);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_TIKTOKEN_H_

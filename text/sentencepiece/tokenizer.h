#ifndef SHORTLIST_TEXT_SENTENCEPIECE_TOKENIZER_H_
#define SHORTLIST_TEXT_SENTENCEPIECE_TOKENIZER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/sentencepiece/model.h"
#include "text/tokenizer.h"

namespace shortlist {

/// Calls SentencePieceModel::Load and returns its problem as InvalidArgument.
absl::StatusOr<std::unique_ptr<SentencePieceModel>> LoadSentencePieceModel(
    const std::string& serialized);

/// InvalidArgument if added_tokens.json, {token: id}, has a token that is not this piece of
/// `model`: tokens beyond the model's are not supported.
absl::Status CheckAddedTokens(const nlohmann::json& added, const SentencePieceModel& model);

/// InvalidArgument names a special token of `config` (tokenizer_config.json, joined with
/// special_tokens_map.json) that is no piece of `model`.
absl::Status CheckSpecialTokens(const nlohmann::json& config, const SentencePieceModel& model);

/// Returns the tokenizer of a SentencePiece model; `config` is the tokenizer_config.json next to
/// it, or an empty object. InvalidArgument names a requested feature that is not supported: added
/// tokens that are not the model's pieces, or an `add_prefix_space` other than the model's.
absl::StatusOr<std::unique_ptr<Tokenizer>> MakeSentencePieceTokenizer(
    std::unique_ptr<SentencePieceModel> model, const nlohmann::json& config);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_SENTENCEPIECE_TOKENIZER_H_

#ifndef SHORTLIST_TEXT_SENTENCEPIECE_TOKENIZER_H_
#define SHORTLIST_TEXT_SENTENCEPIECE_TOKENIZER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/sentencepiece/model.h"
#include "text/tokenizer.h"

namespace shortlist {

/// Calls SentencePieceModel::Load and returns its problem as InvalidArgument.
absl::StatusOr<std::unique_ptr<SentencePieceModel>> LoadSentencePieceModel(
    const std::string& serialized);

/// Returns the tokenizer of a SentencePiece model; `config` is the tokenizer_config.json next to
/// it, or an empty object. InvalidArgument names a requested feature that is not supported: tokens
/// beyond those of the model, or an `add_prefix_space` other than the model's.
absl::StatusOr<std::unique_ptr<Tokenizer>> MakeSentencePieceTokenizer(
    std::unique_ptr<SentencePieceModel> model, const nlohmann::json& config);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_SENTENCEPIECE_TOKENIZER_H_

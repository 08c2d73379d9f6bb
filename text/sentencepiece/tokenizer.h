#ifndef SHORTLIST_TEXT_SENTENCEPIECE_TOKENIZER_H_
#define SHORTLIST_TEXT_SENTENCEPIECE_TOKENIZER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/sentencepiece/model.h"
#include "text/tokenizer.h"

namespace shortlist {

/// SentencePieceModel::Load with its problem as InvalidArgument.
absl::StatusOr<std::unique_ptr<SentencePieceModel>> LoadSentencePieceModel(
    const std::string& serialized);

/// The tokenizer of a SentencePiece model; `config` is the tokenizer_config.json beside it, or an
/// empty object. InvalidArgument names what the configuration asks for that is not supported:
/// tokens beyond those of the model, an `add_prefix_space` other than the model's.
absl::StatusOr<std::unique_ptr<Tokenizer>> MakeSentencePieceTokenizer(
    std::unique_ptr<SentencePieceModel> model, const nlohmann::json& config);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_SENTENCEPIECE_TOKENIZER_H_

#ifndef SHORTLIST_TEXT_TOKENIZER_WORDS_JSON_MODEL_H_
#define SHORTLIST_TEXT_TOKENIZER_WORDS_JSON_MODEL_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer/words/word_model.h"

namespace shortlist {

/// The member "model" of a tokenizer.json.
struct JsonModel {
  std::string kind;  // "BPE", "WordPiece", "WordLevel" or "Unigram"
  std::unique_ptr<const Vocabulary> vocabulary;
  std::unique_ptr<const WordModel> model;
};

/// True if the model accepts words as plain bytes (BpeModel::Options::byte_level).
bool CanTakeBytes(const nlohmann::json& spec);

/// `byte_level`: words are plain bytes. `unk` replaces the unknown token of a BPE or WordPiece
/// model, if the vocabulary has it. InvalidArgument names the member that is wrong or not
/// supported.
absl::StatusOr<JsonModel> ParseModel(const nlohmann::json& spec, bool byte_level,
                                     const std::optional<std::string>& unk = std::nullopt);

/// Returns the model's "end_of_word_suffix"; empty if there is none.
absl::StatusOr<std::string> ReadEndOfWordSuffix(const nlohmann::json& spec);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_WORDS_JSON_MODEL_H_

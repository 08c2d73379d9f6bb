#ifndef SHORTLIST_TEXT_TOKENIZER_WORDS_JSON_MODEL_H_
#define SHORTLIST_TEXT_TOKENIZER_WORDS_JSON_MODEL_H_

#include <cstdint>
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

/// What a tokenizer class sets instead of "model"; members that are not set leave it as it is.
struct ModelSettings {
  /// The unknown token is `unk` if the vocabulary has it, otherwise `unk_id`.
  std::optional<std::string> unk = std::nullopt;
  std::optional<int32_t> unk_id = std::nullopt;  // Unigram only
  bool unk_needs_score_0 = false;                // Unigram: `unk` counts only if its score is 0
  bool has_unk = true;                           // BPE: false drops unknown characters
  std::optional<bool> byte_fallback = std::nullopt;
  std::optional<bool> fuse_unk = std::nullopt;       // BPE only
  std::optional<bool> ignore_merges = std::nullopt;  // BPE only
  bool is_usual_word_piece = false;  // WordPiece: the prefix is "##", words have 100 characters
};

/// `byte_level`: words are plain bytes. InvalidArgument names the member that is wrong or not
/// supported, or the `unk_id` that the vocabulary lacks.
absl::StatusOr<JsonModel> ParseModel(const nlohmann::json& spec, bool byte_level,
                                     const ModelSettings& settings = {});

/// Returns the model's "end_of_word_suffix"; empty if there is none.
absl::StatusOr<std::string> ReadEndOfWordSuffix(const nlohmann::json& spec);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_WORDS_JSON_MODEL_H_

#ifndef SHORTLIST_TEXT_TOKENIZER_WORDS_WORD_LEVEL_MODEL_H_
#define SHORTLIST_TEXT_TOKENIZER_WORDS_WORD_LEVEL_MODEL_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer/words/word_model.h"

namespace shortlist {

/// Encodes a word as its token, or as the unknown token.
class WordLevelModel final : public WordModel {
 public:
  /// `vocabulary` must outlive this.
  WordLevelModel(const Vocabulary& vocabulary, int32_t unk) : vocabulary_(vocabulary), unk_(unk) {}

  absl::Status Encode(std::string_view word, EncodeScratch&,
                      std::vector<TokenId>& ids) const override {
    ids.push_back(TokenId{vocabulary_.Find(word).value_or(unk_)});
    return absl::OkStatus();
  }
  /// nullopt: a word of any length may be unknown.
  std::optional<int64_t> max_token_bytes() const override { return std::nullopt; }

 private:
  const Vocabulary& vocabulary_;
  const int32_t unk_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_WORDS_WORD_LEVEL_MODEL_H_

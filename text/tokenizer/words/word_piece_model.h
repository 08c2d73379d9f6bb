#ifndef SHORTLIST_TEXT_TOKENIZER_WORDS_WORD_PIECE_MODEL_H_
#define SHORTLIST_TEXT_TOKENIZER_WORDS_WORD_PIECE_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer/words/byte_trie.h"
#include "text/tokenizer/words/word_model.h"

namespace shortlist {

/// BERT's WordPiece (Devlin et al. 2019): from the left, takes the longest token that fits. Tokens
/// that continue a word begin with a prefix. A word that cannot be covered is unknown as a whole.
class WordPieceModel final : public WordModel {
 public:
  struct Options {
    int32_t unk = 0;
    std::string continuing_subword_prefix = "##";
    int64_t max_input_chars_per_word = 100;  // a longer word is unknown
  };

  WordPieceModel(const Vocabulary& vocabulary, Options options);

  absl::Status Encode(std::string_view word, EncodeScratch& scratch,
                      std::vector<TokenId>& ids) const override;
  /// nullopt: a word of any length may be unknown.
  std::optional<int64_t> max_token_bytes() const override { return std::nullopt; }

 private:
  const Options options_;
  ByteTrie first_;         // tokens as they are spelled
  ByteTrie continuation_;  // tokens that begin with the prefix, spelled without it
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_WORDS_WORD_PIECE_MODEL_H_

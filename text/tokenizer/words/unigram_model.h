#ifndef SHORTLIST_TEXT_TOKENIZER_WORDS_UNIGRAM_MODEL_H_
#define SHORTLIST_TEXT_TOKENIZER_WORDS_UNIGRAM_MODEL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer/words/byte_trie.h"
#include "text/tokenizer/words/word_model.h"

namespace shortlist {

/// The unigram language model (Kudo 2018): splits a word into the tokens of highest total score,
/// found by Viterbi's algorithm. A character without a token scores 10 less than the lowest score;
/// adjacent characters of that kind become one unknown token.
class UnigramModel final : public WordModel {
 public:
  /// `vocabulary` must outlive the model; `scores` [vocabulary.size()] are finite; `unk` is a
  /// token. `byte_fallback`: unknown text becomes tokens <0x00> to <0xFF>, if these exist.
  UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores, int32_t unk,
               bool byte_fallback);

  absl::Status Encode(std::string_view word, EncodeScratch& scratch,
                      std::vector<TokenId>& ids) const override;
  /// nullopt unless byte tokens stand for unknown text.
  std::optional<int64_t> max_token_bytes() const override { return max_token_bytes_; }

 private:
  absl::Status FindBestPath(std::string_view word, EncodeScratch& scratch) const;
  void AppendUnknown(std::string_view part, std::vector<TokenId>& ids) const;

  const Vocabulary& vocabulary_;
  const std::vector<double> scores_;
  const int32_t unk_;
  const bool byte_fallback_;
  double unk_score_;
  ByteTrie tokens_;
  std::array<std::optional<int32_t>, 256> fallback_ids_;
  std::optional<int64_t> max_token_bytes_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_WORDS_UNIGRAM_MODEL_H_

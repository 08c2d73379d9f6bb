#ifndef SHORTLIST_TEXT_TOKENIZER_WORDS_BPE_MODEL_H_
#define SHORTLIST_TEXT_TOKENIZER_WORDS_BPE_MODEL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer/words/word_model.h"

namespace shortlist {

/// Byte-pair encoding (Sennrich et al. 2016). A word begins as its characters. While any adjacent
/// symbols have a merge, the pair of lowest rank, the leftmost of equal ones, becomes one symbol.
class BpeModel final : public WordModel {
 public:
  struct Options {
    /// Words are plain bytes, and the vocabulary spells them in GPT-2's byte alphabet.
    bool byte_level = false;
    /// A word that is a token is encoded as that token, regardless of the merges.
    bool ignore_merges = false;
    /// Characters without a token become tokens <0x00> to <0xFF>, if these exist.
    bool byte_fallback = false;
    /// Adjacent characters without a token become one unknown token, not one each.
    bool fuse_unk = false;
    /// The unknown token. If nullopt, characters without a token are dropped.
    std::optional<int32_t> unk;
    /// Added before each character but the first, and after the last one, before it is looked up.
    std::string continuing_subword_prefix;
    std::string end_of_word_suffix;
  };
  using Merges = std::vector<std::pair<std::string, std::string>>;

  /// `vocabulary` must outlive the model. `merges` are in rank order; if a pair repeats, the last
  /// one is used. InvalidArgument names a merge whose parts or result the vocabulary lacks.
  static absl::StatusOr<std::unique_ptr<BpeModel>> Create(const Vocabulary& vocabulary,
                                                          const Merges& merges, Options options);

  /// Creates a model of ranks alone (tiktoken). `vocabulary`, which must outlive the model, spells
  /// bytes as they are; its ids are the ranks. Two tokens merge if their joined bytes are a token.
  /// InvalidArgument names a byte that has no token.
  static absl::StatusOr<std::unique_ptr<BpeModel>> CreateFromRanks(const Vocabulary& vocabulary);

  /// Creates a model of scored tokens (SentencePiece), {id, score}. Two of them merge if their
  /// joined characters are one of them; the highest score merges first. Characters without a token
  /// become tokens <0x00> to <0xFF> of `vocabulary`, which must outlive the model.
  static std::unique_ptr<BpeModel> CreateFromScores(
      const Vocabulary& vocabulary, const std::vector<std::pair<int32_t, float>>& tokens);

  absl::Status Encode(std::string_view word, EncodeScratch& scratch,
                      std::vector<TokenId>& ids) const override;
  /// nullopt if adjacent characters without a token become one unknown token or are dropped.
  std::optional<int64_t> max_token_bytes() const override { return max_token_bytes_; }
  bool drops_words() const override { return drops_words_; }
  bool SplitsBeforeSpaceMarks() const override { return splits_before_space_marks_; }

 private:
  struct Merge {
    uint32_t rank;
    int32_t id;
  };
  using Symbol = EncodeScratch::Symbol;

  BpeModel(const Vocabulary& vocabulary, Options options)
      : vocabulary_(vocabulary), options_(std::move(options)) {}
  absl::Status AddMerges(const Merges& merges);
  void FindBytes();
  void FindMaxTokenBytes(bool spelled_in_alphabet);

  const Merge* FindMerge(int32_t left, int32_t right) const {
    const auto found = merges_.find(PairKey(left, right));
    return found == merges_.end() ? nullptr : &found->second;
  }
  static uint64_t PairKey(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  std::optional<int32_t> FindWord(std::string_view word) const;

  void AppendBytes(std::string_view word, std::vector<Symbol>& symbols) const;
  void AppendCharacters(std::string_view word, std::vector<Symbol>& symbols) const;
  void AppendUnknown(bool& after_unknown, std::vector<Symbol>& symbols) const;
  bool AppendFallback(std::string_view character, std::vector<Symbol>& symbols) const;
  void MergeShort(std::vector<Symbol>& symbols) const;
  absl::Status MergeLong(EncodeScratch& scratch) const;

  const Vocabulary& vocabulary_;
  const Options options_;
  absl::flat_hash_map<uint64_t, Merge> merges_;
  std::array<int32_t, 256> byte_ids_;       // tokens of single bytes; -1 if there is none
  std::array<int32_t, 256> last_byte_ids_;  // tokens of a byte with the end-of-word suffix, or -1
  std::array<int32_t, 256> fallback_ids_;   // <0x00> to <0xFF>
  // Words as bytes, for ignore_merges if the vocabulary spells them in the byte alphabet.
  absl::flat_hash_map<std::string, int32_t> word_ids_;
  bool splits_before_space_marks_ = false;
  bool drops_words_ = false;
  std::optional<int64_t> max_token_bytes_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_WORDS_BPE_MODEL_H_

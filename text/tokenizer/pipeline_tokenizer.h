#ifndef SHORTLIST_TEXT_TOKENIZER_PIPELINE_TOKENIZER_H_
#define SHORTLIST_TEXT_TOKENIZER_PIPELINE_TOKENIZER_H_

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "text/tokenizer.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/decoder.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/sequence_template.h"
#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer/words/word_cache.h"
#include "text/tokenizer/words/word_model.h"

namespace shortlist {

/// The parts of a tokenizer. A text passes through these steps in order:
/// - added tokens that are not normalised are cut out;
/// - the rest is normalised;
/// - the other added tokens are cut out;
/// - the rest is split into words;
/// - the model encodes each word;
/// - the template adds tokens around the whole.
struct TokenizerPipeline {
  std::string kind;                              // Tokenizer::kind
  std::unique_ptr<const Vocabulary> vocabulary;  // the model refers to it
  std::unique_ptr<const WordModel> model;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::vector<AddedToken> added_tokens;
  TokenDecoder decoder;
  bool cleans_up_spaces = false;  // Tokenizer::cleans_up_spaces
  SequenceTemplate sequence_template;
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::vector<std::string> warnings;  // Tokenizer::warnings

  /// Returns the id of an added token, or of a token of the vocabulary.
  std::optional<int32_t> FindToken(std::string_view token) const;
  /// Returns the highest id plus one.
  int32_t size() const;
};

/// A Tokenizer made of a TokenizerPipeline. Words are cached; threads share only immutable data.
class PipelineTokenizer final : public Tokenizer {
 public:
  /// InvalidArgument if the spelling of an added token cannot be normalised, or becomes too long,
  /// and as TokenDecoder::Read.
  static absl::StatusOr<std::unique_ptr<Tokenizer>> Create(TokenizerPipeline pipeline);

  std::string_view kind() const override { return pipeline_.kind; }
  int64_t size() const override { return static_cast<int64_t>(texts_.size()); }
  std::string_view TokenBytes(TokenId id) const override { return texts_[Checked(id)]; }
  bool IsSpecial(TokenId id) const override { return is_special_[Checked(id)]; }
  std::string_view ControlPiece(TokenId id) const override;
  std::optional<TokenId> bos() const override { return pipeline_.bos; }
  std::optional<TokenId> eos() const override { return pipeline_.eos; }
  std::optional<int64_t> max_token_bytes() const override { return max_token_bytes_; }
  std::span<const std::string> warnings() const override { return pipeline_.warnings; }
  bool adds_leading_space() const override { return pipeline_.decoder.strips_leading_space; }
  bool strips_trailing_space() const override { return pipeline_.decoder.strips_trailing_space; }
  Replacement replacement() const override {
    return pipeline_.decoder.has_byte_tokens ? Replacement::kPerByte : Replacement::kPerSubpart;
  }
  bool cleans_up_spaces() const override { return pipeline_.cleans_up_spaces; }
  bool IsByteToken(TokenId id) const override {
    return pipeline_.decoder.has_byte_tokens && is_byte_[Checked(id)];
  }
  std::string_view NextBytes(TokenId id, bool& at_start) const override;
  std::string_view NextSpelling(TokenId id, bool& at_start) const override;

 protected:
  absl::Status EncodeText(std::string_view text, const EncodeOptions& options, EncodeBudget& budget,
                          std::vector<TokenId>& ids) const override;
  const SequenceTemplate& sequence_template() const override { return pipeline_.sequence_template; }

 private:
  struct Scratch;

  PipelineTokenizer(TokenizerPipeline pipeline,
                    const std::vector<std::string>& normalized_spellings);
  absl::Status ReadTokens(const std::vector<std::string>& normalized_spellings);
  void FindMaxTokenBytes(const std::vector<std::string>& normalized_spellings);
  int32_t Checked(TokenId id) const;

  /// Data of one call: the caller's ids and budget, and scratch memory of the pool.
  struct Call;
  absl::Status EncodeParts(std::string_view text, Call& call) const;
  absl::Status EncodePart(std::string_view part, std::string_view text, Call& call) const;
  absl::Status SplitNormalized(std::string_view part, std::string_view text,
                               NormalizedText& normalized, Call& call) const;
  absl::Status EncodeWords(std::string_view text, bool at_origin, Call& call) const;
  absl::Status EncodeBertText(std::string_view text, Call& call) const;
  absl::Status EncodeBertChunk(std::string_view chunk, Call& call) const;
  /// Returns `status` with the model and the size of `word` before its message.
  absl::Status InModel(const absl::Status& status, std::string_view word) const;

  const TokenizerPipeline pipeline_;
  const AddedTokenMatcher raw_matcher_;
  const AddedTokenMatcher normalized_matcher_;
  const bool is_bert_;                        // EncodeBertText applies
  const bool words_have_ids_;                 // every word has at least one id
  std::optional<int64_t> word_bytes_per_id_;  // of normalised text; nullopt: unbounded
  std::optional<int64_t> max_token_bytes_;
  std::vector<std::string> texts_;        // [size] bytes of each token
  std::vector<std::string> first_texts_;  // [size] bytes at the start of a text; may be empty
  std::vector<bool> is_special_;          // [size]
  std::vector<bool> is_byte_;             // [size]; empty without byte tokens
  std::vector<std::string> spellings_;    // [size] of special tokens
  struct ShownSpelling {
    std::string first, later;  // at the start of a text, and after other tokens
  };
  std::map<int32_t, ShownSpelling> shown_;  // of special tokens
  mutable LendingPool<Scratch> scratch_pool_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_PIPELINE_TOKENIZER_H_

#ifndef SHORTLIST_TEXT_TOKENIZER_SPLIT_PATTERN_H_
#define SHORTLIST_TEXT_TOKENIZER_SPLIT_PATTERN_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace shortlist {

/// The regular expressions with which most byte-level tokenizers split words, implemented by hand:
/// the same pieces, many times faster. The pieces cover any text without gaps.
enum class SplitPattern {
  kGpt2,    // GPT-2, RoBERTa, GPT-NeoX, Phi
  kLlama3,  // cl100k, Llama 3: digits in threes
  kQwen2,   // Qwen 1 to 3: digits one by one
};

/// GPT-2's expression, which the ByteLevel pre-tokenizer implies.
extern const std::string_view kGpt2Expression;
/// The expression of Qwen 1 to 3.
extern const std::string_view kQwen2Expression;

std::optional<SplitPattern> FindSplitPattern(std::string_view expression);

/// Returns the end of the piece of `text` (valid UTF-8) that begins at `from` < text.size().
size_t PieceEnd(SplitPattern pattern, std::string_view text, size_t from);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_SPLIT_PATTERN_H_

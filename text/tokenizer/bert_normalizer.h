#ifndef SHORTLIST_TEXT_TOKENIZER_BERT_NORMALIZER_H_
#define SHORTLIST_TEXT_TOKENIZER_BERT_NORMALIZER_H_

#include <string>
#include <utility>

#include "text/tokenizer/normalizer.h"
#include "text/unicode.h"

namespace shortlist {

/// BERT's normalisation. Each flag enables one step, in this order: remove control characters and
/// replace white space by spaces; put spaces around Chinese characters; remove accents; lower case.
struct BertNormalizer final : public NormalizerStep {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;

  absl::Status Apply(NormalizedText& text) const override;
};

/// Rewrites `text` by calling rewrite(char32_t, std::string& out) for each character.
template <typename Rewrite>
void RewriteCharacters(NormalizedText& text, const Rewrite& rewrite) {
  std::string out;
  out.reserve(text.text.size());
  for (size_t i = 0; i < text.text.size();) {
    rewrite(NextChar(text.text, i), out);
    if (out.empty()) text.at_origin = false;
  }
  text.text = std::move(out);
}

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_BERT_NORMALIZER_H_

#include "text/tokenizer/bert_normalizer.h"

namespace shortlist {
namespace {

/// True for the blocks that BERT's reference implementation treats as Chinese, with its gap after
/// U+2B81F.
bool IsChinese(char32_t c) {
  constexpr char32_t kBlocks[][2] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                     {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                     {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  if (c < 0x3400) return false;
  for (const auto& [low, high] : kBlocks) {
    if (c >= low && c <= high) return true;
  }
  return false;
}

void AppendClean(char32_t c, std::string& out) {
  const uint8_t flags = CharTable::Get().flags(c);
  const bool is_space = (flags & kWhiteSpace) != 0;
  const bool is_control = (flags & kOtherCategory) != 0 && c != '\t' && c != '\n' && c != '\r';
  if (c == 0xFFFD || is_control) return;
  AppendChar(is_space ? U' ' : c, out);
}

void AppendApart(char32_t c, std::string& out) {
  const bool is_chinese = IsChinese(c);
  if (is_chinese) out.push_back(' ');
  AppendChar(c, out);
  if (is_chinese) out.push_back(' ');
}

}  // namespace

absl::Status BertNormalizer::Apply(NormalizedText& text) const {
  if (clean_text) RewriteCharacters(text, AppendClean);
  if (handle_chinese_chars) RewriteCharacters(text, AppendApart);
  if (strip_accents) {
    std::optional<std::string> apart = NormalizeWithin(text.text, NormalForm::kNfd, text.max_bytes);
    if (!apart.has_value()) return EncodeBudget::TextGrowsTooLong();
    text.text = *std::move(apart);
    RewriteCharacters(text, [](char32_t c, std::string& out) {
      if ((CharTable::Get().flags(c) & kNonSpacing) == 0) AppendChar(c, out);
    });
  }
  if (lowercase) RewriteCharacters(text, AppendLowerCase);
  return absl::OkStatus();
}

}  // namespace shortlist

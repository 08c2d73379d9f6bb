#ifndef SHORTLIST_TEXT_TOKENIZER_CLASS_PIECES_H_
#define SHORTLIST_TEXT_TOKENIZER_CLASS_PIECES_H_

#include <cstdint>
#include <optional>

#include "nlohmann/json.hpp"
#include "text/tokenizer/tokenizer_class.h"

/// What the builders of tokenizer classes share: steps as tokenizer.json spells them, templates and
/// default tokens.
namespace shortlist::class_pieces {

using SpecialTokens = decltype(ClassParts::special_tokens);

inline constexpr char kSpaceMark[] = "\xE2\x96\x81";

/// `member`: "normalizers", "pretokenizers" or "decoders".
nlohmann::json Sequence(const char* member, nlohmann::json steps);
nlohmann::json ReplaceRegex(const char* expression, const char* content);
nlohmann::json ReplaceText(const char* text, const char* content);
nlohmann::json MetaspaceOf(const char* prepend_scheme, bool split = true);

/// Returns the normalizer of type Precompiled in `normalizer` or in its sequence; null if none.
nlohmann::json FindCharsmap(const nlohmann::json& normalizer);

/// Returns a template of CLS at the start and SEP after each text, with ids for null members.
ClassTemplate ClsAndSep(std::optional<int32_t> cls_if_null = std::nullopt,
                        std::optional<int32_t> sep_if_null = std::nullopt);

/// Returns a template of type 0: `first` at the start, `last` after each text and twice between
/// texts.
ClassTemplate DoubleSeparator(ClassTemplate::Part first, ClassTemplate::Part last);

SpecialTokens BertTokens();
SpecialTokens DebertaTokens();
SpecialTokens RobertaTokens();

}  // namespace shortlist::class_pieces

#endif  // SHORTLIST_TEXT_TOKENIZER_CLASS_PIECES_H_

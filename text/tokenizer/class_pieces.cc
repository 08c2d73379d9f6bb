#include "text/tokenizer/class_pieces.h"

#include <utility>

namespace shortlist::class_pieces {

using nlohmann::json;

json Sequence(const char* member, json steps) {
  return {{"type", "Sequence"}, {member, std::move(steps)}};
}

json ReplaceRegex(const char* expression, const char* content) {
  return {{"type", "Replace"}, {"pattern", {{"Regex", expression}}}, {"content", content}};
}

json ReplaceText(const char* text, const char* content) {
  return {{"type", "Replace"}, {"pattern", {{"String", text}}}, {"content", content}};
}

json MetaspaceOf(const char* prepend_scheme, bool split) {
  return {{"type", "Metaspace"},
          {"replacement", kSpaceMark},
          {"prepend_scheme", prepend_scheme},
          {"split", split}};
}

json FindCharsmap(const json& normalizer) {
  if (!normalizer.is_object()) return nullptr;
  const auto is_charsmap = [](const json& step) {
    return step.is_object() && step.contains("type") && step["type"] == "Precompiled";
  };
  if (is_charsmap(normalizer)) return normalizer;
  if (!normalizer.contains("normalizers") || !normalizer["normalizers"].is_array()) return nullptr;
  for (const json& step : normalizer["normalizers"]) {
    if (is_charsmap(step)) return step;
  }
  return nullptr;
}

ClassTemplate ClsAndSep(std::optional<int32_t> cls_if_null, std::optional<int32_t> sep_if_null) {
  const ClassTemplate::Part cls{"cls_token", 0, cls_if_null};
  const ClassTemplate::Part sep{"sep_token", 0, sep_if_null};
  return {.single = {cls, {"A"}, sep},
          .pair = {cls, {"A"}, sep, {"B", 1}, {"sep_token", 1, sep_if_null}}};
}

ClassTemplate DoubleSeparator(ClassTemplate::Part first, ClassTemplate::Part last) {
  return {.single = {first, {"A"}, last}, .pair = {first, {"A"}, last, last, {"B"}, last}};
}

SpecialTokens BertTokens() {
  return {{"unk_token", "[UNK]"},
          {"sep_token", "[SEP]"},
          {"pad_token", "[PAD]"},
          {"cls_token", "[CLS]"},
          {"mask_token", "[MASK]"}};
}

SpecialTokens DebertaTokens() {
  SpecialTokens tokens = BertTokens();
  tokens.emplace_back("bos_token", "[CLS]");
  tokens.emplace_back("eos_token", "[SEP]");
  return tokens;
}

SpecialTokens RobertaTokens() {
  return {{"bos_token", "<s>"},    {"eos_token", "</s>"},  {"sep_token", "</s>"},
          {"cls_token", "<s>"},    {"unk_token", "<unk>"}, {"pad_token", "<pad>"},
          {"mask_token", "<mask>"}};
}

}  // namespace shortlist::class_pieces

#include "text/tokenizer/normalizer.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/bert_normalizer.h"
#include "text/tokenizer/charsmap.h"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/pattern.h"
#include "text/unicode.h"

namespace shortlist {
namespace {

using nlohmann::json;

/// A step that calls `rewrite(char32_t, std::string& out)` for each character.
template <typename Rewrite>
class CharacterStep final : public NormalizerStep {
 public:
  CharacterStep(Rewrite rewrite, std::optional<int64_t> max_shrinkage)
      : rewrite_(rewrite), max_shrinkage_(max_shrinkage) {}
  absl::Status Apply(NormalizedText& text) const override {
    RewriteCharacters(text, rewrite_);
    return absl::OkStatus();
  }
  std::optional<int64_t> max_shrinkage() const override { return max_shrinkage_; }

 private:
  const Rewrite rewrite_;
  const std::optional<int64_t> max_shrinkage_;
};

template <typename Rewrite>
std::unique_ptr<NormalizerStep> MakeCharacterStep(
    Rewrite rewrite, std::optional<int64_t> max_shrinkage = std::nullopt) {
  return std::make_unique<CharacterStep<Rewrite>>(rewrite, max_shrinkage);
}

class FormStep final : public NormalizerStep {
 public:
  explicit FormStep(NormalForm form) : form_(form) {}
  absl::Status Apply(NormalizedText& text) const override {
    std::optional<std::string> normalized = NormalizeWithin(text.text, form_, text.max_bytes);
    if (!normalized.has_value()) return EncodeBudget::TextGrowsTooLong();
    text.text = *std::move(normalized);
    return absl::OkStatus();
  }
  /// Characters of 3 and 4 bytes may become one byte. A base with its marks (8 bytes and more) may
  /// become one character of 2 bytes.
  std::optional<int64_t> max_shrinkage() const override { return 8; }

 private:
  const NormalForm form_;
};

class CharsmapStep final : public NormalizerStep {
 public:
  explicit CharsmapStep(Charsmap map) : map_(std::move(map)) {}
  absl::Status Apply(NormalizedText& text) const override {
    std::optional<std::string> normalized = map_.Normalize(text.text, text.max_bytes);
    if (!normalized.has_value()) return EncodeBudget::TextGrowsTooLong();
    text.text = *std::move(normalized);
    return absl::OkStatus();
  }

 private:
  const Charsmap map_;
};

class PrependStep final : public NormalizerStep {
 public:
  explicit PrependStep(std::string prefix) : prefix_(std::move(prefix)) {}
  absl::Status Apply(NormalizedText& text) const override {
    if (!text.text.empty()) text.text.insert(0, prefix_);
    return absl::OkStatus();
  }
  std::optional<int64_t> max_shrinkage() const override { return 1; }

 private:
  const std::string prefix_;
};

class StripStep final : public NormalizerStep {
 public:
  StripStep(bool left, bool right) : left_(left), right_(right) {}
  absl::Status Apply(NormalizedText& text) const override {
    const CharTable& table = CharTable::Get();
    const std::string_view all = text.text;
    size_t begin = 0, end = all.size();
    for (size_t next = 0; left_ && begin < end; begin = next) {
      if ((table.flags(NextChar(all, next)) & kWhiteSpace) == 0) break;
    }
    while (right_ && end > begin) {
      const PreviousChar last = CharBefore(all, end);
      if ((table.flags(last.c) & kWhiteSpace) == 0) break;
      end = last.begin;
    }
    if (begin > 0) text.at_origin = false;
    text.text = std::string(all.substr(begin, end - begin));
    return absl::OkStatus();
  }

 private:
  const bool left_, right_;
};

class ReplaceStep final : public NormalizerStep {
 public:
  ReplaceStep(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  absl::Status Apply(NormalizedText& text) const override {
    if (text.text.empty()) return absl::OkStatus();
    std::string replaced;
    size_t done = 0;
    bool has_match = false;
    bool at_origin = text.at_origin;
    SHORTLIST_RETURN_IF_ERROR(
        pattern_.ForEachMatch(text.text, text.budget, [&](Match match) -> absl::Status {
          // A replacement of several characters counts as standing for the last of them.
          if (match.begin == 0 && (content_.empty() || match.end > SequenceSize(text.text[0]))) {
            at_origin = false;
          }
          if (!has_match) replaced.reserve(text.text.size());
          has_match = true;
          replaced.append(text.text, done, match.begin - done);
          replaced.append(content_);
          done = match.end;
          return replaced.size() > text.max_bytes ? EncodeBudget::TextGrowsTooLong()
                                                  : absl::OkStatus();
        }));
    if (!has_match) return absl::OkStatus();
    replaced.append(text.text, done);
    text.text = std::move(replaced);
    text.at_origin = at_origin;
    return absl::OkStatus();
  }
  std::optional<int64_t> max_shrinkage() const override {
    if (pattern_.regex.has_value() || content_.empty()) return std::nullopt;
    return static_cast<int64_t>(pattern_.literal.size() / content_.size() + 1);
  }

 private:
  const Pattern pattern_;
  const std::string content_;
};

/// Spells bytes in GPT-2's alphabet.
class ByteLevelStep final : public NormalizerStep {
 public:
  absl::Status Apply(NormalizedText& text) const override {
    std::string spelled;
    for (const char c : text.text) AppendChar(ByteAlphabet()[static_cast<uint8_t>(c)], spelled);
    text.text = std::move(spelled);
    return absl::OkStatus();
  }
  std::optional<int64_t> max_shrinkage() const override { return 1; }
};

/// Applies SentencePiece's "nmt" rules.
void RewriteForNmt(char32_t c, std::string& out) {
  if ((c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
      c == 0x9F) {
    return;
  }
  const bool is_space = c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                        (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                        c == 0xFEFF || c == 0xFFFD;
  AppendChar(is_space ? U' ' : c, out);
}

std::optional<NormalForm> FindForm(const std::string& type) {
  if (type == "NFC") return NormalForm::kNfc;
  if (type == "NFD") return NormalForm::kNfd;
  if (type == "NFKC") return NormalForm::kNfkc;
  if (type == "NFKD") return NormalForm::kNfkd;
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<NormalizerStep>> ParseBert(const json& spec) {
  BertNormalizer bert;
  SHORTLIST_ASSIGN_OR_RETURN(bert.clean_text, ReadBool(spec, "clean_text", true));
  SHORTLIST_ASSIGN_OR_RETURN(bert.handle_chinese_chars,
                             ReadBool(spec, "handle_chinese_chars", true));
  SHORTLIST_ASSIGN_OR_RETURN(bert.lowercase, ReadBool(spec, "lowercase", true));
  SHORTLIST_ASSIGN_OR_RETURN(bert.strip_accents, ReadBool(spec, "strip_accents", bert.lowercase));
  return std::make_unique<BertNormalizer>(bert);
}

absl::StatusOr<std::unique_ptr<NormalizerStep>> ParseCharsmap(const json& spec) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string encoded,
                             ReadString(spec, "precompiled_charsmap", ""));
  if (encoded.empty()) return nullptr;
  std::string bytes;
  if (!absl::Base64Unescape(encoded, &bytes)) {
    return absl::InvalidArgumentError("precompiled_charsmap is not Base64");
  }
  SHORTLIST_ASSIGN_OR_RETURN(Charsmap map, Charsmap::Parse(bytes));
  return std::make_unique<CharsmapStep>(std::move(map));
}

/// Returns null if the step has no effect.
absl::StatusOr<std::unique_ptr<NormalizerStep>> ParseStep(const std::string& type,
                                                          const json& spec) {
  if (const auto form = FindForm(type)) return std::make_unique<FormStep>(*form);
  if (type == "BertNormalizer") return ParseBert(spec);
  if (type == "Precompiled") return ParseCharsmap(spec);
  if (type == "Lowercase") return MakeCharacterStep(AppendLowerCase, /*max_shrinkage=*/4);
  if (type == "Nmt") return MakeCharacterStep(RewriteForNmt);
  if (type == "ByteLevel") return std::make_unique<ByteLevelStep>();
  if (type == "StripAccents") {
    return MakeCharacterStep([](char32_t c, std::string& out) {
      if ((CharTable::Get().flags(c) & kMark) == 0) AppendChar(c, out);
    });
  }
  if (type == "Strip") {
    SHORTLIST_ASSIGN_OR_RETURN(const bool left, ReadBool(spec, "strip_left", true));
    SHORTLIST_ASSIGN_OR_RETURN(const bool right, ReadBool(spec, "strip_right", true));
    return std::make_unique<StripStep>(left, right);
  }
  if (type == "Prepend") {
    SHORTLIST_ASSIGN_OR_RETURN(std::string prefix, ReadString(spec, "prepend"));
    return std::make_unique<PrependStep>(std::move(prefix));
  }
  if (type == "Replace") {
    SHORTLIST_ASSIGN_OR_RETURN(Pattern pattern, ParsePattern(spec));
    if (pattern.literal.empty() && pattern.expression.empty()) {
      return absl::InvalidArgumentError(
          "Replace with an empty pattern, which would put its content between all characters");
    }
    SHORTLIST_ASSIGN_OR_RETURN(std::string content, ReadString(spec, "content"));
    return std::make_unique<ReplaceStep>(std::move(pattern), std::move(content));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("normalizer type \"", Excerpt(type), "\" is not supported"));
}

absl::Status AppendSteps(const json& spec, Normalizer& steps) {
  if (spec.is_null()) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(const std::string type, ReadString(spec, "type"));
  if (type == "Sequence") {
    SHORTLIST_ASSIGN_OR_RETURN(const json* members, ReadArray(spec, "normalizers"));
    for (const json& member : *members) SHORTLIST_RETURN_IF_ERROR(AppendSteps(member, steps));
    return absl::OkStatus();
  }
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<NormalizerStep> step, ParseStep(type, spec));
  if (step != nullptr) steps.push_back(std::move(step));
  if (steps.size() <= kMaxSteps) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxSteps, " steps"));
}

}  // namespace

std::unique_ptr<NormalizerStep> MakeNormalFormStep(NormalForm form) {
  return std::make_unique<FormStep>(form);
}

absl::Status Apply(const Normalizer& normalizer, NormalizedText& text) {
  for (const auto& step : normalizer) {
    SHORTLIST_RETURN_IF_ERROR(step->Apply(text));
    if (text.text.size() > text.max_bytes) return EncodeBudget::TextGrowsTooLong();
    if (text.budget == nullptr) continue;
    const absl::Status status = text.budget->CheckTime();
    if (!status.ok()) return Within("normalizer", status);
  }
  return absl::OkStatus();
}

std::optional<int64_t> MaxShrinkage(const Normalizer& normalizer) {
  constexpr int64_t kNoHelp = int64_t{1} << 24;  // one byte for the longest possible text
  int64_t product = 1;
  for (const auto& step : normalizer) {
    const std::optional<int64_t> factor = step->max_shrinkage();
    if (!factor.has_value() || *factor >= kNoHelp) return std::nullopt;
    product *= *factor;
    if (product >= kNoHelp) return std::nullopt;
  }
  return product;
}

absl::StatusOr<Normalizer> ParseNormalizer(const json& spec) {
  Normalizer steps;
  const absl::Status status = AppendSteps(spec, steps);
  if (!status.ok()) return Within("normalizer", status);
  return steps;
}

}  // namespace shortlist

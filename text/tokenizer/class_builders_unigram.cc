#include <cstdint>
#include <utility>

#include "base/status_macros.h"
#include "text/tokenizer/class_builders.h"
#include "text/tokenizer/class_pieces.h"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/vocabulary.h"

namespace shortlist {

using class_pieces::ClsAndSep;
using class_pieces::DebertaTokens;
using class_pieces::DoubleSeparator;
using class_pieces::FindCharsmap;
using class_pieces::kSpaceMark;
using class_pieces::MetaspaceOf;
using class_pieces::ReplaceRegex;
using class_pieces::ReplaceText;
using class_pieces::RobertaTokens;
using class_pieces::Sequence;
using class_pieces::SpecialTokens;
using nlohmann::json;

namespace {

/// Splits words at white space; each gets a mark for a space in front as `scheme` says.
void SetMarkedWords(const char* scheme, ClassParts& parts) {
  parts.pre_tokenizer =
      Sequence("pretokenizers", {{{"type", "WhitespaceSplit"}}, MetaspaceOf(scheme)});
  parts.decoder = MetaspaceOf(scheme);
}

/// Returns `steps`, the steps of the options, then the Precompiled step of the file's `normalizer`.
json Normalizer(json steps, bool keep_accents, bool lower, const json& normalizer) {
  if (!keep_accents) {
    steps.push_back({{"type", "NFKD"}});
    steps.push_back({{"type", "StripAccents"}});
  }
  if (lower) steps.push_back({{"type", "Lowercase"}});
  if (json charsmap = FindCharsmap(normalizer); !charsmap.is_null()) {
    steps.push_back(std::move(charsmap));
  }
  return Sequence("normalizers", std::move(steps));
}

/// Sets the unknown token of a Unigram model.
void SetUnkOfUnigram(int32_t id, ClassParts& parts) {
  parts.model.unk_id = id;
  parts.model.byte_fallback = false;
}

SpecialTokens AlbertTokens() {
  return {{"bos_token", "[CLS]"},  {"eos_token", "[SEP]"}, {"unk_token", "<unk>"},
          {"sep_token", "[SEP]"},  {"pad_token", "<pad>"}, {"cls_token", "[CLS]"},
          {"mask_token", "[MASK]"}};
}

}  // namespace

absl::StatusOr<ClassParts> BuildXlmRoberta(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool prefix, ReadBool(config, "add_prefix_space", true));
  parts.normalizer = FindCharsmap(parts.normalizer);
  SetMarkedWords(prefix ? "always" : "never", parts);
  parts.sequence_template = DoubleSeparator({"bos_token"}, {"eos_token"});
  SetUnkOfUnigram(3, parts);
  parts.special_tokens = RobertaTokens();
  return parts;
}

absl::StatusOr<ClassParts> BuildCamembert(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(parts, BuildXlmRoberta(config, std::move(parts)));
  SetUnkOfUnigram(0, parts);
  parts.names_unk_of_model = parts.mask_absorbs_space = true;
  for (const char* const token : {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"}) {
    parts.special_tokens.emplace_back(kAdditionalTokens, token);
  }
  return parts;
}

absl::StatusOr<ClassParts> BuildT5(const json& /*config*/, ClassParts parts) {
  parts.normalizer = FindCharsmap(parts.normalizer);
  SetMarkedWords("always", parts);
  parts.sequence_template = ClassTemplate{.single = {{"A"}, {"eos_token"}},
                                          .pair = {{"A"}, {"eos_token"}, {"B"}, {"eos_token"}}};
  SetUnkOfUnigram(2, parts);
  parts.special_tokens = {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}};
  return parts;
}

absl::StatusOr<ClassParts> BuildAlbert(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool prefix, ReadBool(config, "add_prefix_space", true));
  SHORTLIST_ASSIGN_OR_RETURN(const bool lower, ReadBool(config, "do_lower_case", true));
  SHORTLIST_ASSIGN_OR_RETURN(const bool keep_accents, ReadBool(config, "keep_accents", false));
  json steps = {ReplaceText("``", "\""), ReplaceText("''", "\"")};
  parts.normalizer = Normalizer(std::move(steps), keep_accents, lower, parts.normalizer);
  SetMarkedWords(prefix ? "always" : "never", parts);
  parts.sequence_template = ClsAndSep();
  SetUnkOfUnigram(1, parts);
  parts.special_tokens = AlbertTokens();
  return parts;
}

absl::StatusOr<ClassParts> BuildDebertaV2(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool prefix, ReadBool(config, "add_prefix_space", true));
  SHORTLIST_ASSIGN_OR_RETURN(const bool lower, ReadBool(config, "do_lower_case", false));
  SHORTLIST_ASSIGN_OR_RETURN(const bool punctuation, ReadBool(config, "split_by_punct", false));
  json steps = json::array();
  if (lower) steps.push_back({{"type", "Lowercase"}});
  steps.push_back(ReplaceRegex(R"(\s{2,}|[\n\r\t])", " "));
  steps.push_back({{"type", "NFC"}});
  steps.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
  parts.normalizer = Sequence("normalizers", std::move(steps));
  const char* const scheme = prefix ? "always" : "first";
  json cuts = json::array();
  if (punctuation) cuts.push_back({{"type", "Punctuation"}, {"behavior", "Isolated"}});
  cuts.push_back(MetaspaceOf(scheme));
  parts.pre_tokenizer = Sequence("pretokenizers", std::move(cuts));
  parts.decoder = MetaspaceOf(scheme);
  parts.sequence_template = ClsAndSep(/*cls_if_null=*/0, /*sep_if_null=*/0);
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t unk_id,
                             ReadInteger(config, "unk_id", 0, kMaxVocabularySize - 1, 1));
  SetUnkOfUnigram(static_cast<int32_t>(unk_id), parts);
  parts.names_unk_of_model = parts.model.unk_needs_score_0 = true;
  parts.special_tokens = DebertaTokens();
  return parts;
}

absl::StatusOr<ClassParts> BuildBigBird(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool prefix, ReadBool(config, "add_prefix_space", true));
  parts.normalizer = ReplaceRegex(" {2,}", kSpaceMark);
  parts.pre_tokenizer = parts.decoder = MetaspaceOf(prefix ? "always" : "never");
  parts.sequence_template = ClsAndSep();
  SetUnkOfUnigram(100, parts);
  parts.names_unk_of_model = parts.model.unk_needs_score_0 = true;
  parts.mask_absorbs_space = true;
  parts.special_tokens = {{"bos_token", "<s>"},    {"eos_token", "</s>"},  {"unk_token", "<unk>"},
                          {"sep_token", "[SEP]"},  {"pad_token", "<pad>"}, {"cls_token", "[CLS]"},
                          {"mask_token", "[MASK]"}};
  return parts;
}

absl::StatusOr<ClassParts> BuildRemBert(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool prefix, ReadBool(config, "add_prefix_space", true));
  SHORTLIST_ASSIGN_OR_RETURN(const bool lower, ReadBool(config, "do_lower_case", false));
  SHORTLIST_ASSIGN_OR_RETURN(const bool keep_accents, ReadBool(config, "keep_accents", true));
  json steps = {ReplaceText("``", "\""), ReplaceText("''", "\""), ReplaceRegex(" {2,}", " ")};
  parts.normalizer = Normalizer(std::move(steps), keep_accents, lower, parts.normalizer);
  parts.pre_tokenizer = parts.decoder = MetaspaceOf(prefix ? "always" : "never");
  parts.sequence_template = ClsAndSep();
  SetUnkOfUnigram(2, parts);
  parts.default_tokens_are_plain = true;
  parts.special_tokens = AlbertTokens();
  return parts;
}

absl::StatusOr<ClassParts> BuildBarthez(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool prefix, ReadBool(config, "add_prefix_space", true));
  parts.normalizer =
      Sequence("normalizers", {ReplaceRegex(R"(\s{2,}|[\n\r\t])", " "),
                               {{"type", "NFC"}},
                               {{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}}});
  parts.pre_tokenizer = parts.decoder = MetaspaceOf(prefix ? "always" : "never");
  SetUnkOfUnigram(3, parts);
  parts.mask_absorbs_space = true;
  parts.special_tokens = RobertaTokens();
  return parts;
}

absl::StatusOr<ClassParts> BuildXlnet(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool lower, ReadBool(config, "do_lower_case", false));
  // The class also has the options remove_space and keep_accents, which have no effect.
  parts.normalizer = Normalizer({ReplaceText("``", "\""), ReplaceText("''", "\"")},
                                /*keep_accents=*/false, lower, parts.normalizer);
  SetMarkedWords("always", parts);
  parts.sequence_template =
      ClassTemplate{.single = {{"A"}, {"sep_token"}, {"cls_token", 2}},
                    .pair = {{"A"}, {"sep_token"}, {"B", 1}, {"sep_token", 1}, {"cls_token", 2}}};
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t unk_id,
                             ReadInteger(config, "unk_id", 0, kMaxVocabularySize - 1, 0));
  SetUnkOfUnigram(static_cast<int32_t>(unk_id), parts);
  parts.mask_absorbs_space = true;
  parts.special_tokens = {
      {"bos_token", "<s>"},     {"eos_token", "</s>"},        {"unk_token", "<unk>"},
      {"sep_token", "<sep>"},   {"pad_token", "<pad>"},       {"cls_token", "<cls>"},
      {"mask_token", "<mask>"}, {kAdditionalTokens, "<eop>"}, {kAdditionalTokens, "<eod>"}};
  return parts;
}

}  // namespace shortlist

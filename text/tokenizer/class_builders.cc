#include "text/tokenizer/class_builders.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/split_pattern.h"
#include "text/tokenizer/vocabulary.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr char kSpaceMark[] = "\xE2\x96\x81";
constexpr std::string_view kEndOfText = "<|endoftext|>";

json Sequence(const char* member, json steps) {
  return {{"type", "Sequence"}, {member, std::move(steps)}};
}

json ReplaceRegex(const char* expression, const char* content) {
  return {{"type", "Replace"}, {"pattern", {{"Regex", expression}}}, {"content", content}};
}

json ReplaceText(const char* text, const char* content) {
  return {{"type", "Replace"}, {"pattern", {{"String", text}}}, {"content", content}};
}

json SplitRegex(std::string_view expression, const char* behavior, bool invert) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", std::string(expression)}}},
          {"behavior", behavior},
          {"invert", invert}};
}

json ByteLevel(bool add_prefix_space, bool use_regex = true) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", add_prefix_space}, {"use_regex", use_regex}};
}

json MetaspaceOf(const char* prepend_scheme, bool split = true) {
  return {{"type", "Metaspace"},
          {"replacement", kSpaceMark},
          {"prepend_scheme", prepend_scheme},
          {"split", split}};
}

json WordPieceDecoder() { return {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}; }

/// Returns a decoder from bytes and marks to text. `strips`: it removes the space put first.
json SentencePieceDecoder(bool strips) {
  json steps = {ReplaceText(kSpaceMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (strips) steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return Sequence("decoders", std::move(steps));
}

/// Returns the normalizer of type Precompiled in `normalizer` or in its sequence; null if none.
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

/// Returns a template of CLS at the start and SEP after each text, with ids for null members.
ClassTemplate ClsAndSep(std::optional<int32_t> cls_if_null = std::nullopt,
                        std::optional<int32_t> sep_if_null = std::nullopt) {
  const ClassTemplate::Part cls{"cls_token", 0, cls_if_null};
  const ClassTemplate::Part sep{"sep_token", 0, sep_if_null};
  return {.single = {cls, {"A"}, sep},
          .pair = {cls, {"A"}, sep, {"B", 1}, {"sep_token", 1, sep_if_null}}};
}

/// Returns a template of type 0: `first` at the start, `last` after each text and twice between
/// texts.
ClassTemplate DoubleSeparator(ClassTemplate::Part first, ClassTemplate::Part last) {
  return {.single = {first, {"A"}, last}, .pair = {first, {"A"}, last, last, {"B"}, last}};
}

absl::StatusOr<ClassParts> BuildByteLevel(const json& config, json normalizer, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool prefix, ReadBool(config, "add_prefix_space", false));
  parts.normalizer = std::move(normalizer);
  parts.pre_tokenizer = ByteLevel(prefix);
  parts.decoder = ByteLevel(/*add_prefix_space=*/true);
  return parts;
}

absl::StatusOr<ClassParts> BuildQwen(const json& config, std::string_view expression,
                                     ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool prefix, ReadBool(config, "add_prefix_space", false));
  parts.normalizer = {{"type", "NFC"}};
  parts.pre_tokenizer =
      Sequence("pretokenizers", {SplitRegex(expression, "Isolated", /*invert=*/false),
                                 ByteLevel(prefix, /*use_regex=*/false)});
  parts.decoder = ByteLevel(/*add_prefix_space=*/true);
  parts.special_tokens = {
      {"unk_token", kEndOfText}, {"eos_token", kEndOfText}, {"pad_token", kEndOfText}};
  return parts;
}

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

/// Sets the options of a BPE model with marks for spaces.
void SetBpe(bool byte_fallback, ClassParts& parts) {
  parts.model.byte_fallback = byte_fallback;
  parts.model.fuse_unk = true;
}

using SpecialTokens = decltype(ClassParts::special_tokens);

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

SpecialTokens AlbertTokens() {
  return {{"bos_token", "[CLS]"},  {"eos_token", "[SEP]"}, {"unk_token", "<unk>"},
          {"sep_token", "[SEP]"},  {"pad_token", "<pad>"}, {"cls_token", "[CLS]"},
          {"mask_token", "[MASK]"}};
}

}  // namespace

absl::Status SetBertFlags(const json& config, json& normalizer) {
  SHORTLIST_ASSIGN_OR_RETURN(normalizer["lowercase"], ReadBool(config, "do_lower_case", true));
  SHORTLIST_ASSIGN_OR_RETURN(normalizer["handle_chinese_chars"],
                             ReadBool(config, "tokenize_chinese_chars", true));
  SHORTLIST_ASSIGN_OR_RETURN(const auto strip, ReadOptionalBool(config, "strip_accents"));
  normalizer["strip_accents"] = strip.has_value() ? json(*strip) : json();
  return absl::OkStatus();
}

absl::StatusOr<ClassParts> BuildBert(const json& config, ClassParts parts) {
  parts.normalizer = {{"type", "BertNormalizer"}, {"clean_text", true}};
  SHORTLIST_RETURN_IF_ERROR(SetBertFlags(config, parts.normalizer));
  parts.pre_tokenizer = {{"type", "BertPreTokenizer"}};
  parts.decoder = WordPieceDecoder();
  parts.sequence_template = ClsAndSep(2, 3);
  parts.names_unk_of_model = true;
  parts.special_tokens = BertTokens();
  return parts;
}

absl::StatusOr<ClassParts> BuildFunnel(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(parts, BuildBert(config, std::move(parts)));
  SHORTLIST_ASSIGN_OR_RETURN(parts.normalizer["clean_text"], ReadBool(config, "clean_text", true));
  parts.sequence_template = ClsAndSep();
  parts.sequence_template->single[0].type_id = 2;
  parts.sequence_template->pair[0].type_id = 2;
  parts.special_tokens = {{"unk_token", "<unk>"}, {"sep_token", "<sep>"},   {"pad_token", "<pad>"},
                          {"cls_token", "<cls>"}, {"mask_token", "<mask>"}, {"bos_token", "<s>"},
                          {"eos_token", "</s>"}};
  return parts;
}

absl::StatusOr<ClassParts> BuildMpnet(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(parts, BuildBert(config, std::move(parts)));
  parts.sequence_template = DoubleSeparator({"cls_token", 0, 0}, {"sep_token", 0, 2});
  parts.mask_absorbs_space = true;
  parts.special_tokens = {{"unk_token", "[UNK]"},  {"sep_token", "</s>"}, {"pad_token", "<pad>"},
                          {"cls_token", "<s>"},    {"bos_token", "<s>"},  {"eos_token", "</s>"},
                          {"mask_token", "<mask>"}};
  return parts;
}

absl::StatusOr<ClassParts> BuildGpt2(const json& config, ClassParts parts) {
  parts.special_tokens = {
      {"unk_token", kEndOfText}, {"bos_token", kEndOfText}, {"eos_token", kEndOfText}};
  return BuildByteLevel(config, nullptr, std::move(parts));
}

absl::StatusOr<ClassParts> BuildRoberta(const json& config, ClassParts parts) {
  parts.sequence_template = DoubleSeparator({"cls_token"}, {"sep_token"});
  parts.special_tokens = RobertaTokens();
  return BuildByteLevel(config, nullptr, std::move(parts));
}

absl::StatusOr<ClassParts> BuildBlenderbot(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool prefix, ReadBool(config, "add_prefix_space", true));
  SHORTLIST_ASSIGN_OR_RETURN(parts, BuildRoberta(config, std::move(parts)));
  parts.pre_tokenizer = ByteLevel(prefix);
  parts.sequence_template.reset();
  parts.mask_absorbs_space = true;
  return parts;
}

absl::StatusOr<ClassParts> BuildDeberta(const json& config, ClassParts parts) {
  parts.sequence_template = DoubleSeparator({"cls_token"}, {"sep_token"});
  parts.special_tokens = DebertaTokens();
  return BuildByteLevel(config, nullptr, std::move(parts));
}

absl::StatusOr<ClassParts> BuildGptNeox(const json& config, ClassParts parts) {
  parts.sequence_template = ClassTemplate{.single = {{"A"}}, .pair = {{"A"}, {"B", 1}}};
  parts.special_tokens = {{"unk_token", kEndOfText},
                          {"bos_token", kEndOfText},
                          {"eos_token", kEndOfText},
                          {"pad_token", "<|padding|>"}};
  return BuildByteLevel(config, {{"type", "NFC"}}, std::move(parts));
}

absl::StatusOr<ClassParts> BuildQwen2(const json& config, ClassParts parts) {
  parts.special_tokens_are_plain = true;
  return BuildQwen(config, kQwen2Expression, std::move(parts));
}

absl::StatusOr<ClassParts> BuildQwen35(const json& config, ClassParts parts) {
  constexpr std::string_view kExpression =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
      R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  return BuildQwen(config, kExpression, std::move(parts));
}

absl::StatusOr<ClassParts> BuildCohere(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(parts, BuildByteLevel(config, {{"type", "NFC"}}, std::move(parts)));
  parts.pre_tokenizer = Sequence(
      "pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, parts.pre_tokenizer});
  parts.default_tokens_are_plain = true;
  parts.special_tokens = {{"unk_token", "<UNK>"},
                          {"bos_token", "<BOS_TOKEN>"},
                          {"eos_token", "<|END_OF_TURN_TOKEN|>"},
                          {"pad_token", "<PAD>"},
                          {"cls_token", "<CLS>"},
                          {"sep_token", "<SEP>"},
                          {"mask_token", "<MASK_TOKEN>"}};
  return parts;
}

absl::StatusOr<ClassParts> BuildGemma(const json& /*config*/, ClassParts parts) {
  parts.normalizer = ReplaceText(" ", kSpaceMark);
  parts.pre_tokenizer = {{"type", "Split"},
                         {"pattern", {{"String", " "}}},
                         {"behavior", "MergedWithPrevious"},
                         {"invert", false}};
  parts.decoder = SentencePieceDecoder(/*strips=*/false);
  parts.names_unk_of_model = true;
  SetBpe(/*byte_fallback=*/true, parts);
  parts.special_tokens = {{"bos_token", "<bos>"},
                          {"eos_token", "<eos>"},
                          {"unk_token", "<unk>"},
                          {"pad_token", "<pad>"},
                          {"mask_token", "<mask>"}};
  return parts;
}

absl::StatusOr<ClassParts> BuildLlama(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool prefix, ReadBool(config, "add_prefix_space", true));
  SHORTLIST_ASSIGN_OR_RETURN(const bool legacy, ReadBool(config, "legacy", false));
  parts.normalizer = nullptr;
  parts.pre_tokenizer = MetaspaceOf(!prefix  ? "never"
                                    : legacy ? "always"
                                             : "first",
                                    /*split=*/false);
  parts.decoder = SentencePieceDecoder(/*strips=*/prefix);
  parts.model.has_unk = false;
  SetBpe(/*byte_fallback=*/true, parts);
  parts.special_tokens = {{"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}};
  return parts;
}

absl::StatusOr<ClassParts> BuildCodeLlama(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool prefix, ReadBool(config, "add_prefix_space", true));
  parts.normalizer = nullptr;
  parts.pre_tokenizer = MetaspaceOf(prefix ? "first" : "never", /*split=*/false);
  parts.decoder = SentencePieceDecoder(/*strips=*/true);
  parts.names_unk_of_model = true;
  SetBpe(/*byte_fallback=*/true, parts);
  const auto bos = [](int type_id) {
    return ClassTemplate::Part{.name = "bos_token", .type_id = type_id, .is_optional = true};
  };
  parts.sequence_template =
      ClassTemplate{.single = {bos(0), {"A"}}, .pair = {bos(0), {"A"}, bos(1), {"B", 1}}};
  parts.special_tokens = {{"unk_token", "<unk>"},
                          {"bos_token", "<s>"},
                          {"eos_token", "</s>"},
                          {"prefix_token", "\xE2\x96\x81<PRE>"},
                          {"middle_token", "\xE2\x96\x81<MID>"},
                          {"suffix_token", "\xE2\x96\x81<SUF>"},
                          {"eot_token", "\xE2\x96\x81<EOT>"},
                          {"fill_token", "<FILL_ME>"}};
  return parts;
}

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
  parts.sequence_template = ClsAndSep(0, 0);
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

absl::StatusOr<ClassParts> BuildReformer(const json& /*config*/, ClassParts parts) {
  json charsmap = FindCharsmap(parts.normalizer);
  parts.normalizer = nullptr;
  if (!charsmap.is_null()) {
    parts.normalizer = Sequence("normalizers", {std::move(charsmap), ReplaceRegex(" {2,}", " ")});
  }
  parts.pre_tokenizer = parts.decoder = MetaspaceOf("always");
  parts.default_tokens_are_plain = true;
  parts.special_tokens = {{"eos_token", "</s>"}, {"unk_token", "<unk>"}};
  parts.names_unk_of_model = true;
  SetBpe(/*byte_fallback=*/false, parts);
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

absl::StatusOr<ClassParts> BuildClip(const json& /*config*/, ClassParts parts) {
  parts.normalizer = Sequence(
      "normalizers", {{{"type", "NFC"}}, ReplaceRegex(R"(\s+)", " "), {{"type", "Lowercase"}}});
  constexpr std::string_view kExpression =
      R"(<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|)"
      R"([^\s\p{L}\p{N}]+)";
  parts.pre_tokenizer = Sequence(
      "pretokenizers",
      {SplitRegex(kExpression, "Removed", /*invert=*/true), ByteLevel(/*add_prefix_space=*/false)});
  parts.decoder = ByteLevel(/*add_prefix_space=*/true);
  parts.sequence_template = DoubleSeparator({"bos_token"}, {"eos_token"});
  parts.names_unk_of_model = parts.decodes_word_ends = true;
  parts.special_tokens = {
      {"unk_token", kEndOfText}, {"bos_token", "<|startoftext|>"}, {"eos_token", kEndOfText}};
  return parts;
}

}  // namespace shortlist

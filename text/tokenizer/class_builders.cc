#include "text/tokenizer/class_builders.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "text/tokenizer/class_pieces.h"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/split_pattern.h"

namespace shortlist {

using class_pieces::BertTokens;
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
using nlohmann::json;

namespace {

constexpr std::string_view kEndOfText = "<|endoftext|>";

json SplitRegex(std::string_view expression, const char* behavior, bool invert) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", std::string(expression)}}},
          {"behavior", behavior},
          {"invert", invert}};
}

json ByteLevel(bool add_prefix_space, bool use_regex = true) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", add_prefix_space}, {"use_regex", use_regex}};
}

/// Sets the options of a BPE model over bytes, without an unknown token.
void SetBytes(ClassParts& parts) {
  parts.model = {
      .has_unk = false, .byte_fallback = false, .fuse_unk = false, .ignore_merges = false};
}

/// Sets the options of a BPE model with marks for spaces.
void SetMarks(bool byte_fallback, ClassParts& parts) {
  parts.model = {.byte_fallback = byte_fallback, .fuse_unk = true, .ignore_merges = false};
}

json WordPieceDecoder() { return {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}; }

/// Returns a decoder from bytes and marks to text. `strips`: it removes the space put first.
json SentencePieceDecoder(bool strips) {
  json steps = {ReplaceText(kSpaceMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (strips) steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return Sequence("decoders", std::move(steps));
}

absl::StatusOr<ClassParts> BuildByteLevel(const json& config, json normalizer, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool prefix, ReadBool(config, "add_prefix_space", false));
  parts.normalizer = std::move(normalizer);
  parts.pre_tokenizer = ByteLevel(prefix);
  parts.decoder = ByteLevel(/*add_prefix_space=*/true);
  SetBytes(parts);
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
  SetBytes(parts);
  parts.special_tokens = {
      {"unk_token", kEndOfText}, {"eos_token", kEndOfText}, {"pad_token", kEndOfText}};
  return parts;
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
  parts.sequence_template = ClsAndSep(/*cls_if_null=*/2, /*sep_if_null=*/3);
  parts.model.is_usual_word_piece = parts.names_unk_of_model = true;
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
  parts.sequence_template = DoubleSeparator({.name = "cls_token", .id_if_null = 0},
                                            {.name = "sep_token", .id_if_null = 2});
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
  SetMarks(/*byte_fallback=*/true, parts);
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
  SetMarks(/*byte_fallback=*/true, parts);
  parts.model.has_unk = false;
  parts.special_tokens = {{"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}};
  return parts;
}

absl::StatusOr<ClassParts> BuildCodeLlama(const json& config, ClassParts parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool prefix, ReadBool(config, "add_prefix_space", true));
  parts.normalizer = nullptr;
  parts.pre_tokenizer = MetaspaceOf(prefix ? "first" : "never", /*split=*/false);
  parts.decoder = SentencePieceDecoder(/*strips=*/true);
  parts.names_unk_of_model = true;
  SetMarks(/*byte_fallback=*/true, parts);
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
  SetMarks(/*byte_fallback=*/false, parts);
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
  SetBytes(parts);
  parts.model.has_unk = true;
  parts.names_unk_of_model = parts.decodes_word_ends = true;
  parts.special_tokens = {
      {"unk_token", kEndOfText}, {"bos_token", "<|startoftext|>"}, {"eos_token", kEndOfText}};
  return parts;
}

}  // namespace shortlist

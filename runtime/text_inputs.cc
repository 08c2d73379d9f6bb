#include "runtime/text_inputs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "text/unicode.h"

namespace shortlist {
namespace {

/// Lowers each character separately, as the tokenizers library does: a capital sigma at the end of
/// a word becomes an ordinary small sigma.
std::string LowerCase(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  for (size_t i = 0; i < text.size();) AppendLowerCase(NextChar(text, i), lower);
  return lower;
}

absl::Status CheckUtf8(std::string_view text, std::string_view what) {
  const std::optional<size_t> invalid = FindInvalidUtf8(text);
  if (!invalid) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(what), " is not valid UTF-8 at byte ", *invalid));
}

}  // namespace

absl::StatusOr<int64_t> TextInputs::MostTokens(const Cut& cut) const {
  const int64_t most = cut.max_tokens.value_or(options_.max_input_tokens);
  if (most >= 1) return std::min(most, options_.max_input_tokens);
  return absl::InvalidArgumentError(
      absl::StrCat("most tokens ", most, " not in [1, ", options_.max_input_tokens, "]"));
}

absl::StatusOr<EncodeInput> TextInputs::Prepare(std::string_view instruction, std::string_view text,
                                                std::optional<std::string_view> second,
                                                const Cut& cut) const {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t most, MostTokens(cut));
  SHORTLIST_RETURN_IF_ERROR(CheckUtf8(instruction, "instruction"));
  SHORTLIST_RETURN_IF_ERROR(CheckUtf8(text, "text"));
  if (second) SHORTLIST_RETURN_IF_ERROR(CheckUtf8(*second, "text"));
  if (cut.max_second_tokens && second) {
    return PrepareShortSecond(instruction, text, *second, cut);
  }
  if (instruction.empty()) instruction = options_.pair_prompt;
  const bool is_message =
      options_.messages && (second.has_value() || options_.messages->takes_texts());
  if (!options_.yes_no && !is_message) {
    return PrepareSequence(instruction, text, second, most, cut, /*parse_special=*/false);
  }
  if (options_.yes_no && !second) {
    return absl::InvalidArgumentError("not a pair of texts, which this model judges");
  }
  const auto side = cut.truncates ? std::optional(SideOf(cut)) : std::nullopt;
  SHORTLIST_ASSIGN_OR_RETURN(
      std::vector<TokenId> ids,
      options_.yes_no ? options_.yes_no->Encode(instruction, text, *second, most, side)
                      : options_.messages->Encode(instruction, text, second, most, side));
  SHORTLIST_RETURN_IF_ERROR(CheckRows(ids, *tokenizer_, options_.vocab_size));
  EncodeInput input{.ids = std::move(ids)};
  DropAtEnd(input);
  return input;
}

/// The length of the pair without its second text gives the length limit of the whole pair, if the
/// first text is not cut.
absl::StatusOr<EncodeInput> TextInputs::PrepareShortSecond(std::string_view instruction,
                                                           std::string_view text,
                                                           std::string_view second,
                                                           const Cut& cut) const {
  if (*cut.max_second_tokens < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("most tokens of the second text ", *cut.max_second_tokens, " below 1"));
  }
  Cut whole = cut;
  whole.max_second_tokens.reset();
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t most, MostTokens(cut));
  const absl::StatusOr<EncodeInput> rest =
      Prepare(instruction, text, "", {.truncates = false, .max_tokens = most});
  const bool is_full = rest.ok() && std::ssize(rest->ids) >= most;
  if (is_full || absl::IsOutOfRange(rest.status())) {
    return Prepare(instruction, text, second, whole);
  }
  if (!rest.ok()) return rest.status();
  whole.truncates = true;
  whole.strategy = Truncation::Strategy::kOnlySecond;
  if (options_.messages) whole.side = Truncation::Side::kRight;  // the second text comes last
  whole.max_tokens = std::min(most, std::ssize(rest->ids) + *cut.max_second_tokens);
  return Prepare(instruction, text, second, whole);
}

absl::StatusOr<EncodeInput> TextInputs::PreparePrompt(std::string_view text, const Cut& cut) const {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t most, MostTokens(cut));
  SHORTLIST_RETURN_IF_ERROR(CheckUtf8(text, "text"));
  return PrepareSequence("", text, std::nullopt, most, cut, /*parse_special=*/true);
}

absl::StatusOr<EncodeInput> TextInputs::PrepareSequence(std::string_view instruction,
                                                        std::string_view text,
                                                        std::optional<std::string_view> second,
                                                        int64_t most, const Cut& cut,
                                                        bool parse_special) const {
  const bool lowers = options_.lowers;
  std::string first = absl::StrCat(std::string(instruction), std::string(text));
  std::string lower_second;
  if (lowers) {
    first = LowerCase(first);
    if (second) second = lower_second = LowerCase(*second);
  }
  Truncation truncation{.strategy = cut.strategy, .side = SideOf(cut)};
  EncodeOptions options{.parse_special = parse_special};
  if (cut.truncates) {
    truncation.max_len = most;
  } else {
    options.max_tokens = most;
  }
  absl::StatusOr<Encoding> encoding =
      tokenizer_->EncodeSequence(first, second, options, truncation);
  if (absl::IsOutOfRange(encoding.status())) {
    return absl::OutOfRangeError(
        absl::StrCat(second ? "the pair has " : "", "more than ", most, " tokens"));
  }
  if (!encoding.ok()) return encoding.status();
  EncodeInput input{.ids = std::move(encoding->ids)};
  if (input.ids.empty()) return absl::InvalidArgumentError("there are no tokens in it");
  SHORTLIST_RETURN_IF_ERROR(CheckRows(input.ids, *tokenizer_, options_.vocab_size));
  const bool is_typed = std::any_of(encoding->type_ids.begin(), encoding->type_ids.end(),
                                    [](int32_t type) { return type != 0; });
  if (is_typed && options_.num_token_types > 1) input.token_types = std::move(encoding->type_ids);
  DropAtEnd(input);
  if (options_.counts_prompt && !instruction.empty()) {
    // As in sentence-transformers: the prompt's own tokens, without a special token at the end.
    const std::string prompt = lowers ? LowerCase(instruction) : std::string(instruction);
    SHORTLIST_ASSIGN_OR_RETURN(
        const Encoding alone,
        tokenizer_->EncodeSequence(prompt, std::nullopt, {}, {.max_len = most}));
    input.num_prompt_tokens = std::ssize(alone.ids);
    if (!alone.ids.empty() && tokenizer_->IsSpecial(alone.ids.back())) --input.num_prompt_tokens;
  }
  return input;
}

absl::StatusOr<EncodeInput> TextInputs::Prepare(std::vector<TokenId> ids, const Cut& cut) const {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t most, MostTokens(cut));
  if (ids.empty()) return absl::InvalidArgumentError("there are no tokens in it");
  if (options_.yes_no) {
    return absl::InvalidArgumentError("token ids, where this model judges pairs of texts");
  }
  if (std::ssize(ids) > most) {
    if (!cut.truncates) {
      return absl::OutOfRangeError(absl::StrCat(ids.size(), " tokens, more than ", most));
    }
    if (SideOf(cut) == Truncation::Side::kRight) {
      ids.resize(most);
    } else {
      ids.erase(ids.begin(), ids.end() - most);
    }
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (Raw(ids[i]) >= 0 && Raw(ids[i]) < options_.vocab_size) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("id ", Raw(ids[i]), " at ", i, " not in [0, ", options_.vocab_size, ")"));
  }
  EncodeInput input{.ids = std::move(ids)};
  DropAtEnd(input);
  return input;
}

void TextInputs::DropAtEnd(EncodeInput& input) const {
  if (!options_.dropped_at_end) return;
  size_t size = input.ids.size();
  while (size > 1 && input.ids[size - 1] == *options_.dropped_at_end) --size;
  input.ids.resize(size);
  if (!input.token_types.empty()) input.token_types.resize(size);
}

}  // namespace shortlist

#include "runtime/yes_no_prompt.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {

absl::StatusOr<YesNoPrompt> YesNoPrompt::Create(YesNoFormat format, const Tokenizer& tokenizer) {
  YesNoPrompt prompt(std::move(format), tokenizer);
  const YesNoFormat& known = prompt.format_;
  if (known.begins_with_bos() && !tokenizer.bos()) {
    return absl::InvalidArgumentError("the tokenizer has no BOS, with which the prompt begins");
  }
  if (known.yes_id) {
    prompt.yes_ = *known.yes_id;
    prompt.no_ = known.no_id;
    return prompt;
  }
  SHORTLIST_ASSIGN_OR_RETURN(prompt.yes_, prompt.IdOf(known.yes_token()));
  if (known.no_token().empty()) return prompt;
  SHORTLIST_ASSIGN_OR_RETURN(prompt.no_, prompt.IdOf(known.no_token()));
  return prompt;
}

absl::StatusOr<TokenId> YesNoPrompt::IdOf(std::string_view answer) const {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TokenId> ids,
                             tokenizer_->Encode(answer, {.add_special_tokens = false}));
  if (ids.size() == 1) return ids[0];
  return absl::InvalidArgumentError(absl::StrCat("the reranker's answer \"", std::string(answer),
                                                 "\" is ", ids.size(),
                                                 " tokens of this tokenizer, not one"));
}

absl::Status YesNoPrompt::Append(const PromptPiece& piece, std::vector<TokenId>& ids) const {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TokenId> more,
                             tokenizer_->Encode(piece.text, {.add_special_tokens = false,
                                                             .parse_special = piece.is_template}));
  ids.insert(ids.end(), more.begin(), more.end());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TokenId>> YesNoPrompt::Encode(
    std::string_view instruction, std::string_view query, std::string_view document,
    int64_t max_tokens, std::optional<Truncation::Side> cut) const {
  std::vector<TokenId> ids, suffix;
  if (format_.begins_with_bos()) ids.push_back(*tokenizer_->bos());
  for (const PromptPiece& piece : format_.Prefix(instruction, query)) {
    SHORTLIST_RETURN_IF_ERROR(Append(piece, ids));
  }
  for (const PromptPiece& piece : format_.Suffix(instruction)) {
    SHORTLIST_RETURN_IF_ERROR(Append(piece, suffix));
  }
  const int64_t num_others = std::ssize(ids) + std::ssize(suffix);
  if (num_others >= max_tokens) {
    return absl::OutOfRangeError(absl::StrCat("query and instruction take ", num_others,
                                              " tokens, which leaves none of ", max_tokens,
                                              " to the document"));
  }
  const int64_t room = max_tokens - num_others;
  std::vector<TokenId> read;
  SHORTLIST_RETURN_IF_ERROR(Append(format_.Document(document), read));
  if (std::ssize(read) > room) {
    if (!cut) {
      return absl::OutOfRangeError(absl::StrCat("the pair has more than ", max_tokens, " tokens"));
    }
    const auto dropped = std::ssize(read) - room;
    const auto first = *cut == Truncation::Side::kLeft ? read.begin() : read.begin() + room;
    read.erase(first, first + dropped);
  }
  ids.insert(ids.end(), read.begin(), read.end());
  ids.insert(ids.end(), suffix.begin(), suffix.end());
  return ids;
}

}  // namespace shortlist

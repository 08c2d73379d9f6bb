#ifndef SHORTLIST_TEXT_CHAT_SPECIAL_TOKENS_H_
#define SHORTLIST_TEXT_CHAT_SPECIAL_TOKENS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "io/model_source.h"

namespace shortlist {

/// The special tokens of the model in `source` that are variables of its chat template, by
/// name, as transformers' tokenizer has them in special_tokens_map (5.24). In
/// tokenizer_config.json, a later one of the same name counts:
/// - bos_token, eos_token, unk_token, sep_token, pad_token, cls_token and mask_token;
/// - other members that are texts or tokens and whose names end in "_token";
/// - members of the objects additional_special_tokens and extra_special_tokens; where there are
///   neither such nor other texts, those of model_specific_special_tokens.
/// A list of extra tokens names none. Members of special_tokens_map.json go over those of the
/// config unless that has added_tokens_decoder, which makes the older file count for nothing.
///
/// A token is a text, or an object with its text as "content". Null is no token. InvalidArgument
/// names the file and the member that is no text, or that takes the name of another variable of
/// chat templates.
absl::StatusOr<std::map<std::string, std::string>> ReadTemplateTokens(const ModelSource& source);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_SPECIAL_TOKENS_H_

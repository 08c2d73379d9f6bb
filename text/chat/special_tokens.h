#ifndef SHORTLIST_TEXT_CHAT_SPECIAL_TOKENS_H_
#define SHORTLIST_TEXT_CHAT_SPECIAL_TOKENS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "io/model_source.h"

namespace shortlist {

/// Returns the special tokens of the model directory `source` that are variables of its chat
/// template, by name, as in special_tokens_map of transformers' tokenizer (5.24). Of tokens with
/// the same name in tokenizer_config.json, the last in this order is used:
/// - bos_token, eos_token, unk_token, sep_token, pad_token, cls_token and mask_token;
/// - other members that are texts or tokens and whose names end in "_token";
/// - members of the objects additional_special_tokens and extra_special_tokens; if there are
///   neither such members nor other texts, those of model_specific_special_tokens.
///
/// Tokens that both files lack are those of the tokenizer class, in the version of
/// transformers that text/tokenizer/tokenizer_class.h names. A member that is null counts as
/// present.
///
/// A list of extra tokens names none. special_tokens_map.json is ignored if the config has
/// added_tokens_decoder. Otherwise its members override those of the config, except that its other
/// members ending in "_token" do not override texts or extra tokens of the config.
///
/// A token is a text, or an object with its text as "content". Null is no token. InvalidArgument
/// names the file and the member that is not a text, or that has the name of another variable of
/// chat templates.
absl::StatusOr<std::map<std::string, std::string>> ReadTemplateTokens(const ModelSource& source);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_SPECIAL_TOKENS_H_

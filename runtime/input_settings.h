#ifndef SHORTLIST_RUNTIME_INPUT_SETTINGS_H_
#define SHORTLIST_RUNTIME_INPUT_SETTINGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "embed/embedding_config.h"
#include "io/model_source.h"
#include "text/tokenizer.h"

namespace shortlist {

/// How transformers' tokenizer prepares a model's inputs, in addition to their ids.
struct InputSettings {
  Truncation::Side side = Truncation::Side::kRight;  // where a text that is too long loses tokens
  bool gives_token_types = true;                     // to the tokens of a pair
};

/// The settings of the tokenizer in `source`, as transformers 5 finds them. `overrides` go before
/// tokenizer_config.json.
///
/// `side`: the first that is there of tokenizer_config.json's truncation_side and the direction of
/// tokenizer.json's "truncation". transformers uses no other member of "truncation": neither
/// max_length nor strategy nor stride counts.
///
/// `gives_token_types`: true if "token_type_ids" is one of tokenizer_config.json's
/// model_input_names. Without that list, the tokenizer's class decides: tokenizer_class of
/// tokenizer_config.json, else of config.json, else the class of config.json's model_type. BERT's
/// gives types, like ELECTRA's and DeBERTa's; PreTrainedTokenizerFast, TokenizersBackend, and a
/// class that transformers does not know, give none.
///
/// InvalidArgument names file, field and value.
absl::StatusOr<InputSettings> ReadInputSettings(const ModelSource& source,
                                                const TokenizerArguments& overrides = {});

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_INPUT_SETTINGS_H_

#ifndef SHORTLIST_RUNTIME_INPUT_SETTINGS_H_
#define SHORTLIST_RUNTIME_INPUT_SETTINGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "embed/embedding_config.h"
#include "io/model_source.h"
#include "text/tokenizer.h"

namespace shortlist {

/// How transformers' tokenizer prepares a model's inputs, in addition to token ids.
struct InputSettings {
  Truncation::Side side = Truncation::Side::kRight;  // where a text that is too long is cut
  bool gives_token_types = true;                     // for the tokens of a pair
};

/// Reads the settings of the tokenizer in `source`, as transformers 5 finds them. `overrides` take
/// precedence over tokenizer_config.json.
///
/// `side`: tokenizer_config.json's truncation_side, else the direction of tokenizer.json's
/// "truncation". As in transformers, other members of "truncation" (max_length, strategy, stride)
/// are ignored.
///
/// `gives_token_types`: true if "token_type_ids" is one of tokenizer_config.json's
/// model_input_names. Without that list, the tokenizer's class decides: tokenizer_class of
/// tokenizer_config.json, else of config.json, else the class of config.json's model_type. The
/// classes of BERT, ELECTRA and DeBERTa give types. PreTrainedTokenizerFast, TokenizersBackend and
/// classes unknown to transformers give none.
///
/// Returns InvalidArgument with file, field and value.
absl::StatusOr<InputSettings> ReadInputSettings(const ModelSource& source,
                                                const TokenizerArguments& overrides = {});

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_INPUT_SETTINGS_H_

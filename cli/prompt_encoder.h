#ifndef SHORTLIST_CLI_PROMPT_ENCODER_H_
#define SHORTLIST_CLI_PROMPT_ENCODER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "serve/prompt.h"
#include "text/tokenizer.h"

namespace shortlist {

/// The encoder of a model's conversations: by the named conversation template, or where
/// `conv_template` is empty by the chat template in `model_dir`, or else by zero_shot. NotFound
/// lists the names; InvalidArgument names the file of a damaged template. `num_rows`: of the
/// model's embedding. `tokenizer` must outlive the encoder.
absl::StatusOr<PromptEncoder> OpenPromptEncoder(const Tokenizer& tokenizer,
                                                const std::string& model_dir,
                                                const std::string& conv_template, int64_t num_rows);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_PROMPT_ENCODER_H_

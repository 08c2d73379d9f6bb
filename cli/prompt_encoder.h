#ifndef SHORTLIST_CLI_PROMPT_ENCODER_H_
#define SHORTLIST_CLI_PROMPT_ENCODER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "serve/prompt.h"
#include "text/tokenizer.h"

namespace shortlist {

struct PromptEncoderOptions {
  std::string model;          // as the user names it
  std::string model_dir;      // where its files are
  std::string conv_template;  // empty: the checkpoint's own, or by the model's name
  int64_t num_rows = 0;       // of the model's embedding
};

/// What conversations of a model without a chat template are rendered by: what its name says, else
/// zero_shot.
const Conversation& FallbackConversation(std::string_view model);

/// The encoder of a model's conversations: by the named conversation template, or where there is
/// no name by the chat template in `model_dir`, or else by FallbackConversation.
/// NotFound lists the names; InvalidArgument names the file of a damaged template. `tokenizer` must
/// outlive the encoder.
absl::StatusOr<PromptEncoder> OpenPromptEncoder(const Tokenizer& tokenizer,
                                                const PromptEncoderOptions& options);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_PROMPT_ENCODER_H_

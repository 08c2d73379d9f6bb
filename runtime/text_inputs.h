#ifndef SHORTLIST_RUNTIME_TEXT_INPUTS_H_
#define SHORTLIST_RUNTIME_TEXT_INPUTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "request/encoding.h"
#include "runtime/message_prompt.h"
#include "runtime/yes_no_prompt.h"
#include "text/tokenizer.h"

namespace shortlist {

/// Turns texts, pairs and token ids into inputs of an EncodingModel. Immutable; thread-safe.
class TextInputs {
 public:
  struct Options {
    int64_t vocab_size = 0;        // upper bound of ids
    int64_t num_token_types = 0;   // 2 or more: the texts of a pair have different types
    int64_t max_input_tokens = 0;  // per input, including tokens that the checkpoint adds
    Truncation::Side side = Truncation::Side::kRight;  // if a Cut has none
    bool lowers = false;                               // lower-case texts before tokenizing
    bool counts_prompt = false;                        // set EncodeInput::num_prompt_tokens
    // trailing tokens with this id are removed, but never an input's first token
    std::optional<TokenId> dropped_at_end;
    std::string pair_prompt;                // precedes the first text if there is no instruction
    std::optional<YesNoPrompt> yes_no;      // inputs are only pairs, in this format
    std::optional<MessagePrompt> messages;  // for texts and pairs that it accepts, without yes_no
  };
  /// `tokenizer` must outlive this object.
  TextInputs(const Tokenizer& tokenizer, Options options)
      : tokenizer_(&tokenizer), options_(std::move(options)) {}

  const Options& options() const { return options_; }

  /// Truncation of an input that is too long.
  struct Cut {
    bool truncates = false;                                               // false: rejected
    Truncation::Strategy strategy = Truncation::Strategy::kLongestFirst;  // for a pair
    // side that is cut; nullopt: as the model specifies
    std::optional<Truncation::Side> side = {};
    std::optional<int64_t> max_second_tokens = {};  // limit for a pair's second text, at least 1
    std::optional<int64_t> max_tokens = {};         // at least 1; limited to max_input_tokens
  };

  /// Makes the input of `text`, or of a pair, with `instruction` before the first text. With a
  /// YesNoPrompt only the second text is cut. With a MessagePrompt everything except what its
  /// template puts at the end may be cut. Both ignore the strategy. Returns OutOfRange with length
  /// and bound if the input is too long, InvalidArgument for other faults.
  absl::StatusOr<EncodeInput> Prepare(std::string_view instruction, std::string_view text,
                                      std::optional<std::string_view> second, const Cut& cut) const;
  /// Makes the input of a prompt as a generating model reads it: control tokens spelled in it
  /// become those tokens. Errors as for Prepare().
  absl::StatusOr<EncodeInput> PreparePrompt(std::string_view text, const Cut& cut) const;
  /// Makes the input of unchanged ids. Errors as for a text, and InvalidArgument for an id outside
  /// the vocabulary.
  absl::StatusOr<EncodeInput> Prepare(std::vector<TokenId> ids, const Cut& cut) const;

 private:
  absl::StatusOr<EncodeInput> PrepareSequence(std::string_view instruction, std::string_view text,
                                              std::optional<std::string_view> second,
                                              int64_t max_tokens, const Cut& cut,
                                              bool parse_special) const;
  absl::StatusOr<EncodeInput> PrepareShortSecond(std::string_view instruction,
                                                 std::string_view text, std::string_view second,
                                                 const Cut& cut) const;
  absl::StatusOr<int64_t> MostTokens(const Cut& cut) const;
  void DropAtEnd(EncodeInput& input) const;
  Truncation::Side SideOf(const Cut& cut) const { return cut.side.value_or(options_.side); }

  const Tokenizer* tokenizer_;
  Options options_;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_TEXT_INPUTS_H_

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

/// How texts, pairs of them and token ids become inputs of an EncodingModel. Immutable; any thread.
class TextInputs {
 public:
  struct Options {
    int64_t vocab_size = 0;        // ids are below
    int64_t num_token_types = 0;   // 2 or more: the texts of a pair have types of their own
    int64_t max_input_tokens = 0;  // of an input, those that the checkpoint puts round it included
    Truncation::Side side = Truncation::Side::kRight;  // of a Cut that names none
    bool lowers = false;                               // texts, before the tokenizer gets them
    bool counts_prompt = false;                        // EncodeInput::num_prompt_tokens is wanted
    std::optional<TokenId> dropped_at_end;             // such tokens are, but for an input's first
    std::string pair_prompt;            // goes before the first text where there is no instruction
    std::optional<YesNoPrompt> yes_no;  // inputs are pairs alone, in this format
    std::optional<MessagePrompt> messages;  // texts and pairs that it takes, without yes_no
  };
  /// `tokenizer` must outlive this.
  TextInputs(const Tokenizer& tokenizer, Options options)
      : tokenizer_(&tokenizer), options_(std::move(options)) {}

  const Options& options() const { return options_; }

  /// How a text that is too long becomes an input.
  struct Cut {
    bool truncates = false;                                               // false: it is refused
    Truncation::Strategy strategy = Truncation::Strategy::kLongestFirst;  // of a pair
    std::optional<Truncation::Side> side = {};      // where tokens go; none: as the model wants it
    std::optional<int64_t> max_second_tokens = {};  // of a pair's second text alone, at least 1
    std::optional<int64_t> max_tokens = {};  // at least 1; more than max_input_tokens is that
  };

  /// The input of `text`, or of a pair, with `instruction` before the first; of a YesNoPrompt the
  /// second loses what is cut, of a MessagePrompt all but what its template puts at the end,
  /// whatever the strategy. OutOfRange names length and bound of one that is too long,
  /// InvalidArgument what else is wrong with it.
  absl::StatusOr<EncodeInput> Prepare(std::string_view instruction, std::string_view text,
                                      std::optional<std::string_view> second, const Cut& cut) const;
  /// The input of a prompt, as a generating model reads it: control tokens spelled in it are these
  /// tokens. The same errors.
  absl::StatusOr<EncodeInput> PreparePrompt(std::string_view text, const Cut& cut) const;
  /// The input of ids as they are. The same errors, and for an id outside the vocabulary.
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

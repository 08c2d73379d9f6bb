#ifndef SHORTLIST_RUNTIME_YES_NO_PROMPT_H_
#define SHORTLIST_RUNTIME_YES_NO_PROMPT_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "embed/yes_no_format.h"
#include "text/tokenizer.h"

namespace shortlist {

/// What a reranker that answers yes or no reads of a query and a document: ids in its YesNoFormat.
/// Immutable; any thread.
class YesNoPrompt {
 public:
  /// InvalidArgument where the tokenizer has no id of its own for an answer. `tokenizer` must
  /// outlive this.
  static absl::StatusOr<YesNoPrompt> Create(YesNoFormat format, const Tokenizer& tokenizer);

  TokenId yes() const { return yes_; }
  std::optional<TokenId> no() const { return no_; }

  /// At most `max_tokens` ids. `cut` empty: OutOfRange for a longer prompt; else the document loses
  /// tokens at that side of it. OutOfRange too where query and instruction leave no room for a
  /// token of the document, InvalidArgument for text that is not valid UTF-8.
  absl::StatusOr<std::vector<TokenId>> Encode(std::string_view instruction, std::string_view query,
                                              std::string_view document, int64_t max_tokens,
                                              std::optional<Truncation::Side> cut) const;

 private:
  YesNoPrompt(YesNoFormat format, const Tokenizer& tokenizer)
      : format_(std::move(format)), tokenizer_(&tokenizer) {}

  absl::Status Append(const PromptPiece& piece, std::vector<TokenId>& ids) const;
  absl::StatusOr<TokenId> IdOf(std::string_view answer) const;

  YesNoFormat format_;
  const Tokenizer* tokenizer_;
  TokenId yes_{-1};
  std::optional<TokenId> no_;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_YES_NO_PROMPT_H_

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

/// Encodes a query and a document for a reranker that answers yes or no, in its YesNoFormat.
/// Immutable; thread-safe.
class YesNoPrompt {
 public:
  /// Returns InvalidArgument if an answer is not a single token, or if the tokenizer has no BOS
  /// although the format needs it. `tokenizer` must outlive the result.
  static absl::StatusOr<YesNoPrompt> Create(YesNoFormat format, const Tokenizer& tokenizer);

  TokenId yes() const { return yes_; }
  std::optional<TokenId> no() const { return no_; }

  /// Returns at most `max_tokens` ids. `cut` empty: OutOfRange for a longer prompt; otherwise the
  /// document is cut at that side. Also returns OutOfRange if query and instruction leave no room
  /// for a token of the document, InvalidArgument for text that is not valid UTF-8.
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

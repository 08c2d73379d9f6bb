#ifndef SHORTLIST_SERVE_SHARED_BANS_H_
#define SHORTLIST_SERVE_SHARED_BANS_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "request/sampling_params.h"
#include "text/tokenizer.h"

namespace shortlist {

/// Token bans that the generations of one request share: stored once, encoded once. Any thread.
class SharedBans {
 public:
  /// `allowed_token_ids` is as in TokenBans. None of `bad_words` is only white space.
  SharedBans(std::vector<TokenId> allowed_token_ids, std::vector<std::string> bad_words)
      : allowed_token_ids_(std::move(allowed_token_ids)), bad_words_(std::move(bad_words)) {}

  /// Encodes bad words as vLLM does: each as it would begin a text. The word after a space is added
  /// if its first token then differs and its number of tokens does not. InvalidArgument, naming
  /// bad_words, for a word that the tokenizer cannot encode. `tokenizer` must be the same in all
  /// calls.
  const absl::StatusOr<std::shared_ptr<const TokenBans>>& Encode(const Tokenizer& tokenizer);

 private:
  std::mutex mutex_;
  std::vector<TokenId> allowed_token_ids_;
  std::vector<std::string> bad_words_;
  // Constant once set.
  std::optional<absl::StatusOr<std::shared_ptr<const TokenBans>>> bans_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SHARED_BANS_H_

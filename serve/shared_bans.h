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

/// What generations of one request may not say: kept once, and encoded once. Any thread.
class SharedBans {
 public:
  /// `allowed_token_ids` as TokenBans has them; none of `bad_words` is white space alone.
  SharedBans(std::vector<TokenId> allowed_token_ids, std::vector<std::string> bad_words)
      : allowed_token_ids_(std::move(allowed_token_ids)), bad_words_(std::move(bad_words)) {}

  /// Bad words are encoded as vLLM does: each as it would begin a text, and once more behind a
  /// space where that is another token in front and no more of them. InvalidArgument, naming
  /// bad_words, for one that the tokenizer does not know. `tokenizer` is the same in all calls.
  const absl::StatusOr<std::shared_ptr<const TokenBans>>& Encode(const Tokenizer& tokenizer);

 private:
  std::mutex mutex_;
  std::vector<TokenId> allowed_token_ids_;
  std::vector<std::string> bad_words_;
  // Never changes once it is there.
  std::optional<absl::StatusOr<std::shared_ptr<const TokenBans>>> bans_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SHARED_BANS_H_

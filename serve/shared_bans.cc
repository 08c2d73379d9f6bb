#include "serve/shared_bans.h"

#include <algorithm>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "serve/http/api_error.h"

namespace shortlist {
namespace {

absl::StatusOr<std::vector<std::vector<TokenId>>> EncodeWords(const Tokenizer& tokenizer,
                                                              const std::vector<std::string>& all) {
  std::vector<std::vector<TokenId>> words;
  for (const std::string& word : all) {
    const std::string bare = word.substr(std::min(word.find_first_not_of(" \t\r\n"), word.size()));
    for (const char* before : {"", " "}) {
      const auto ids = tokenizer.Encode(before + bare, {.add_special_tokens = false});
      if (!ids.ok() || ids->empty()) {
        return WithParam(
            absl::InvalidArgumentError("bad_words: one is not a text that the tokenizer knows"),
            "bad_words");
      }
      const bool is_other = *before == '\0' || (ids->front() != words.back().front() &&
                                                ids->size() == words.back().size());
      if (is_other) words.push_back(*ids);
    }
  }
  return words;
}

absl::StatusOr<std::shared_ptr<const TokenBans>> EncodeBans(const Tokenizer& tokenizer,
                                                            const std::vector<TokenId>& allowed,
                                                            const std::vector<std::string>& words) {
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<std::vector<TokenId>> bad_words,
                             EncodeWords(tokenizer, words));
  return std::make_shared<const TokenBans>(allowed, std::move(bad_words));
}

}  // namespace

const absl::StatusOr<std::shared_ptr<const TokenBans>>& SharedBans::Encode(
    const Tokenizer& tokenizer) {
  const std::lock_guard lock(mutex_);
  if (!bans_.has_value()) {
    bans_ = EncodeBans(tokenizer, allowed_token_ids_, bad_words_);
    allowed_token_ids_ = {};
    bad_words_ = {};
  }
  return *bans_;
}

}  // namespace shortlist

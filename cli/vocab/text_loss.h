#ifndef SHORTLIST_CLI_VOCAB_TEXT_LOSS_H_
#define SHORTLIST_CLI_VOCAB_TEXT_LOSS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "cli/vocab/encoded_texts.h"
#include "text/tokenizer.h"

namespace shortlist {

/// Tokens of some texts, and those of them that a draft's head has no row for.
struct LossCount {
  int64_t num_tokens = 0, num_lost = 0;

  void Add(bool is_lost) {
    ++num_tokens;
    num_lost += is_lost ? 1 : 0;
  }
  /// Share of the tokens that have a row; 1 without tokens.
  double coverage() const {
    if (num_tokens == 0) return 1.0;
    return 1.0 - static_cast<double>(num_lost) / static_cast<double>(num_tokens);
  }
};

/// Counts what texts lose by a head that has rows for some ids only, by text, script and category.
/// A token is counted for one character: its first letter or mark, else its first character. A
/// token of a part of a character counts for the character. Used by one thread.
class TextLoss {
 public:
  /// `has_row`: [vocab_size]. The tokenizer must outlive this.
  TextLoss(const Tokenizer& tokenizer, std::vector<bool> has_row);

  /// Counts a text's output.
  void Add(const EncodedText& text);

  const LossCount& total() const { return total_; }
  /// By corpus, or by corpus and category of the rows ("a.jsonl, French").
  const std::map<std::string, LossCount>& of_texts() const { return of_texts_; }
  /// By script of a letter or mark (text/script.h).
  const std::map<std::string, LossCount, std::less<>>& of_scripts() const { return of_scripts_; }
  /// By major category; "special" for control tokens, "bytes" for what is no UTF-8.
  const std::map<std::string, LossCount, std::less<>>& of_categories() const {
    return of_categories_;
  }

  struct LostToken {
    TokenId id;
    int64_t count;
  };
  /// The ids without a row that occurred most often, at most `count`; of equals the lower id first.
  std::vector<LostToken> MostLost(size_t count) const;
  bool HasRow(size_t id) const { return has_row_[id]; }
  /// How often each id occurred.
  std::span<const int64_t> counts() const { return counts_; }

 private:
  void CountCharacters(std::span<const TokenId> ids);

  const Tokenizer* tokenizer_;
  std::vector<bool> has_row_;
  std::vector<int64_t> counts_;  // [vocab_size]
  LossCount total_;
  std::map<std::string, LossCount> of_texts_;
  std::map<std::string, LossCount, std::less<>> of_scripts_, of_categories_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_TEXT_LOSS_H_

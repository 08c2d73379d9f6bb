#ifndef SHORTLIST_TEXT_SPACE_CLEANER_H_
#define SHORTLIST_TEXT_SPACE_CLEANER_H_

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace shortlist {

/// Removes spaces from English text as transformers' clean_up_tokenization does (" ." becomes ".",
/// " n't" becomes "n't"). The replacements run one after the other, each over the whole text. The
/// text comes in pieces; a possible beginning of a match is held back. Not thread-safe.
class SpaceCleaner {
 public:
  /// Returns the text that `piece` completes; may be empty.
  std::string Append(std::string piece);
  /// Returns the text still held back. Call once at the end.
  std::string Finish();

 private:
  struct Rule {
    std::string_view from, to;
  };
  static constexpr std::array<Rule, 10> kRules = {{{" .", "."},
                                                   {" ?", "?"},
                                                   {" !", "!"},
                                                   {" ,", ","},
                                                   {" ' ", "'"},
                                                   {" n't", "n't"},
                                                   {" 'm", "'m"},
                                                   {" 's", "'s"},
                                                   {" 've", "'ve"},
                                                   {" 're", "'re"}}};

  std::string Run(size_t first_rule, std::string piece);

  std::array<std::string, kRules.size()> held_;  // text held back by each rule
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_SPACE_CLEANER_H_

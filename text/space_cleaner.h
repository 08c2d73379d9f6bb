#ifndef SHORTLIST_TEXT_SPACE_CLEANER_H_
#define SHORTLIST_TEXT_SPACE_CLEANER_H_

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace shortlist {

/// Takes spaces out of English text as transformers' clean_up_tokenization does (" ." becomes ".",
/// " n't" becomes "n't"): one replacement after the other, each over the whole text. The text comes
/// in pieces; what may be the beginning of something to replace is held back. Not thread-safe.
class SpaceCleaner {
 public:
  /// The text that `piece` completes; may be empty.
  std::string Append(std::string piece);
  /// What is still held back. Call once at the end.
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

  std::array<std::string, kRules.size()> held_;  // of each rule
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_SPACE_CLEANER_H_

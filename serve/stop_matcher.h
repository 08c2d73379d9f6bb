#ifndef SHORTLIST_SERVE_STOP_MATCHER_H_
#define SHORTLIST_SERVE_STOP_MATCHER_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shortlist {

/// Finds the first of some texts in a text that comes in pieces, and holds back what might be the
/// beginning of one. First is the one that ends first, the longest of those that end together;
/// where the pieces are cut makes no difference. One per stream; not thread-safe.
///
/// Example: with the stop "###", "a#" gives "a", then "#b" gives "##b", then "###c" gives "" and
/// the stop is matched().
class StopMatcher {
 public:
  /// `stops`: none of them empty.
  explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// What can be told of the text now; of a text with a stop in it, what comes before the stop.
  /// Nothing once matched().
  std::string Append(std::string_view text);
  /// The same of a text in which no stop may end; one may begin there.
  std::string Pass(std::string_view text);
  /// The rest, when no more text comes.
  std::string Finish() { return std::exchange(held_, {}); }

  bool matched() const { return !match_.empty(); }
  const std::string& match() const { return match_; }

 private:
  std::string TellUnheld();

  const std::vector<std::string> stops_;
  std::string held_;       // a proper prefix of a stop
  size_t num_passed_ = 0;  // bytes of held_ in which no stop ends
  std::string match_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_STOP_MATCHER_H_

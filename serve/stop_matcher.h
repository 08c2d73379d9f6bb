#ifndef SHORTLIST_SERVE_STOP_MATCHER_H_
#define SHORTLIST_SERVE_STOP_MATCHER_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shortlist {

/// Finds the first of several stop strings in a text that comes in pieces, and withholds text that
/// may begin one. The first is the one that ends first, and of those that end together the longest.
/// The result does not depend on where pieces are cut. One per stream; not thread-safe.
///
/// Example: with the stop "###", "a#" gives "a", then "#b" gives "##b", then "###c" gives "" and
/// the stop is matched().
class StopMatcher {
 public:
  /// `stops`: none of them empty.
  explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Adds `text` and returns the text that is final now. If a stop is found, returns the text
  /// before it. Returns nothing once matched().
  std::string Append(std::string_view text);
  /// Same as Append(), but for text in which no stop may end; a stop may begin in it.
  std::string Pass(std::string_view text);
  /// Returns the withheld text, when no more text comes.
  std::string Finish() { return std::exchange(held_, {}); }

  bool matched() const { return !match_.empty(); }
  const std::string& match() const { return match_; }

 private:
  std::string TellUnheld();

  const std::vector<std::string> stops_;
  std::string held_;       // a proper prefix of a stop
  size_t num_passed_ = 0;  // bytes of held_ in which no stop may end
  std::string match_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_STOP_MATCHER_H_

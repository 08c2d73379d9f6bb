#include "tests/grammar/tag_oracle.h"

#include <algorithm>
#include <cstddef>
#include <regex>
#include <set>
#include <vector>

namespace shortlist {
namespace {

using nlohmann::ordered_json;
using Ends = std::set<size_t>;  // of matches of one format
using Texts = std::vector<std::string>;

int Pick(std::mt19937& random, int count) {
  return std::uniform_int_distribution<int>(0, count - 1)(random);
}

std::string RandomText(std::mt19937& random, int min_len, int max_len) {
  std::string text;
  const int len = min_len + Pick(random, max_len - min_len + 1);
  for (int i = 0; i < len; ++i) text.push_back(static_cast<char>('a' + Pick(random, 3)));
  return text;
}

ordered_json RandomTag(std::mt19937& random, int depth, const std::string& begin) {
  ordered_json tag = {{"type", "tag"}, {"begin", begin}};
  tag["content"] = RandomFormat(random, depth - 1);
  if (Pick(random, 3) == 0) {
    tag["end"] = {RandomText(random, 1, 2), RandomText(random, 0, 2)};
  } else {
    tag["end"] = RandomText(random, 1, 2);
  }
  return tag;
}

ordered_json RandomTriggered(std::mt19937& random, int depth) {
  ordered_json format = {{"type", "triggered_tags"}};
  const std::string first = RandomText(random, 1, 2);
  std::string second = RandomText(random, 1, 2);
  format["triggers"] = {first};
  format["tags"] = {RandomTag(random, depth, first + RandomText(random, 0, 1))};
  if (!first.starts_with(second) && !second.starts_with(first)) {
    format["triggers"].push_back(second);
    format["tags"].push_back(RandomTag(random, depth, second + RandomText(random, 0, 1)));
  }
  format["at_least_one"] = Pick(random, 3) == 0;
  format["stop_after_first"] = Pick(random, 3) == 0;
  if (Pick(random, 3) == 0) format["excludes"] = {RandomText(random, 1, 3)};
  return format;
}

ordered_json RandomLeaf(std::mt19937& random) {
  switch (Pick(random, 5)) {
    case 0:
      return {{"type", "const_string"}, {"value", RandomText(random, 0, 2)}};
    case 1:
      return {{"type", "regex"}, {"pattern", Pick(random, 2) == 0 ? "a+b?" : "(bc|a)*"}};
    case 2:
      return {{"type", "grammar"}, {"grammar", "root ::= \"c\" | \"a\" root \"b\""}};
    case 3:
      return {{"type", "any_text"}, {"excludes", {RandomText(random, 1, 2)}}};
    default:
      return {{"type", "any_text"}};
  }
}

/// Matches formats in one text. Exponential, for short texts.
class Matcher {
 public:
  explicit Matcher(std::string_view text) : text_(text) {}

  /// `ends`: of the tag around it.
  Ends Match(const ordered_json& format, size_t begin, const Texts& ends) const {
    const std::string type = format["type"];
    if (type == "const_string") return MatchText(format["value"], begin);
    if (type == "regex") return MatchRegex(format["pattern"], begin);
    if (type == "grammar") return MatchNested(begin);
    if (type == "any_text") return MatchFreeText(begin, With(ends, format, "excludes"));
    if (type == "tag") return MatchTag(format, begin, 0);
    if (type == "triggered_tags") return MatchTriggered(format, begin, ends);
    if (type == "tags_with_separator") return MatchSeparated(format, begin);
    if (type == "sequence") {
      Ends reached = {begin};
      for (const ordered_json& element : format["elements"]) {
        reached = After(reached, [&](size_t end) { return Match(element, end, ends); });
      }
      return reached;
    }
    if (type == "or") {
      Ends all;
      for (const ordered_json& element : format["elements"]) {
        all.merge(Match(element, begin, ends));
      }
      return all;
    }
    const size_t min = type == "plus" ? 1 : type == "repeat" ? format["min"].get<size_t>() : 0;
    const int max = type == "optional" ? 1 : type == "repeat" ? format["max"].get<int>() : -1;
    return Repeat(begin, min, max, [&](size_t end) { return Match(format["content"], end, ends); });
  }

 private:
  static Texts With(Texts texts, const ordered_json& format, const char* name) {
    std::erase(texts, "");
    if (!format.contains(name)) return texts;
    for (const ordered_json& text : format[name]) texts.push_back(text);
    return texts;
  }

  template <typename Match>
  static Ends After(const Ends& begins, Match match) {
    Ends all;
    for (const size_t begin : begins) all.merge(match(begin));
    return all;
  }

  template <typename Match>
  Ends Repeat(size_t begin, size_t min, int max, Match match) const {
    Ends all, reached = {begin};
    for (size_t count = 0; count <= min + text_.size(); ++count) {
      if (count >= min) all.insert(reached.begin(), reached.end());
      if (max >= 0 && count == static_cast<size_t>(max)) break;
      reached = After(reached, match);
    }
    return all;
  }

  Ends MatchText(const std::string& text, size_t begin) const {
    return text_.substr(begin).starts_with(text) ? Ends{begin + text.size()} : Ends{};
  }

  Ends MatchRegex(const std::string& pattern, size_t begin) const {
    const std::regex regex(pattern);
    Ends all;
    for (size_t end = begin; end <= text_.size(); ++end) {
      if (std::regex_match(text_.begin() + begin, text_.begin() + end, regex)) all.insert(end);
    }
    return all;
  }

  /// a^n c b^n.
  Ends MatchNested(size_t begin) const {
    Ends all;
    for (size_t n = 0; begin + 2 * n < text_.size(); ++n) {
      all.merge(MatchText(std::string(n, 'a') + "c" + std::string(n, 'b'), begin));
    }
    return all;
  }

  static bool Contains(std::string_view text, const Texts& parts) {
    return std::ranges::any_of(
        parts, [&](const std::string& part) { return text.find(part) != text.npos; });
  }

  Ends MatchFreeText(size_t begin, const Texts& excluded) const {
    Ends all;
    for (size_t end = begin; end <= text_.size(); ++end) {
      if (!Contains(text_.substr(begin, end - begin), excluded)) all.insert(end);
    }
    return all;
  }

  /// Without the first `num_begun` bytes of its begin.
  Ends MatchTag(const ordered_json& tag, size_t begin, size_t num_begun) const {
    Texts ends;
    if (tag["end"].is_string()) {
      ends.push_back(tag["end"]);
    } else {
      ends = tag["end"].get<Texts>();
    }
    Ends reached = MatchText(tag["begin"].get<std::string>().substr(num_begun), begin);
    Texts full_ends = ends;
    std::erase(full_ends, "");
    reached = After(reached, [&](size_t end) { return Match(tag["content"], end, full_ends); });
    return After(reached, [&](size_t end) {
      Ends all;
      for (const std::string& text : ends) all.merge(MatchText(text, end));
      return all;
    });
  }

  Ends MatchAnyTag(const ordered_json& format, size_t begin) const {
    Ends all;
    for (const ordered_json& tag : format["tags"]) all.merge(MatchTag(tag, begin, 0));
    return all;
  }

  Ends MatchTriggered(const ordered_json& format, size_t begin, const Texts& ends) const {
    const Texts excluded = With(ends, format, "excludes");
    const Texts stops = With(excluded, format, "triggers");
    // Free text up to the first trigger, and the tag.
    const auto match_one = [&](size_t from) {
      Ends all;
      for (const std::string trigger : format["triggers"]) {
        for (size_t end = from + trigger.size(); end <= text_.size(); ++end) {
          const std::string_view text = text_.substr(from, end - from);
          if (!text.ends_with(trigger) || Contains(text, excluded)) continue;
          if (Contains(text.substr(0, text.size() - 1), stops)) continue;
          for (const ordered_json& tag : format["tags"]) {
            if (!tag["begin"].get<std::string>().starts_with(trigger)) continue;
            all.merge(MatchTag(tag, end, trigger.size()));
          }
        }
      }
      return all;
    };
    const bool stop = format["stop_after_first"];
    Ends reached = {begin};
    if (format["at_least_one"]) {
      reached = MatchAnyTag(format, begin);
      if (stop) return reached;
    } else if (stop) {
      Ends all = match_one(begin);
      all.merge(MatchFreeText(begin, stops));
      return all;
    }
    reached = After(reached, [&](size_t end) { return Repeat(end, 0, -1, match_one); });
    return After(reached, [&](size_t end) { return MatchFreeText(end, stops); });
  }

  Ends MatchSeparated(const ordered_json& format, size_t begin) const {
    Ends all = MatchAnyTag(format, begin);
    if (!format["stop_after_first"]) {
      all = After(all, [&](size_t end) {
        return Repeat(end, 0, -1, [&](size_t next) {
          return After(MatchText(format["separator"], next),
                       [&](size_t from) { return MatchAnyTag(format, from); });
        });
      });
    }
    if (!format["at_least_one"]) all.insert(begin);
    return all;
  }

  const std::string_view text_;
};

}  // namespace

ordered_json RandomFormat(std::mt19937& random, int depth) {
  if (depth == 0) return RandomLeaf(random);
  const auto part = [&] { return RandomFormat(random, depth - 1); };
  switch (Pick(random, 8)) {
    case 0:
      return {{"type", "sequence"}, {"elements", {part(), part()}}};
    case 1:
      return {{"type", "or"}, {"elements", {part(), part()}}};
    case 2: {
      const char* const types[] = {"optional", "plus", "star"};
      return {{"type", types[Pick(random, 3)]}, {"content", part()}};
    }
    case 3: {
      const int min = Pick(random, 3);
      return {{"type", "repeat"},
              {"min", min},
              {"max", Pick(random, 2) == 0 ? -1 : min + Pick(random, 2)},
              {"content", part()}};
    }
    case 4:
      return RandomTag(random, depth, RandomText(random, 0, 2));
    case 5:
      return RandomTriggered(random, depth);
    case 6:
      return {{"type", "tags_with_separator"},
              {"tags", {RandomTag(random, depth, "a"), RandomTag(random, depth, "b")}},
              {"separator", RandomText(random, 0, 1)},
              {"at_least_one", Pick(random, 2) == 0},
              {"stop_after_first", Pick(random, 2) == 0}};
    default:
      return RandomLeaf(random);
  }
}

bool MatchesFormat(const ordered_json& format, std::string_view text) {
  return Matcher(text).Match(format, 0, {}).contains(text.size());
}

}  // namespace shortlist

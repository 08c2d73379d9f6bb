#ifndef SHORTLIST_TEXT_REPLY_TAG_FORMAT_H_
#define SHORTLIST_TEXT_REPLY_TAG_FORMAT_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace shortlist {

// The formats of structural tags (grammar/structural_tag.h) that replies need.

using TagJson = nlohmann::ordered_json;

inline TagJson ConstTag(std::string_view text) {
  return {{"type", "const_string"}, {"value", std::string(text)}};
}
inline TagJson SchemaTag(TagJson schema) {
  return {{"type", "json_schema"}, {"json_schema", std::move(schema)}};
}
inline TagJson RegexTag(std::string_view pattern) {
  return {{"type", "regex"}, {"pattern", std::string(pattern)}};
}
inline TagJson GrammarTag(std::string_view grammar) {
  return {{"type", "grammar"}, {"grammar", std::string(grammar)}};
}
/// Any text; within a tag, without the tag's end.
inline TagJson AnyTextTag() { return {{"type", "any_text"}}; }
inline TagJson AnyTextWithout(std::string_view excluded) {
  return {{"type", "any_text"}, {"excludes", TagJson::array({std::string(excluded)})}};
}
inline TagJson SequenceTag(std::vector<TagJson> elements) {
  if (elements.size() == 1) return std::move(elements.front());
  return {{"type", "sequence"}, {"elements", std::move(elements)}};
}
inline TagJson OrTag(std::vector<TagJson> elements) {
  if (elements.size() == 1) return std::move(elements.front());
  return {{"type", "or"}, {"elements", std::move(elements)}};
}
inline TagJson OptionalTag(TagJson content) {
  return {{"type", "optional"}, {"content", std::move(content)}};
}
inline TagJson StarTag(TagJson content) {
  return {{"type", "star"}, {"content", std::move(content)}};
}
inline TagJson BetweenTag(std::string_view begin, TagJson content, std::string_view end) {
  return {{"type", "tag"},
          {"begin", std::string(begin)},
          {"content", std::move(content)},
          {"end", std::string(end)}};
}

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_TAG_FORMAT_H_

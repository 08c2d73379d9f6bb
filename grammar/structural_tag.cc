#include "grammar/structural_tag.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "grammar/ebnf.h"
#include "grammar/free_text.h"
#include "grammar/json_schema.h"
#include "grammar/json_schema_document.h"
#include "grammar/regex.h"
#include "grammar/tag_document.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;
using Texts = std::vector<std::string>;

constexpr int kMaxNesting = 64;
constexpr int kMaxFormats = 10'000;
constexpr int kMaxTags = 1'000;
// Of all texts, patterns, grammars and schemas together.
constexpr size_t kMaxTagBytes = size_t{1} << 20;
// Of the texts that end one free text: its states are as many.
constexpr size_t kMaxStopBytes = size_t{16} << 10;

/// Compiles one document. Recursion follows its nesting, which is bounded.
class TagCompiler {
 public:
  TagCompiler(bool compact, Expressions& expressions) : e_(expressions), compact_(compact) {}

  absl::StatusOr<ExprId> Document(const TagPart& document);

 private:
  /// Where a format stands.
  struct Scope {
    std::span<const std::string> ends;  // of the tag around it, which no free text may contain
    int nesting = 0;

    Scope Inside() const { return {ends, nesting + 1}; }
  };
  struct Tag {
    std::string begin;
    ExprId rest;  // after `begin`
  };
  using Compile = absl::StatusOr<ExprId> (TagCompiler::*)(const TagPart&, const Scope&);
  struct Kind {
    std::string_view type;
    std::array<std::string_view, 5> members;  // besides `type`
    Compile compile;
  };
  static const Kind kKinds[];

  absl::StatusOr<ExprId> Older(const TagPart& document);
  absl::StatusOr<ExprId> Format(const TagPart& part, const Scope& scope);
  absl::StatusOr<std::vector<ExprId>> Elements(const TagPart& part, const Scope& scope);
  absl::StatusOr<ExprId> ConstString(const TagPart& part, const Scope& scope);
  absl::StatusOr<ExprId> JsonSchema(const TagPart& part, const Scope& scope);
  absl::StatusOr<ExprId> Ebnf(const TagPart& part, const Scope& scope);
  absl::StatusOr<ExprId> Regex(const TagPart& part, const Scope& scope);
  absl::StatusOr<ExprId> AnyText(const TagPart& part, const Scope& scope);
  absl::StatusOr<ExprId> Sequence(const TagPart& part, const Scope& scope);
  absl::StatusOr<ExprId> Or(const TagPart& part, const Scope& scope);
  absl::StatusOr<ExprId> Repeat(const TagPart& part, const Scope& scope);
  absl::StatusOr<ExprId> WholeTag(const TagPart& part, const Scope& scope);
  absl::StatusOr<ExprId> TriggeredTags(const TagPart& part, const Scope& scope);
  absl::StatusOr<ExprId> TagsWithSeparator(const TagPart& part, const Scope& scope);

  absl::StatusOr<Tag> ReadTag(const TagPart& part, const Scope& scope);
  absl::StatusOr<std::vector<Tag>> ReadTags(const TagPart& part, const Scope& scope);
  absl::StatusOr<ExprId> Schema(const TagPart& part);
  absl::StatusOr<ExprId> SchemaStrings(const TagPart& part, const TagPart& schema,
                                       const Scope& scope);
  absl::StatusOr<ExprId> Triggered(const TagPart& part, std::span<const Tag> tags,
                                   const Scope& scope);
  ExprId OneOf(std::span<const Tag> tags);
  absl::StatusOr<Texts> Excluded(const TagPart& part, const Scope& scope) const;
  absl::Status CountStops(const TagPart& part, std::span<const std::string> stops);
  absl::Status Count(const TagPart& part, size_t num_bytes);

  Expressions& e_;
  const bool compact_;
  std::map<std::string, ExprId> schemas_;  // by text
  int64_t num_schema_steps_ = SchemaDocument::kMaxSteps;
  size_t num_bytes_ = 0;
  int num_formats_ = 0, num_tags_ = 0;
};

const TagCompiler::Kind TagCompiler::kKinds[] = {
    {"const_string", {"value"}, &TagCompiler::ConstString},
    {"json_schema", {"json_schema", "style", "any_order", "excludes"}, &TagCompiler::JsonSchema},
    {"grammar", {"grammar"}, &TagCompiler::Ebnf},
    {"regex", {"pattern"}, &TagCompiler::Regex},
    {"any_text", {"excludes"}, &TagCompiler::AnyText},
    {"sequence", {"elements"}, &TagCompiler::Sequence},
    {"or", {"elements"}, &TagCompiler::Or},
    {"optional", {"content"}, &TagCompiler::Repeat},
    {"plus", {"content"}, &TagCompiler::Repeat},
    {"star", {"content"}, &TagCompiler::Repeat},
    {"repeat", {"min", "max", "content"}, &TagCompiler::Repeat},
    {"tag", {"begin", "content", "end"}, &TagCompiler::WholeTag},
    {"triggered_tags",
     {"triggers", "tags", "at_least_one", "stop_after_first", "excludes"},
     &TagCompiler::TriggeredTags},
    {"tags_with_separator",
     {"tags", "separator", "at_least_one", "stop_after_first"},
     &TagCompiler::TagsWithSeparator},
};

absl::Status TagCompiler::Count(const TagPart& part, size_t num_bytes) {
  num_bytes_ += num_bytes;
  if (num_bytes_ <= kMaxTagBytes) return absl::OkStatus();
  return part.Error(absl::StrCat("more than ", kMaxTagBytes, " bytes of text up to here"));
}

absl::StatusOr<ExprId> TagCompiler::Document(const TagPart& document) {
  constexpr std::array<std::string_view, 1> kMembers = {"format"};
  const ordered_json& value = document.value();
  if (value.is_object() && value.contains("structures")) return Older(document);
  SHORTLIST_RETURN_IF_ERROR(document.CheckMembers(kMembers));
  SHORTLIST_ASSIGN_OR_RETURN(const TagPart format, document.Member("format"));
  return Format(format, {});
}

/// xgrammar's form until 0.1: tags around JSON in free text.
absl::StatusOr<ExprId> TagCompiler::Older(const TagPart& document) {
  constexpr std::array<std::string_view, 4> kMembers = {"structures", "triggers", "at_least_one",
                                                        "stop_after_first"};
  constexpr std::array<std::string_view, 3> kTagMembers = {"begin", "schema", "end"};
  SHORTLIST_RETURN_IF_ERROR(document.CheckMembers(kMembers));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TagPart> parts, document.Items("structures"));
  if (parts.size() > kMaxTags) {
    return document.Error(absl::StrCat("more than ", kMaxTags, " structures"));
  }
  std::vector<Tag> tags;
  for (const TagPart& part : parts) {
    SHORTLIST_RETURN_IF_ERROR(part.CheckMembers(kTagMembers));
    SHORTLIST_ASSIGN_OR_RETURN(std::string begin, part.Text("begin"));
    SHORTLIST_ASSIGN_OR_RETURN(const std::string end, part.Text("end"));
    SHORTLIST_RETURN_IF_ERROR(Count(part, begin.size() + end.size()));
    SHORTLIST_ASSIGN_OR_RETURN(const TagPart schema, part.Member("schema"));
    SHORTLIST_ASSIGN_OR_RETURN(const ExprId content, Schema(schema));
    tags.push_back({std::move(begin), e_.Sequence(content, e_.Text(end))});
  }
  return Triggered(document, tags, {});
}

absl::StatusOr<ExprId> TagCompiler::Format(const TagPart& part, const Scope& scope) {
  if (!part.value().is_object()) return part.Error("an object is wanted");
  if (scope.nesting > kMaxNesting) {
    return part.Error(absl::StrCat("nests deeper than ", kMaxNesting));
  }
  if (++num_formats_ > kMaxFormats) {
    return part.Error(absl::StrCat("more than ", kMaxFormats, " formats up to here"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::string type, part.Text("type"));
  const auto* const kind = std::ranges::find(kKinds, type, &Kind::type);
  if (kind == std::end(kKinds)) {
    return part.Error(absl::StrCat("format ", Excerpt(type), " is not supported"));
  }
  SHORTLIST_RETURN_IF_ERROR(part.CheckMembers(kind->members));
  return (this->*kind->compile)(part, scope.Inside());
}

absl::StatusOr<std::vector<ExprId>> TagCompiler::Elements(const TagPart& part, const Scope& scope) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TagPart> items, part.Items("elements"));
  std::vector<ExprId> elements;
  for (const TagPart& item : items) {
    SHORTLIST_ASSIGN_OR_RETURN(elements.emplace_back(), Format(item, scope));
  }
  return elements;
}

absl::StatusOr<ExprId> TagCompiler::ConstString(const TagPart& part, const Scope&) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string text, part.Text("value"));
  SHORTLIST_RETURN_IF_ERROR(Count(part, text.size()));
  return e_.Text(text);
}

absl::StatusOr<ExprId> TagCompiler::JsonSchema(const TagPart& part, const Scope& scope) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string style, part.Text("style", "json"));
  if (style != "json" && style != "text") {
    return part.Error(absl::StrCat("style ", Excerpt(style), " is not supported"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const bool any_order, part.Flag("any_order"));
  if (any_order) return part.Error("any_order is not supported");
  SHORTLIST_ASSIGN_OR_RETURN(const TagPart schema, part.Member("json_schema"));
  if (style == "text") return SchemaStrings(part, schema, scope);
  if (part.Has("excludes")) return part.Error("excludes needs style \"text\"");
  return Schema(schema);
}

/// The strings of `schema` as free text of `part`.
absl::StatusOr<ExprId> TagCompiler::SchemaStrings(const TagPart& part, const TagPart& schema,
                                                  const Scope& scope) {
  SHORTLIST_RETURN_IF_ERROR(Count(part, schema.Dump().size()));
  SHORTLIST_ASSIGN_OR_RETURN(const Texts excluded, Excluded(part, scope));
  const absl::StatusOr<ExprId> strings =
      CompileJsonStrings(schema.value(), {.steps_left = &num_schema_steps_}, e_);
  if (!strings.ok()) return schema.Error(strings.status());
  SHORTLIST_RETURN_IF_ERROR(CountStops(part, excluded));
  return e_.Both(*strings, TextWithout(e_, excluded));
}

absl::StatusOr<ExprId> TagCompiler::Schema(const TagPart& part) {
  std::string text = part.Dump();
  SHORTLIST_RETURN_IF_ERROR(Count(part, text.size()));
  const auto [found, is_new] = schemas_.try_emplace(std::move(text));
  if (!is_new) return found->second;
  const absl::StatusOr<ExprId> schema =
      CompileJsonSchema(part.value(), {.compact = compact_, .steps_left = &num_schema_steps_}, e_);
  if (!schema.ok()) return part.Error(schema.status());
  return found->second = *schema;
}

absl::StatusOr<ExprId> TagCompiler::Ebnf(const TagPart& part, const Scope&) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string text, part.Text("grammar"));
  SHORTLIST_RETURN_IF_ERROR(Count(part, text.size()));
  const absl::StatusOr<ExprId> root = CompileEbnf(text, e_);
  if (!root.ok()) return part.Error(root.status());
  if (const std::string problem = e_.Check(*root); !problem.empty()) return part.Error(problem);
  if (!e_.IsProductive(*root)) return part.Error("the grammar accepts no text");
  return root;
}

absl::StatusOr<ExprId> TagCompiler::Regex(const TagPart& part, const Scope&) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string pattern, part.Text("pattern"));
  SHORTLIST_RETURN_IF_ERROR(Count(part, pattern.size()));
  const absl::StatusOr<ExprId> texts = CompileRegex(pattern, e_);
  if (!texts.ok()) return part.Error(texts.status());
  return texts;
}

/// What no free text of `part` may contain, triggers apart.
absl::StatusOr<Texts> TagCompiler::Excluded(const TagPart& part, const Scope& scope) const {
  Texts excluded(scope.ends.begin(), scope.ends.end());
  if (part.Has("excludes") && part.value()["excludes"] != ordered_json::array()) {
    SHORTLIST_ASSIGN_OR_RETURN(const Texts texts, part.Texts("excludes"));
    excluded.insert(excluded.end(), texts.begin(), texts.end());
  }
  return excluded;
}

/// Bounds the texts that end one free text, and counts them.
absl::Status TagCompiler::CountStops(const TagPart& part, std::span<const std::string> stops) {
  size_t num_bytes = 0;
  for (const std::string& stop : stops) num_bytes += stop.size();
  if (num_bytes <= kMaxStopBytes) return Count(part, num_bytes);
  return part.Error(absl::StrCat("the texts that may not be in its text have ", num_bytes,
                                 " bytes, more than ", kMaxStopBytes));
}

absl::StatusOr<ExprId> TagCompiler::AnyText(const TagPart& part, const Scope& scope) {
  SHORTLIST_ASSIGN_OR_RETURN(const Texts excluded, Excluded(part, scope));
  SHORTLIST_RETURN_IF_ERROR(CountStops(part, excluded));
  return TextWithout(e_, excluded);
}

absl::StatusOr<ExprId> TagCompiler::Sequence(const TagPart& part, const Scope& scope) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<ExprId> elements, Elements(part, scope));
  return e_.Sequence(elements);
}

absl::StatusOr<ExprId> TagCompiler::Or(const TagPart& part, const Scope& scope) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<ExprId> elements, Elements(part, scope));
  return e_.Choice(elements);
}

/// optional, plus, star, repeat.
absl::StatusOr<ExprId> TagCompiler::Repeat(const TagPart& part, const Scope& scope) {
  const std::string& type = part.value()["type"].get_ref<const std::string&>();
  int64_t min = type == "plus" ? 1 : 0;
  int64_t max = type == "optional" ? 1 : Expressions::kNoLimit;
  if (type == "repeat") {
    SHORTLIST_ASSIGN_OR_RETURN(min, part.Count("min", 0));
    SHORTLIST_ASSIGN_OR_RETURN(max, part.Count("max", -1));
    if (max == -1) max = Expressions::kNoLimit;
    if (min > max) return part.Error(absl::StrCat("min ", min, " is above max ", max));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const TagPart content, part.Member("content"));
  SHORTLIST_ASSIGN_OR_RETURN(const ExprId texts, Format(content, scope));
  return e_.Repeat(texts, min, max);
}

absl::StatusOr<TagCompiler::Tag> TagCompiler::ReadTag(const TagPart& part, const Scope& scope) {
  if (++num_tags_ > kMaxTags) {
    return part.Error(absl::StrCat("more than ", kMaxTags, " tags up to here"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(std::string begin, part.Text("begin"));
  SHORTLIST_ASSIGN_OR_RETURN(Texts ends, part.TextOrTexts("end"));
  SHORTLIST_RETURN_IF_ERROR(CountStops(part, ends));
  SHORTLIST_RETURN_IF_ERROR(Count(part, begin.size()));
  std::vector<ExprId> options;
  for (const std::string& end : ends) options.push_back(e_.Text(end));
  std::erase(ends, "");
  SHORTLIST_ASSIGN_OR_RETURN(const TagPart content, part.Member("content"));
  SHORTLIST_ASSIGN_OR_RETURN(const ExprId texts, Format(content, {ends, scope.nesting + 1}));
  return Tag{std::move(begin), e_.Sequence(texts, e_.Choice(options))};
}

absl::StatusOr<ExprId> TagCompiler::WholeTag(const TagPart& part, const Scope& scope) {
  SHORTLIST_ASSIGN_OR_RETURN(const Tag tag, ReadTag(part, scope));
  return OneOf({&tag, 1});
}

absl::StatusOr<std::vector<TagCompiler::Tag>> TagCompiler::ReadTags(const TagPart& part,
                                                                    const Scope& scope) {
  constexpr std::array<std::string_view, 3> kMembers = {"begin", "content", "end"};
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TagPart> items, part.Items("tags"));
  std::vector<Tag> tags;
  for (const TagPart& item : items) {
    SHORTLIST_RETURN_IF_ERROR(item.CheckMembers(kMembers));
    if (item.Has("type") && item.value()["type"] != "tag") return item.Error("a tag is wanted");
    SHORTLIST_ASSIGN_OR_RETURN(tags.emplace_back(), ReadTag(item, scope));
  }
  return tags;
}

ExprId TagCompiler::OneOf(std::span<const Tag> tags) {
  std::vector<ExprId> options;
  for (const Tag& tag : tags) options.push_back(e_.Sequence(e_.Text(tag.begin), tag.rest));
  return e_.Choice(options);
}

absl::StatusOr<ExprId> TagCompiler::TriggeredTags(const TagPart& part, const Scope& scope) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<Tag> tags, ReadTags(part, scope));
  return Triggered(part, tags, scope);
}

/// Free text up to a trigger, then the rest of a tag that begins with it, any number of times.
absl::StatusOr<ExprId> TagCompiler::Triggered(const TagPart& part, std::span<const Tag> tags,
                                              const Scope& scope) {
  SHORTLIST_ASSIGN_OR_RETURN(const Texts triggers, part.Texts("triggers"));
  SHORTLIST_ASSIGN_OR_RETURN(const Texts excluded, Excluded(part, scope));
  SHORTLIST_ASSIGN_OR_RETURN(const bool at_least_one, part.Flag("at_least_one"));
  SHORTLIST_ASSIGN_OR_RETURN(const bool stop_after_first, part.Flag("stop_after_first"));
  Texts stops = excluded;
  stops.insert(stops.end(), triggers.begin(), triggers.end());
  SHORTLIST_RETURN_IF_ERROR(CountStops(part, stops));
  const ExprId text = TextWithout(e_, stops);
  std::map<std::string, std::vector<Tag>> groups;  // by trigger, without it
  for (const Tag& tag : tags) {
    const auto begins = [&](const std::string& trigger) { return tag.begin.starts_with(trigger); };
    const auto trigger = std::ranges::find_if(triggers, begins);
    if (trigger == triggers.end() || std::any_of(trigger + 1, triggers.end(), begins)) {
      return part.Error(absl::StrCat("a tag begins with ", Excerpt(tag.begin), ", which ",
                                     trigger == triggers.end() ? "no trigger" : "several triggers",
                                     " of it begin"));
    }
    groups[*trigger].push_back({tag.begin.substr(trigger->size()), tag.rest});
  }
  if (at_least_one && stop_after_first) return OneOf(tags);
  std::vector<ExprId> options;
  for (const auto& [trigger, group] : groups) {
    options.push_back(e_.Sequence(TextUntil(e_, trigger, triggers, excluded), OneOf(group)));
  }
  const ExprId next = e_.Choice(options);
  if (stop_after_first) return e_.Choice(next, text);
  const ExprId rest = e_.Sequence(e_.Repeat(next, 0, Expressions::kNoLimit), text);
  return at_least_one ? e_.Sequence(OneOf(tags), rest) : rest;
}

absl::StatusOr<ExprId> TagCompiler::TagsWithSeparator(const TagPart& part, const Scope& scope) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<Tag> tags, ReadTags(part, scope));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string separator, part.Text("separator"));
  SHORTLIST_ASSIGN_OR_RETURN(const bool at_least_one, part.Flag("at_least_one"));
  SHORTLIST_ASSIGN_OR_RETURN(const bool stop_after_first, part.Flag("stop_after_first"));
  SHORTLIST_RETURN_IF_ERROR(Count(part, separator.size()));
  ExprId texts = OneOf(tags);
  if (!stop_after_first) {
    const ExprId next = e_.Sequence(e_.Text(separator), texts);
    texts = e_.Sequence(texts, e_.Repeat(next, 0, Expressions::kNoLimit));
  }
  return at_least_one ? texts : e_.Optional(texts);
}

}  // namespace

absl::StatusOr<ExprId> CompileStructuralTag(const ordered_json& tag, bool compact,
                                            Expressions& expressions) {
  const TagPart document(tag, "#");
  if (tag.is_object() && tag.contains("type") && tag["type"] != "structural_tag") {
    return document.Error("the type structural_tag is wanted");
  }
  return TagCompiler(compact, expressions).Document(document);
}

}  // namespace shortlist

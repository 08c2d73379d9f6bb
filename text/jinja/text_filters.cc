#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "text/jinja/filter_groups.h"
#include "text/jinja/format.h"
#include "text/jinja/print.h"
#include "text/jinja/text_methods.h"

namespace shortlist::jinja {
namespace {

using Result = absl::StatusOr<Value>;

template <Value (*respell)(const Text&)>
Result OfText(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(input));
  return respell(text);
}

Result ToText(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  SHORTLIST_ASSIGN_OR_RETURN(Text text, Str(input));
  return Value(std::move(text));
}

Result Safe(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  SHORTLIST_ASSIGN_OR_RETURN(Text text, Str(input));
  text.MarkSafe();
  return Value(std::move(text));
}

Result Escape(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(input));
  if (text.is_safe()) return Value(text);
  Text escaped = EscapedForHtml(text);
  escaped.MarkSafe();
  return Value(std::move(escaped));
}

Result Center(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"width"}));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t width, IntOr(bound[0], 80));
  SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(input));
  SHORTLIST_ASSIGN_OR_RETURN(Text padded,
                             Pad(text, width, Text::FromTemplate(" "), Align::kCenter));
  return Value(std::move(padded));
}

/// text % (...), with the arguments of the filter.
Result FormatFilter(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(input));
  if (arguments.named.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(const Value values,
                               Value::MakeList(arguments.positional, ListKind::kTuple));
    return FormatPercent(text, values);
  }
  if (!arguments.positional.empty()) {
    return absl::InvalidArgumentError("format: arguments both by place and by name");
  }
  Dict named;
  for (const auto& [name, value] : arguments.named) named.Set(name, value);
  SHORTLIST_ASSIGN_OR_RETURN(const Value values, Value::MakeDict(std::move(named)));
  return FormatPercent(text, values);
}

absl::StatusOr<Text> UrlQuoted(const Value& value, bool in_query) {
  SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(value));
  std::string quoted;
  for (const char c : text.bytes()) {
    const bool stays = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
                       c == '-' || c == '~' || (c == '/' && !in_query);
    if (stays) {
      quoted += c;
    } else if (c == ' ' && in_query) {
      quoted += '+';
    } else {
      absl::StrAppendFormat(&quoted, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  Text out;
  out.AppendRespelled(quoted, text);
  return out;
}

/// Encodes a dictionary as a query, other values as texts.
Result UrlEncode(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  if (input.Is(Kind::kList) || input.Is(Kind::kGenerator)) {
    return absl::InvalidArgumentError(absl::StrCat("urlencode of a ", input.TypeName()));
  }
  Text out;
  if (!input.Is(Kind::kDict)) {
    SHORTLIST_ASSIGN_OR_RETURN(out, UrlQuoted(input, /*in_query=*/false));
    return Value(std::move(out));
  }
  for (const auto& [key, value] : input.dict().entries) {
    if (!out.bytes().empty()) out.AppendTemplate("&");
    SHORTLIST_ASSIGN_OR_RETURN(const Text name, UrlQuoted(key, /*in_query=*/true));
    SHORTLIST_ASSIGN_OR_RETURN(const Text content, UrlQuoted(value, /*in_query=*/true));
    out.Append(name);
    out.AppendTemplate("=");
    out.Append(content);
  }
  return Value(std::move(out));
}

Result Trim(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"chars"}));
  SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(input));
  return Strip(text, Side::kBoth, bound[0]);
}

Result ReplaceFilter(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"old", "new", "count"}));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t count, IntOr(bound[2], -1));
  if (!bound[0] || !bound[1]) return absl::InvalidArgumentError("replace: needs two texts");
  SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(input));
  SHORTLIST_ASSIGN_OR_RETURN(const Text from, Str(*bound[0]));
  SHORTLIST_ASSIGN_OR_RETURN(const Text to, Str(*bound[1]));
  return Replace(text, from, to, count);
}

Result Indent(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"width", "first", "blank"}));
  if (!input.Is(Kind::kText)) {
    return absl::InvalidArgumentError(absl::StrCat("indent of a value of type ", input.TypeName()));
  }
  Text text = input.text();
  Text indention;
  if (bound[0] != nullptr && bound[0]->Is(Kind::kText)) {
    indention = bound[0]->text();
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t width, IntOr(bound[0], 4));
    if (width > 1000) {
      return absl::InvalidArgumentError(absl::StrCat("indent: width ", width, " above 1000"));
    }
    indention =
        Text::FromTemplate(std::string(static_cast<size_t>(std::max(width, int64_t{0})), ' '));
  }
  text.AppendTemplate("\n");  // as in Jinja, so that a line end at the end is kept
  const std::vector<Text> lines = SplitLines(text, /*keep_ends=*/false);
  Text out;
  if (IsTrue(bound[1])) out.Append(indention);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.AppendTemplate("\n");
    if (i > 0 && (IsTrue(bound[2]) || !lines[i].bytes().empty())) out.Append(indention);
    out.Append(lines[i]);
  }
  return Value(std::move(out));
}

Result ToJsonFilter(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound,
                             arguments.Bind({"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style{.ensure_ascii = IsTrue(bound[0]), .sort_keys = IsTrue(bound[3])};
  style.multi_line = bound[1] != nullptr && !bound[1]->Is(Kind::kNone);
  if (style.multi_line && bound[1]->Is(Kind::kText)) {
    style.indent = bound[1]->text();
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t width, IntOr(bound[1], 0));
    if (width > 1000) {
      return absl::InvalidArgumentError(absl::StrCat("tojson: indent ", width, " above 1000"));
    }
    style.indent =
        Text::FromTemplate(std::string(static_cast<size_t>(std::max(width, int64_t{0})), ' '));
  }
  style.item_separator = Text::FromTemplate(style.multi_line ? "," : ", ");
  style.key_separator = Text::FromTemplate(": ");
  if (bound[2] != nullptr && !bound[2]->Is(Kind::kNone)) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<Value> pair, Items(*bound[2]));
    if (pair.size() != 2 || !pair[0].Is(Kind::kText) || !pair[1].Is(Kind::kText)) {
      return absl::InvalidArgumentError("tojson: separators must be two texts");
    }
    style.item_separator = pair[0].text();
    style.key_separator = pair[1].text();
  }
  SHORTLIST_ASSIGN_OR_RETURN(Text json, ToJson(input, style));
  return Value(std::move(json));
}

constexpr NamedFilter kTextFilters[] = {
    {"capitalize", OfText<Capitalize>},
    {"center", Center},
    {"e", Escape},
    {"escape", Escape},
    {"format", FormatFilter},
    {"indent", Indent},
    {"lower", OfText<Lower>},
    {"replace", ReplaceFilter},
    {"safe", Safe},
    {"string", ToText},
    {"title", OfText<TitleOfWords>},
    {"tojson", ToJsonFilter},
    {"trim", Trim},
    {"upper", OfText<Upper>},
    {"urlencode", UrlEncode},
};

}  // namespace

std::span<const NamedFilter> TextFilters() { return kTextFilters; }

}  // namespace shortlist::jinja

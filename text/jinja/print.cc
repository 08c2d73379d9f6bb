#include "text/jinja/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/ast.h"

namespace shortlist::jinja {
namespace {

void AppendHex(const char* prefix, int digits, char32_t c, std::string& out) {
  char buffer[16];
  std::snprintf(buffer, sizeof(buffer), "%s%0*x", prefix, digits, static_cast<unsigned>(c));
  out += buffer;
}

/// Python's repr() of a str.
std::string QuotedRepr(const std::string& bytes) {
  const bool has_single = bytes.find('\'') != std::string::npos;
  const bool has_double = bytes.find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  for (size_t i = 0; i < bytes.size();) {
    const char32_t c = NextCodePoint(bytes, i);
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (IsPrintable(c)) {
      AppendCodePoint(c, out);
    } else if (c < 0x100) {
      AppendHex("\\x", 2, c, out);
    } else if (c < 0x10000) {
      AppendHex("\\u", 4, c, out);
    } else {
      AppendHex("\\U", 8, c, out);
    }
  }
  return out + quote;
}

/// Returns a JSON string, as json.dumps writes it.
std::string QuotedJson(const std::string& bytes, bool ensure_ascii) {
  std::string out = "\"";
  for (size_t i = 0; i < bytes.size();) {
    const char32_t c = NextCodePoint(bytes, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      const size_t named = std::string_view("\b\t\n\f\r").find(static_cast<char>(c));
      if (c != 0 && named != std::string_view::npos) {
        out += '\\';
        out += "btnfr"[named];
      } else {
        AppendHex("\\u", 4, c, out);
      }
    } else if (!ensure_ascii || c < 0x80) {
      if (ensure_ascii && c == 0x7F) {
        AppendHex("\\u", 4, c, out);
      } else {
        AppendCodePoint(c, out);
      }
    } else if (c < 0x10000) {
      AppendHex("\\u", 4, c, out);
    } else {
      AppendHex("\\u", 4, 0xD800 + ((c - 0x10000) >> 10), out);
      AppendHex("\\u", 4, 0xDC00 + ((c - 0x10000) & 0x3FF), out);
    }
  }
  return out + '"';
}

absl::Status NotPrintable(const Value& value) {
  return absl::InvalidArgumentError(absl::StrCat("a ", value.TypeName(), " has no printed form"));
}

absl::Status AppendRepr(const Value& value, Text& out);

absl::Status AppendListRepr(const Value& value, Text& out) {
  const List& list = value.list();
  if (list.kind == ListKind::kRange) {
    const auto [start, stop, step] = list.range;
    out.AppendTemplate(absl::StrCat("range(", start, ", ", stop));
    out.AppendTemplate(step == 1 ? ")" : absl::StrCat(", ", step, ")"));
    return absl::OkStatus();
  }
  const bool is_tuple = list.kind == ListKind::kTuple;
  if (list.is_view()) out.AppendTemplate(absl::StrCat(value.TypeName(), "("));
  out.AppendTemplate(is_tuple ? "(" : "[");
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out.AppendTemplate(", ");
    SHORTLIST_RETURN_IF_ERROR(AppendRepr(list.items[i], out));
  }
  if (is_tuple && list.items.size() == 1) out.AppendTemplate(",");
  out.AppendTemplate(is_tuple ? ")" : "]");
  if (list.is_view()) out.AppendTemplate(")");
  return absl::OkStatus();
}

absl::Status AppendRepr(const Value& value, Text& out) {
  SHORTLIST_RETURN_IF_ERROR(CheckLength(out));
  switch (value.kind()) {
    case Kind::kUndefined:
      out.AppendTemplate("Undefined");
      return absl::OkStatus();
    case Kind::kText:
      out.AppendRespelled(QuotedRepr(value.bytes()), value.text());
      return absl::OkStatus();
    case Kind::kList:
      return AppendListRepr(value, out);
    case Kind::kDict: {
      out.AppendTemplate("{");
      bool first = true;
      for (const auto& [key, item] : value.dict().entries) {
        if (!first) out.AppendTemplate(", ");
        first = false;
        SHORTLIST_RETURN_IF_ERROR(AppendRepr(key, out));
        out.AppendTemplate(": ");
        SHORTLIST_RETURN_IF_ERROR(AppendRepr(item, out));
      }
      out.AppendTemplate("}");
      return absl::OkStatus();
    }
    default:
      SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(value));
      out.Append(text);
      return absl::OkStatus();
  }
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Text& out) : style_(style), out_(out) {}

  absl::Status Write(const Value& value, int level) {
    SHORTLIST_RETURN_IF_ERROR(CheckLength(out_));
    switch (value.kind()) {
      case Kind::kNone:
        out_.AppendTemplate("null");
        return absl::OkStatus();
      case Kind::kBool:
        out_.AppendTemplate(value.boolean() ? "true" : "false");
        return absl::OkStatus();
      case Kind::kInt:
        out_.AppendTemplate(absl::StrCat(value.integer()));
        return absl::OkStatus();
      case Kind::kFloat:
        WriteFloat(value.real());
        return absl::OkStatus();
      case Kind::kText:
        out_.AppendRespelled(QuotedJson(value.bytes(), style_.ensure_ascii), value.text());
        return absl::OkStatus();
      case Kind::kList:
        // json.dumps supports lists and tuples; ranges and views are errors.
        if (value.list().kind > ListKind::kTuple) return NoJson(value);
        return WriteList(value.list(), level);
      case Kind::kDict:
        return WriteDict(value.dict(), level);
      default:
        return NoJson(value);
    }
  }

 private:
  static absl::Status NoJson(const Value& value) {
    return absl::InvalidArgumentError(absl::StrCat("tojson of a value of type ", value.TypeName()));
  }

  void WriteFloat(double value) {
    if (std::isnan(value)) return out_.AppendTemplate("NaN");
    if (std::isinf(value)) return out_.AppendTemplate(value > 0 ? "Infinity" : "-Infinity");
    out_.AppendTemplate(FloatRepr(value));
  }

  void NewLine(int level) {
    if (!style_.multi_line) return;
    out_.AppendTemplate("\n");
    for (int i = 0; i < level; ++i) out_.Append(style_.indent);
  }

  absl::Status WriteList(const List& list, int level) {
    if (list.items.empty()) {
      out_.AppendTemplate("[]");
      return absl::OkStatus();
    }
    out_.AppendTemplate("[");
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out_.Append(style_.item_separator);
      NewLine(level + 1);
      SHORTLIST_RETURN_IF_ERROR(Write(list.items[i], level + 1));
    }
    NewLine(level);
    out_.AppendTemplate("]");
    return absl::OkStatus();
  }

  absl::Status WriteDict(const Dict& dict, int level) {
    if (dict.entries.empty()) {
      out_.AppendTemplate("{}");
      return absl::OkStatus();
    }
    std::vector<size_t> order(dict.entries.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (style_.sort_keys) {
      if (dict.index.size() != dict.entries.size()) {
        return absl::InvalidArgumentError("tojson: sort_keys of keys that are no texts");
      }
      std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return dict.entries[a].first.bytes() < dict.entries[b].first.bytes();
      });
    }
    out_.AppendTemplate("{");
    for (size_t i = 0; i < order.size(); ++i) {
      const auto& [key, item] = dict.entries[order[i]];
      if (i > 0) out_.Append(style_.item_separator);
      NewLine(level + 1);
      if (key.Is(Kind::kText)) {
        SHORTLIST_RETURN_IF_ERROR(Write(key, level + 1));
      } else {
        out_.AppendTemplate("\"");
        SHORTLIST_RETURN_IF_ERROR(Write(key, level + 1));
        out_.AppendTemplate("\"");
      }
      out_.Append(style_.key_separator);
      SHORTLIST_RETURN_IF_ERROR(Write(item, level + 1));
    }
    NewLine(level);
    out_.AppendTemplate("}");
    return absl::OkStatus();
  }

  const JsonStyle& style_;
  Text& out_;
};

}  // namespace

std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto written =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const std::string scientific(buffer, written.ptr);
  const size_t mark = scientific.find('e');
  const int exponent = std::stoi(scientific.substr(mark + 1));
  // Python prints an exponent below 1e-4 and from 1e16 on.
  if (exponent >= -4 && exponent < 16) {
    const auto fixed =
        std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed);
    const std::string digits(buffer, fixed.ptr);
    return digits.find('.') == std::string::npos ? digits + ".0" : digits;
  }
  return scientific;
}

absl::StatusOr<Text> Str(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return Text();
    case Kind::kNone:
      return Text::FromTemplate("None");
    case Kind::kBool:
      return Text::FromTemplate(value.boolean() ? "True" : "False");
    case Kind::kInt:
      return Text::FromTemplate(absl::StrCat(value.integer()));
    case Kind::kFloat:
      return Text::FromTemplate(FloatRepr(value.real()));
    case Kind::kText:
      return value.text();
    case Kind::kList:
    case Kind::kDict: {
      Text out;
      SHORTLIST_RETURN_IF_ERROR(AppendRepr(value, out));
      return out;
    }
    case Kind::kLoop: {
      SHORTLIST_ASSIGN_OR_RETURN(const size_t count, value.loop().items->Count());
      return Text::FromTemplate(
          absl::StrCat("<LoopContext ", value.loop().index0 + 1, "/", count, ">"));
    }
    case Kind::kFunction:
      if (value.function().macro == nullptr) return NotPrintable(value);
      return Text::FromTemplate(absl::StrCat("<Macro '", value.function().macro->name, "'>"));
    default:
      return NotPrintable(value);
  }
}

absl::Status AppendStr(const Value& value, Text& out) {
  if (value.Is(Kind::kText)) {
    out.Append(value.text());
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(value));
    out.Append(text);
  }
  return CheckLength(out);
}

absl::StatusOr<Text> ToJson(const Value& value, const JsonStyle& style) {
  Text out;
  SHORTLIST_RETURN_IF_ERROR(JsonWriter(style, out).Write(value, /*level=*/0));
  return out;
}

}  // namespace shortlist::jinja

#include "text/jinja/format.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/number_format.h"
#include "text/jinja/print.h"

namespace shortlist::jinja {
namespace {

using Result = absl::StatusOr<Value>;

constexpr auto npos = std::string::npos;
constexpr int64_t kMaxWidth = 100'000;

absl::Status Bad(std::string_view what, std::string_view of) {
  return absl::InvalidArgumentError(
      absl::StrCat("format: ", std::string(what), " '", std::string(of.substr(0, 40)), "'"));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Reads the digits at `i` and moves `i` past them; nullopt if there are none.
absl::StatusOr<std::optional<int64_t>> ReadCount(std::string_view text, size_t& i) {
  if (i >= text.size() || !IsDigit(text[i])) return std::nullopt;
  int64_t count = 0;
  for (; i < text.size() && IsDigit(text[i]); ++i) {
    count = 10 * count + (text[i] - '0');
    if (count > kMaxWidth) return Bad("too large a number in", text);
  }
  return count;
}

/// [[fill]align][sign][#][0][width][grouping][.precision][type]
struct FieldSpec {
  Text fill = Text::FromTemplate(" ");
  std::optional<Align> align;
  int64_t width = 0;
  NumberStyle number;
};

std::optional<Align> AlignOf(char c) {
  switch (c) {
    case '<':
      return Align::kLeft;
    case '>':
      return Align::kRight;
    case '^':
      return Align::kCaret;
    case '=':
      return Align::kInner;
    default:
      return std::nullopt;
  }
}

absl::StatusOr<FieldSpec> ParseSpec(const std::string& spec) {
  FieldSpec parsed;
  size_t i = 0, behind_fill = 0;
  if (!spec.empty()) NextCodePoint(spec, behind_fill);
  const bool has_fill = behind_fill < spec.size() && AlignOf(spec[behind_fill]);
  if (has_fill) {
    parsed.fill = Text::FromTemplate(spec.substr(0, behind_fill));
    i = behind_fill;
  }
  if (i < spec.size() && AlignOf(spec[i])) parsed.align = AlignOf(spec[i++]);
  const auto take = [&](std::string_view any) {
    return i < spec.size() && any.find(spec[i]) != npos ? spec[i++] : '\0';
  };
  if (const char sign = take("+- "); sign != '-') parsed.number.sign = sign;
  parsed.number.is_alternate = take("#") != '\0';
  if (!has_fill && take("0") != '\0') {
    parsed.fill = Text::FromTemplate("0");
    parsed.number.pads_zeros = !parsed.align;
  }
  SHORTLIST_ASSIGN_OR_RETURN(const auto width, ReadCount(spec, i));
  parsed.width = width.value_or(0);
  parsed.number.grouping = take(",_");
  if (take(".") != '\0') {
    SHORTLIST_ASSIGN_OR_RETURN(parsed.number.precision, ReadCount(spec, i));
    if (!parsed.number.precision) return Bad("no precision in", spec);
  }
  if (i < spec.size()) parsed.number.type = spec[i++];
  if (i < spec.size()) return Bad("not supported is", spec);
  return parsed;
}

/// Returns the first `count` characters.
Text Cut(const Text& text, int64_t count) {
  size_t end = 0;
  for (; count > 0 && end < text.bytes().size(); --count) NextCodePoint(text.bytes(), end);
  return text.Slice(0, end);
}

absl::StatusOr<Text> FormatText(const Text& text, const FieldSpec& spec,
                                const std::string& source) {
  const NumberStyle& number = spec.number;
  const bool fits = (number.type == '\0' || number.type == 's') && number.sign == '\0' &&
                    !number.is_alternate && number.grouping == '\0' && spec.align != Align::kInner;
  if (!fits) return Bad("of a str, not", source);
  const Text shown = number.precision ? Cut(text, *number.precision) : text;
  return Pad(shown, spec.width, spec.fill, spec.align.value_or(Align::kLeft));
}

/// Python's format(value, spec).
absl::StatusOr<Text> FormatValue(const Value& value, const std::string& source) {
  if (source.empty()) return Str(value);
  SHORTLIST_ASSIGN_OR_RETURN(const FieldSpec spec, ParseSpec(source));
  if (value.Is(Kind::kText)) return FormatText(value.text(), spec, source);
  if (!value.AsFloat()) {
    return absl::InvalidArgumentError(
        absl::StrCat("format: a ", value.TypeName(), " takes no '", source.substr(0, 40), "'"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const SpelledNumber spelled, SpellNumber(value, spec.number));
  const bool is_padded =
      spec.number.grouping != '\0' && (spec.number.pads_zeros || spec.align == Align::kInner);
  if (is_padded) return Bad("groups of digits after padding in", source);
  const Align otherwise = spec.number.pads_zeros ? Align::kInner : Align::kRight;
  return Pad(Text::FromTemplate(spelled.sign + spelled.digits), spec.width, spec.fill,
             spec.align.value_or(otherwise), spelled.sign.size());
}

/// The fields of one text, numbered either automatically or by the template.
class Fields {
 public:
  explicit Fields(const Arguments& arguments) : arguments_(arguments) {}

  absl::StatusOr<const Value*> Find(const std::string& name) {
    const bool is_number = !name.empty() && std::all_of(name.begin(), name.end(), IsDigit);
    if (name.empty() || is_number) {
      bool& kind = name.empty() ? counts_ : is_counted_;
      kind = true;
      if (counts_ && is_counted_) {
        return absl::InvalidArgumentError("format: both numbered fields and {}");
      }
      const size_t index = name.empty()      ? next_++
                           : name.size() < 4 ? std::stoul(name)
                                             : arguments_.positional.size();
      if (index < arguments_.positional.size()) return &arguments_.positional[index];
    }
    for (const auto& [given, value] : arguments_.named) {
      if (given.bytes() == name) return &value;
    }
    return Bad("no argument for the field", name);
  }

 private:
  const Arguments& arguments_;
  size_t next_ = 0;
  bool counts_ = false, is_counted_ = false;
};

/// %[(name)][flags][width][.precision]type
struct Conversion {
  std::optional<std::string> name;
  bool is_left = false, pads_zeros = false;
  int64_t width = 0;
  NumberStyle number;
};

/// Reads a conversion after its "%" and moves `i` past it.
absl::StatusOr<Conversion> ParseConversion(const std::string& text, size_t& i) {
  const size_t begin = i;
  Conversion parsed;
  if (i < text.size() && text[i] == '(') {
    const size_t end = text.find(')', i);
    if (end == npos) return Bad("an open name in", std::string_view(text).substr(begin));
    parsed.name = text.substr(i + 1, end - i - 1);
    i = end + 1;
  }
  for (; i < text.size() && std::string_view("-+ #0").find(text[i]) != npos; ++i) {
    parsed.is_left |= text[i] == '-';
    parsed.pads_zeros |= text[i] == '0';
    parsed.number.is_alternate |= text[i] == '#';
    if (text[i] == '+' || (text[i] == ' ' && parsed.number.sign == '\0')) {
      parsed.number.sign = text[i];
    }
  }
  SHORTLIST_ASSIGN_OR_RETURN(const auto width, ReadCount(text, i));
  parsed.width = width.value_or(0);
  if (i < text.size() && text[i] == '.') {
    SHORTLIST_ASSIGN_OR_RETURN(parsed.number.precision, ReadCount(text, ++i));
    if (!parsed.number.precision) parsed.number.precision = 0;
  }
  const bool is_known = i < text.size() && std::string_view("diuxXoeEfFgGs%").find(text[i]) != npos;
  if (!is_known) return Bad("no conversion", "%" + text.substr(begin, i + 1 - begin));
  parsed.number.type = text[i++];
  return parsed;
}

absl::StatusOr<Text> Convert(const Value& value, Conversion conversion) {
  NumberStyle& number = conversion.number;
  const Text blank = Text::FromTemplate(" ");
  const Align align = conversion.is_left ? Align::kLeft : Align::kRight;
  if (number.type == 's') {
    SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(value));
    return Pad(number.precision ? Cut(text, *number.precision) : text, conversion.width, blank,
               align);
  }
  const bool takes_float = std::string_view("xXo").find(number.type) == npos;
  if (!value.AsInt() && !(takes_float && value.AsFloat())) {
    return absl::InvalidArgumentError(absl::StrCat("format: %", std::string(1, number.type),
                                                   " of a value of type ", value.TypeName()));
  }
  Value shown = value;
  const bool is_integer = std::string_view("diu").find(number.type) != npos;
  if (is_integer) {
    if (!value.AsInt()) {
      if (!(std::abs(value.real()) < 9e18)) return BeyondIntegers();
      shown = Value(static_cast<int64_t>(value.real()));
    }
    number.type = 'd';
  }
  const bool counts_digits = is_integer || !takes_float;
  const auto num_digits = static_cast<size_t>(counts_digits ? number.precision.value_or(0) : 0);
  if (counts_digits) number.precision.reset();
  SHORTLIST_ASSIGN_OR_RETURN(SpelledNumber spelled, SpellNumber(shown, number));
  if (spelled.digits.size() < num_digits) {
    spelled.digits.insert(0, num_digits - spelled.digits.size(), '0');
  }
  const bool has_zeros = conversion.pads_zeros && !conversion.is_left;
  return Pad(Text::FromTemplate(spelled.sign + spelled.digits), conversion.width,
             has_zeros ? Text::FromTemplate("0") : blank, has_zeros ? Align::kInner : align,
             spelled.sign.size());
}

}  // namespace

absl::StatusOr<Text> Pad(const Text& text, int64_t width, const Text& fill, Align align,
                         size_t sign_bytes) {
  if (width > kMaxWidth) {
    return absl::InvalidArgumentError(
        absl::StrCat("a width of ", width, " characters, above the bound of ", kMaxWidth));
  }
  const int64_t missing = width - static_cast<int64_t>(CountCodePoints(text.bytes()));
  if (missing <= 0) return text;
  const int64_t before = align == Align::kLeft     ? 0
                         : align == Align::kCaret  ? missing / 2
                         : align == Align::kCenter ? missing / 2 + (missing & width & 1)
                                                   : missing;
  const size_t begin = align == Align::kInner ? sign_bytes : 0;
  Text out = text.Slice(0, begin);
  for (int64_t i = 0; i < before; ++i) out.Append(fill);
  out.Append(text.Slice(begin, text.bytes().size()));
  for (int64_t i = before; i < missing; ++i) out.Append(fill);
  return out;
}

Result FormatFields(const Text& text, const Arguments& arguments) {
  const std::string& bytes = text.bytes();
  Fields fields(arguments);
  Text out;
  for (size_t i = 0; i < bytes.size();) {
    const size_t brace = bytes.find_first_of("{}", i);
    out.Append(text.Slice(i, std::min(brace, bytes.size())));
    if (brace == npos) break;
    if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
      out.Append(text.Slice(brace, brace + 1));
      i = brace + 2;
      continue;
    }
    const size_t end = bytes.find('}', brace);
    if (bytes[brace] == '}' || end == npos) {
      return absl::InvalidArgumentError("format: a lone brace");
    }
    const std::string field = bytes.substr(brace + 1, end - brace - 1);
    const size_t colon = std::min(field.find(':'), field.size());
    if (field.find('{') != npos) return Bad("a field within a field:", field);
    SHORTLIST_ASSIGN_OR_RETURN(const Value* const value, fields.Find(field.substr(0, colon)));
    const std::string spec = colon < field.size() ? field.substr(colon + 1) : "";
    SHORTLIST_ASSIGN_OR_RETURN(const Text shown, FormatValue(*value, spec));
    out.Append(shown);
    SHORTLIST_RETURN_IF_ERROR(CheckLength(out));
    i = end + 1;
  }
  return Value(std::move(out));
}

Result FormatPercent(const Text& text, const Value& values) {
  if (text.is_safe()) return absl::InvalidArgumentError("format: of a text marked as safe");
  const std::string& bytes = text.bytes();
  const bool is_tuple = values.Is(Kind::kList) && values.list().kind == ListKind::kTuple;
  // Python treats any value with elements by key as a mapping, and does not count those.
  const bool is_mapping = values.Is(Kind::kDict) || (values.Is(Kind::kList) && !is_tuple);
  const std::vector<Value> given = is_tuple ? values.list().items : std::vector<Value>{values};
  size_t num_used = 0;
  Text out;
  for (size_t i = 0; i < bytes.size();) {
    const size_t mark = std::min(bytes.find('%', i), bytes.size());
    out.Append(text.Slice(i, mark));
    if (mark == bytes.size()) break;
    i = mark + 1;
    SHORTLIST_ASSIGN_OR_RETURN(const Conversion conversion, ParseConversion(bytes, i));
    if (conversion.number.type == '%') {
      out.AppendTemplate("%");
      continue;
    }
    const Value* value = nullptr;
    if (conversion.name) {
      if (!values.Is(Kind::kDict)) return Bad("no dictionary for", *conversion.name);
      value = values.dict().Find(*conversion.name);
    } else if (num_used < given.size()) {
      value = &given[num_used++];
    }
    if (value == nullptr) return Bad("no value for", bytes.substr(mark, i - mark));
    SHORTLIST_ASSIGN_OR_RETURN(const Text shown, Convert(*value, conversion));
    out.Append(shown);
    SHORTLIST_RETURN_IF_ERROR(CheckLength(out));
  }
  if (num_used < given.size() && !is_mapping) {
    return absl::InvalidArgumentError("format: more values than conversions");
  }
  return Value(std::move(out));
}

}  // namespace shortlist::jinja

#include "grammar/json_schema_format.h"

#include <algorithm>
#include <vector>

#include "grammar/expressions.h"

namespace shortlist {
namespace {

/// Days of the months, and February 29 in leap years. No year 0.
constexpr char kDate[] =
    "(?:(?:[0-9]{3}[1-9]|[0-9]{2}[1-9][0-9]|[0-9][1-9][0-9]{2}|[1-9][0-9]{3})-"
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|"
    "02-(?:0[1-9]|1[0-9]|2[0-8]))|"
    "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29)";
constexpr char kTime[] =
    "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?"
    "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
/// RFC 3339, appendix A.
constexpr char kDurationTime[] = "T(?:N{1,9}H(?:N{1,9}M(?:N{1,9}S)?)?|N{1,9}M(?:N{1,9}S)?|N{1,9}S)";
constexpr char kDurationDate[] = "(?:N{1,9}Y(?:N{1,9}M(?:N{1,9}D)?)?|N{1,9}M(?:N{1,9}D)?|N{1,9}D)";
/// At most 63 characters; no two hyphens in a row, which would be an encoded name. With hyphens, at
/// most 32 others.
constexpr char kLabel[] = "(?:[A-Za-z0-9]{1,63}|[A-Za-z0-9](?:-?[A-Za-z0-9]){0,31})";
constexpr char kIpv4[] =
    "(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}"
    "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
constexpr char kAtom[] = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
constexpr char kPathChar[] = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
constexpr char kVariable[] = "[A-Za-z0-9_](?:\\.?[A-Za-z0-9_])*(?::[1-9][0-9]{0,3}|\\*)?";

std::string Replaced(std::string text, char from, std::string_view by) {
  for (size_t i = text.find(from); i != text.npos; i = text.find(from, i + by.size())) {
    text.replace(i, 1, by);
  }
  return text;
}

std::string Hostname() { return std::string(kLabel) + "(?:\\." + kLabel + ")*"; }

std::string Duration() {
  const std::string date_and_time = std::string("P(?:") + kDurationDate + "(?:" + kDurationTime +
                                    ")?|" + kDurationTime + "|N{1,9}W)";
  return Replaced(date_and_time, 'N', "[0-9]");
}

/// RFC 3986, section 3.2.2: eight groups, the last two perhaps as IPv4, or fewer around "::".
std::string Ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  const std::string last = "(?:" + group + ":" + group + "|" + kIpv4 + ")";
  const auto groups = [&](int count) {
    return "(?:" + group + ":){" + std::to_string(count) + "}";
  };
  std::string options = groups(6) + last;
  for (int num_after = 5; num_after >= 0; --num_after) {
    const int max_before = 4 - num_after;  // besides the one next to "::"
    options += max_before < 0
                   ? "|"
                   : "|(?:(?:" + group + ":){0," + std::to_string(max_before) + "}" + group + ")?";
    options += "::" + groups(num_after) + last;
  }
  options += "|(?:(?:" + group + ":){0,5}" + group + ")?::" + group;
  options += "|(?:(?:" + group + ":){0,6}" + group + ")?::";
  return "(?:" + options + ")";
}

std::string UriEnd() {
  const std::string chars = "(?:" + std::string(kPathChar) + "|[/?])*";
  return "(?:\\?" + chars + ")?(?:#" + chars + ")?";
}

std::string Authority() {
  const std::string name = "(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*";
  const std::string user = "(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?";
  return "//" + user + "(?:" + name + "|\\[" + Ipv6() + "\\])(?::[0-9]{0,5})?(?:/" + kPathChar +
         "*)*";
}

std::string Uri() {
  const std::string segments = std::string(kPathChar) + "+(?:/" + kPathChar + "*)*";
  return "[A-Za-z][A-Za-z0-9+.-]*:(?:" + Authority() + "|/(?:" + segments + ")?|" + segments +
         "|)" + UriEnd();
}

/// A URI, or one without a scheme: then no colon in its first segment.
std::string UriReference() {
  const std::string segments = std::string(kPathChar) + "+(?:/" + kPathChar + "*)*";
  const std::string first = "(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})+";
  return "(?:" + Uri() + "|(?:" + Authority() + "|/(?:" + segments + ")?|" + first + "(?:/" +
         kPathChar + "*)*|)" + UriEnd() + ")";
}

/// RFC 6570, without characters beyond ASCII and % in names.
std::string UriTemplate() {
  return std::string("(?:[!#$&()*+,./0-9:;=?@A-Z\\[\\]_a-z~-]|%[0-9A-Fa-f]{2}|\\{[+#./;?&]?") +
         kVariable + "(?:," + kVariable + ")*\\})*";
}

std::vector<StringFormat> MakeFormats() {
  constexpr int64_t kNoLimit = Expressions::kNoLimit;
  const std::string atoms = std::string(kAtom) + "(?:\\." + kAtom + ")*";
  const std::string json_pointer = "(?:/(?:[^/~]|~[01])*)*";
  // OpenAPI's formats that limit no string: hints for readers, and formats of numbers.
  const std::string any = "[\\s\\S]*";
  std::vector<StringFormat> formats = {
      {"binary", any, kNoLimit},
      {"byte", "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", kNoLimit},
      {"date", kDate, kNoLimit},
      {"date-time", std::string(kDate) + "T" + kTime, kNoLimit},
      {"double", any, kNoLimit},
      {"duration", Duration(), kNoLimit},
      {"email", atoms + "@" + Hostname(), 254},
      {"float", any, kNoLimit},
      {"hostname", Hostname(), 253},
      {"int32", any, kNoLimit},
      {"int64", any, kNoLimit},
      {"ipv4", kIpv4, kNoLimit},
      {"ipv6", Ipv6(), kNoLimit},
      {"json-pointer", json_pointer, kNoLimit},
      {"password", any, kNoLimit},
      {"relative-json-pointer", "(?:0|[1-9][0-9]{0,8})(?:#|" + json_pointer + ")", kNoLimit},
      {"time", kTime, kNoLimit},
      {"uri", Uri(), kNoLimit},
      {"uri-reference", UriReference(), kNoLimit},
      {"uri-template", UriTemplate(), kNoLimit},
      {"uuid", "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", kNoLimit},
  };
  for (StringFormat& format : formats) format.pattern = "^(?:" + format.pattern + ")$";
  return formats;
}

}  // namespace

const StringFormat* FindFormat(std::string_view name) {
  static const std::vector<StringFormat>& formats = *new std::vector<StringFormat>(MakeFormats());
  const auto found = std::ranges::find(formats, name, &StringFormat::name);
  return found == formats.end() ? nullptr : &*found;
}

}  // namespace shortlist

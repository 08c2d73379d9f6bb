#include "text/script.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "text/script_ranges.h"

namespace shortlist {

std::string_view ScriptOf(char32_t c) {
  const std::string_view category = CategoryOf(c);
  if (category != "letters" && category != "marks") return {};
  const auto* const after = std::upper_bound(
      std::begin(kScriptRanges), std::end(kScriptRanges), c,
      [](char32_t value, const ScriptRange& range) { return value < range.first; });
  if (after == std::begin(kScriptRanges)) return {};
  const ScriptRange& range = *(after - 1);
  return c <= range.last ? std::string_view(range.script) : std::string_view();
}

std::string_view CategoryOf(char32_t c) {
  if (c >= 0x09 && c <= 0x0D) return "spaces";
  switch (utf8proc_category_string(static_cast<utf8proc_int32_t>(c))[0]) {
    case 'L':
      return "letters";
    case 'M':
      return "marks";
    case 'N':
      return "numbers";
    case 'P':
      return "punctuation";
    case 'S':
      return "symbols";
    case 'Z':
      return "spaces";
    default:
      return "control";
  }
}

}  // namespace shortlist

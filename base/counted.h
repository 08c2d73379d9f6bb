#ifndef SHORTLIST_BASE_COUNTED_H_
#define SHORTLIST_BASE_COUNTED_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace shortlist {

/// Returns a number with its noun: "1 text", "0 texts", "2 texts". `many` is the plural if it is
/// not `one` with an s ("2 vocabularies").
inline std::string Counted(int64_t number, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(number);
  text.append(" ").append(number == 1 || many.empty() ? one : many);
  if (number != 1 && many.empty()) text.append("s");
  return text;
}

}  // namespace shortlist

#endif  // SHORTLIST_BASE_COUNTED_H_

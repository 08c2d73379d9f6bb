#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_FORMAT_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace shortlist {

/// The strings of a value of the keyword `format`.
struct StringFormat {
  std::string_view name;
  std::string pattern;  // a regular expression, with ^ and $
  int64_t max_length;   // in code points
};

/// Returns the format `name`, null if it is unknown. Where standards leave a choice, a format is
/// the narrower one: no leap seconds, no internationalised names, capital T and Z in times.
const StringFormat* FindFormat(std::string_view name);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_FORMAT_H_

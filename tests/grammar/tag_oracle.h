#ifndef SHORTLIST_TESTS_GRAMMAR_TAG_ORACLE_H_
#define SHORTLIST_TESTS_GRAMMAR_TAG_ORACLE_H_

#include <random>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace shortlist {

/// A small format of a structural tag whose texts consist of the bytes 'a' to 'c'.
nlohmann::ordered_json RandomFormat(std::mt19937& random, int depth);

/// True if `text`, of bytes 'a' to 'c', is in `format`, by its definition: tries every way to split
/// the text.
bool MatchesFormat(const nlohmann::ordered_json& format, std::string_view text);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_GRAMMAR_TAG_ORACLE_H_

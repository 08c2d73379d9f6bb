#ifndef SHORTLIST_TESTS_TEXT_REPLY_REPLY_CASES_H_
#define SHORTLIST_TESTS_TEXT_REPLY_REPLY_CASES_H_

#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"
#include "text/reply/reply_parser.h"

namespace shortlist {

/// The parts of a reply, each kind joined.
struct JoinedReply {
  struct Call {
    std::string name, arguments, id;
    bool operator==(const Call&) const = default;
  };
  std::string content, reasoning;
  std::vector<Call> calls;
  bool operator==(const JoinedReply&) const = default;
};

void PrintTo(const JoinedReply& reply, std::ostream* out);

struct ReplyCase {
  std::string_view name;
  ToolFormat format;
  ReplyStart start;
  std::string text;
  JoinedReply expected;
};

void PrintTo(const ReplyCase& reply_case, std::ostream* out);

const std::vector<ReplyCase>& ReplyCases();

/// weather(city: string, days: integer, flag: boolean or null, note: string or null),
/// sum(xs: array), say(text: string), any() without parameters.
const nlohmann::ordered_json& TestTools();

/// The format with the marks of reasoning that its models use.
ReplyFormat FormatWithReasoning(ToolFormat tools);

/// Joins what a parser makes of `text`, appended in pieces that end at `cuts` (ascending).
JoinedReply ParseReply(const ReplyParser::Options& options, std::string_view text,
                       const std::vector<size_t>& cuts = {});

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_TEXT_REPLY_REPLY_CASES_H_

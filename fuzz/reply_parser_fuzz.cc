// Replies of models: the first byte chooses the format, the second where the reply starts and how
// it is cut; the rest is the text. Its parts are the same for any cuts.
//
//   fuzz_reply_parser -dict=fuzz/reply.dict -max_len=2048 CORPUS fuzz/seeds/reply_parser

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "nlohmann/json.hpp"
#include "text/reply/reply_format.h"
#include "text/reply/reply_parser.h"

namespace shortlist {
namespace {

const char* const kTools = R"([{"type": "function", "function": {"name": "f", "parameters": {
  "type": "object", "properties": {"s": {"type": "string"}, "n": {"type": "integer"}}}}}])";

/// The joined parts, each after a letter for its kind. Appends `step` bytes at a time.
std::string Joined(const ReplyParser::Options& options, std::string_view text, size_t step) {
  ReplyParser parser(options);
  std::vector<ReplyPart> parts;
  for (size_t at = 0; at < text.size(); at += step) parser.Append(text.substr(at, step), parts);
  parser.Finish(parts);
  std::string content = "c", reasoning = "r", calls;
  for (const ReplyPart& part : parts) {
    switch (part.kind) {
      case ReplyPart::Kind::kContent:
        content += part.text;
        break;
      case ReplyPart::Kind::kReasoning:
        reasoning += part.text;
        break;
      case ReplyPart::Kind::kCall:
        calls += "\nf " + part.text + " " + part.call_id + " ";
        break;
      case ReplyPart::Kind::kArguments:
        SHORTLIST_CHECK(!calls.empty());
        calls += part.text;
    }
  }
  SHORTLIST_CHECK(calls.empty() == (parser.num_calls() == 0));
  return content + reasoning + calls;
}

void Run(uint8_t format, uint8_t flags, std::string_view text) {
  static const auto tools = nlohmann::ordered_json::parse(kTools);
  constexpr int kNumFormats = static_cast<int>(ToolFormat::kOlmo3) + 1;
  ReplyParser::Options options{.tools = tools};
  options.format.tools = static_cast<ToolFormat>(format % kNumFormats);
  options.format.reasoning_begin = "<think>";
  options.format.reasoning_end = "</think>";
  options.start = static_cast<ReplyStart>(flags % 3);
  options.is_single = (flags & 4) != 0;
  options.is_call_array = (flags & 8) != 0;
  options.reasoning_is_content = (format & 128) != 0;
  const std::string whole = Joined(options, text, text.size() + 1);
  SHORTLIST_CHECK(whole == Joined(options, text, 1));
  SHORTLIST_CHECK(whole == Joined(options, text, 2 + (flags >> 4)));
  // A control character becomes six bytes.
  SHORTLIST_CHECK(whole.size() <= 6 * text.size() + 64);
}

}  // namespace
}  // namespace shortlist

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  shortlist::Run(data[0], data[1], {reinterpret_cast<const char*>(data) + 2, size - 2});
  return 0;
}

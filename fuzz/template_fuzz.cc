// Chat templates: parse, then render a fixed conversation. After a NUL, the input may contain
// another conversation in JSON.
//
//   fuzz_template -dict=fuzz/template.dict -max_len=4096 CORPUS tests/reference/golden/chat

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

#include "base/check.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"
#include "text/chat/chat_template.h"

namespace shortlist {
namespace {

const char* const kMessages = R"([
  {"role": "system", "content": "Be brief. "},
  {"role": "user", "content": [{"type": "text", "text": "wörld <|im_end|>"}]},
  {"role": "assistant", "content": "<think>\nhm\n</think>\n\n4", "tool_calls": [
    {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": {"x": 1.5}}}]},
  {"role": "tool", "content": "{}", "tool_call_id": "abcdefghi"}])";

void CheckRanges(const RenderedChat& chat) {
  SHORTLIST_CHECK(!FindInvalidUtf8(chat.text));
  size_t at = 0;
  for (const ByteRange& range : chat.content) {
    SHORTLIST_CHECK(range.begin >= at && range.begin < range.end && range.end <= chat.text.size());
    at = range.end;
  }
}

void Run(const std::string& input) {
  const size_t nul = input.find('\0');
  const auto chat_template =
      ChatTemplate::Create({{"default", input.substr(0, nul)}}, {{"bos_token", "<s>"}});
  if (!chat_template.ok()) return;
  Chat chat{.messages = nlohmann::ordered_json::parse(kMessages), .now = std::tm{}};
  chat.tools = nlohmann::ordered_json::parse(R"([{"function": {"name": "f", "items": [1, {}]}}])");
  if (nul != std::string::npos) {
    auto own = nlohmann::ordered_json::parse(input.substr(nul + 1), /*cb=*/nullptr,
                                             /*allow_exceptions=*/false);
    if (!own.is_discarded()) chat.messages = std::move(own);
  }
  if (const auto rendered = chat_template->Render(chat); rendered.ok()) CheckRanges(*rendered);
}

}  // namespace
}  // namespace shortlist

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shortlist::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

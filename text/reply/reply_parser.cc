#include "text/reply/reply_parser.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "text/reply/call_reader.h"
#include "text/reply/harmony_reader.h"
#include "text/reply/part_writer.h"
#include "text/reply/reply_reader.h"
#include "text/reply/tool_types.h"

namespace shortlist {

struct ReplyParser::State {
  explicit State(const Options& options) : tools(options.tools), writer(options.is_single) {
    if (options.format.tools == ToolFormat::kHarmony && !options.is_call_array) {
      reader = std::make_unique<HarmonyReader>(options, options.tools.is_null() ? nullptr : &tools);
      return;
    }
    std::unique_ptr<CallReader> calls, fenced_calls;
    if (options.is_call_array) {
      calls = MakeCallArrayReader(tools);
    } else if (!options.tools.is_null()) {
      calls = MakeCallReader(options.format.tools, tools);
      fenced_calls = MakeFencedCallReader(options.format.tools, tools);
    }
    reader =
        std::make_unique<MarkedReplyReader>(options, std::move(calls), std::move(fenced_calls));
  }

  const ToolTypes tools;
  PartWriter writer;
  std::unique_ptr<ReplyReader> reader;
};

ReplyParser::ReplyParser(Options options) : state_(std::make_unique<State>(options)) {}
ReplyParser::ReplyParser(ReplyParser&&) noexcept = default;
ReplyParser::~ReplyParser() = default;

void ReplyParser::Append(std::string_view text, std::vector<ReplyPart>& parts) {
  state_->writer.Open(parts);
  for (const char c : text) state_->reader->Read(c, state_->writer);
}

void ReplyParser::Finish(std::vector<ReplyPart>& parts) {
  state_->writer.Open(parts);
  state_->reader->Finish(state_->writer);
  state_->writer.Finish();
}

bool ReplyParser::in_reasoning() const { return state_->reader->in_reasoning(); }

int ReplyParser::num_calls() const { return state_->writer.num_calls(); }

}  // namespace shortlist

// The reader of each format's calls.

#include <memory>

#include "text/reply/call_reader.h"
#include "text/reply/fenced_calls.h"
#include "text/reply/json_calls.h"
#include "text/reply/literal_calls.h"
#include "text/reply/named_calls.h"
#include "text/reply/xml_calls.h"

namespace shortlist {
namespace {

// Formats that write {"name", "arguments"}.
JsonCallsStyle JsonStyleOf(ToolFormat format) {
  switch (format) {
    case ToolFormat::kHermes:
      return {.begins = {"<tool_call>"}, .end = "</tool_call>"};
    case ToolFormat::kLlama3Json:
      return {.begins = {"<|python_tag|>"}, .bare = '{'};
    case ToolFormat::kPhi4:
      return {.begins = {"functools", "<|tool_call|>"}, .end = "<|/tool_call|>"};
    case ToolFormat::kGranite:
      return {.begins = {"<|tool_call|>", "<tool_call>", "<function_call>"}, .end = "</tool_call>"};
    case ToolFormat::kCohere:
      return {.begins = {"<|START_ACTION|>"}, .end = "<|END_ACTION|>"};
    default:
      return {};
  }
}

PythonicStyle PythonicStyleOf(ToolFormat format) {
  switch (format) {
    case ToolFormat::kLfm2:
      return {.begin = "<|tool_call_start|>", .end = "<|tool_call_end|>"};
    case ToolFormat::kOlmo3:
      return {.begin = "<function_calls>", .end = "</function_calls>"};
    default:
      return {.begin = "<|python_start|>", .end = "<|python_end|>", .bare = '['};
  }
}

}  // namespace

std::unique_ptr<CallReader> MakeCallReader(ToolFormat format, const ToolTypes& tools) {
  switch (format) {
    case ToolFormat::kNone:
    case ToolFormat::kHarmony:
      return nullptr;
    case ToolFormat::kMistral:
    case ToolFormat::kMistralArgs:
      return std::make_unique<MistralCallReader>(&tools);
    case ToolFormat::kDeepSeekR1:
    case ToolFormat::kDeepSeekV31:
    case ToolFormat::kKimiK2:
      return std::make_unique<NamedCallReader>(NamedStyleOf(format), &tools);
    case ToolFormat::kQwen3Coder:
    case ToolFormat::kGlm:
    case ToolFormat::kMiniMaxM2:
    case ToolFormat::kDeepSeekV32:
      return std::make_unique<XmlCallReader>(XmlStyleOf(format), &tools);
    case ToolFormat::kLlama4Pythonic:
    case ToolFormat::kLfm2:
    case ToolFormat::kOlmo3:
      return std::make_unique<PythonicCallReader>(PythonicStyleOf(format), &tools);
    case ToolFormat::kGemma4:
      return std::make_unique<GemmaCallReader>(LiteralDialect::kGemma4, &tools);
    case ToolFormat::kFunctionGemma:
      return std::make_unique<GemmaCallReader>(LiteralDialect::kFunctionGemma, &tools);
    default:
      return std::make_unique<JsonCallReader>(JsonStyleOf(format), &tools);
  }
}

std::unique_ptr<CallReader> MakeFencedCallReader(ToolFormat format, const ToolTypes& tools) {
  switch (format) {
    case ToolFormat::kHermes:
    case ToolFormat::kLlama3Json:
    case ToolFormat::kMistral:
    case ToolFormat::kPhi4:
    case ToolFormat::kGranite:
      return std::make_unique<FencedCallReader>(&tools);
    default:
      return nullptr;
  }
}

std::unique_ptr<CallReader> MakeCallArrayReader(const ToolTypes& tools) {
  return std::make_unique<JsonCallReader>(JsonCallsStyle{.bare = '['}, &tools);
}

}  // namespace shortlist

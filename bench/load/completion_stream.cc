#include "bench/load/completion_stream.h"

#include <algorithm>
#include <charconv>

#include "nlohmann/json.hpp"

namespace shortlist {

std::string StreamBody(const std::string& model, int64_t number, int64_t num_tokens) {
  nlohmann::ordered_json body = {
      {"prompt", "Chapter " + std::to_string(number) + ". There was once an old ship on a river"},
      {"max_tokens", num_tokens},
      {"temperature", 0},
      {"ignore_eos", true},
      {"stream", true},
      {"stream_options", {{"include_usage", true}, {"continuous_usage_stats", true}}}};
  if (!model.empty()) body["model"] = model;
  return body.dump();
}

int64_t CompletionTokens::Read(std::string_view piece) {
  const int64_t before = num_tokens_;
  pending_ += piece;
  size_t begin = 0;
  for (size_t end; (end = pending_.find('\n', begin)) != pending_.npos; begin = end + 1) {
    ReadLine(std::string_view(pending_).substr(begin, end - begin));
  }
  pending_.erase(0, begin);
  return num_tokens_ - before;
}

void CompletionTokens::ReadLine(std::string_view line) {
  constexpr std::string_view kName = "\"completion_tokens\":";
  if (!line.starts_with("data:")) return;
  if (line.find("[DONE]") == 5 || line.find("[DONE]") == 6) saw_end_ = true;
  const size_t name = line.rfind(kName);  // follows the text, in which quotes are escaped
  if (name == line.npos) return;
  const char* begin = line.data() + name + kName.size();
  while (begin < line.data() + line.size() && *begin == ' ') ++begin;
  int64_t count = 0;
  if (std::from_chars(begin, line.data() + line.size(), count).ec == std::errc()) {
    num_tokens_ = std::max(num_tokens_, count);
  }
}

}  // namespace shortlist

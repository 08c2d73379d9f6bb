#ifndef SHORTLIST_TEXT_REPLY_HARMONY_READER_H_
#define SHORTLIST_TEXT_REPLY_HARMONY_READER_H_

#include <string>
#include <string_view>
#include <vector>

#include "text/reply/json_scanner.h"
#include "text/reply/mark_finder.h"
#include "text/reply/reply_reader.h"

namespace shortlist {

/// All marks of harmony.
std::vector<std::string> HarmonyMarks();

/// Harmony, gpt-oss's format: messages, each of a header and a body. The header's channel tells
/// reasoning ("analysis") from content, its recipient ("to=functions.N") makes the body a call:
///
///   <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>commentary
///   to=functions.N <|constrain|>json<|message|>{...}<|call|>
///
/// The recipient may stand before the channel.
class HarmonyReader : public ReplyReader {
 public:
  /// `tools` must outlive the reader; null: messages to tools are content.
  HarmonyReader(const ReplyParser::Options& options, const ToolTypes* tools);

  void Read(char c, PartWriter& writer) override;
  void Finish(PartWriter& writer) override;
  bool in_reasoning() const override { return in_reasoning_ && !reasoning_is_content_; }

 private:
  enum class State { kStart, kHeader, kBody, kBeforeArguments, kArguments };

  void ReadStart(char c, PartWriter& writer);
  void ReadArguments(char c, PartWriter& writer);
  void ReadText(std::string_view text, PartWriter& writer);
  void ReadMark(int mark, PartWriter& writer);
  void EndHeader(PartWriter& writer);
  std::string Callee() const;
  void Text(std::string_view text, PartWriter& writer);
  void ReasoningMark(std::string_view mark, PartWriter& writer);

  const ToolTypes* tools_;
  const bool reasoning_is_content_;
  State state_;
  bool in_reasoning_;  // in the body
  MarkFinder finder_;
  std::string header_;
  std::string name_;  // of the call
  JsonScanner arguments_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_HARMONY_READER_H_

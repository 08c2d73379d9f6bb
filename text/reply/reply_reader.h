#ifndef SHORTLIST_TEXT_REPLY_REPLY_READER_H_
#define SHORTLIST_TEXT_REPLY_REPLY_READER_H_

#include <memory>
#include <string>
#include <string_view>

#include "text/reply/call_reader.h"
#include "text/reply/mark_finder.h"
#include "text/reply/part_writer.h"
#include "text/reply/reply_parser.h"

namespace shortlist {

/// Reads a reply byte by byte and hands its parts to a writer.
class ReplyReader {
 public:
  virtual ~ReplyReader() = default;
  virtual void Read(char c, PartWriter& writer) = 0;
  /// The reply has ended.
  virtual void Finish(PartWriter& writer) = 0;
  /// True if the reasoning goes on.
  virtual bool in_reasoning() const = 0;
};

/// A reply whose reasoning stands between two marks and whose calls a CallReader reads: every
/// format except harmony. Reasoning comes before any content. A call of a known tool within the
/// reasoning ends the reasoning.
class MarkedReplyReader : public ReplyReader {
 public:
  /// calls: null if there are none. fenced_calls: reads an answer without marks and calls; null if
  /// such an answer is content.
  MarkedReplyReader(const ReplyParser::Options& options, std::unique_ptr<CallReader> calls,
                    std::unique_ptr<CallReader> fenced_calls);

  void Read(char c, PartWriter& writer) override;
  void Finish(PartWriter& writer) override;
  bool in_reasoning() const override { return in_reasoning_; }

 private:
  // Marks of `finder_` come in this order; those of calls follow.
  enum Mark { kReasoningBegin, kReasoningEnd, kFirstOther };

  void Text(std::string_view text, PartWriter& writer);
  void OnMark(const std::string& mark, int index, PartWriter& writer);
  CallReader* BareReader(char c, const PartWriter& writer) const;
  void BeginCall(CallReader* reader, std::string_view mark, bool known_only);
  void ReadCall(char c, PartWriter& writer);

  const std::unique_ptr<CallReader> calls_, fenced_calls_;
  CallReader* call_ = nullptr;  // reads a call; null: outside of calls
  CallReader::Beginnings beginnings_;
  std::vector<std::string> marks_;
  MarkFinder finder_;
  bool may_reason_;
  bool in_reasoning_;
  bool ended_by_call_ = false;  // A call ended the reasoning: ignore the next end mark.
};

/// The dropped marks around the answer of formats that have such marks (Cohere).
std::vector<std::string> AnswerMarks(ToolFormat format);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_REPLY_READER_H_

#ifndef SHORTLIST_TEXT_REPLY_FENCED_CALLS_H_
#define SHORTLIST_TEXT_REPLY_FENCED_CALLS_H_

#include <string>
#include <string_view>
#include <vector>

#include "text/reply/call_reader.h"
#include "text/reply/json_calls.h"

namespace shortlist {

/// Reads an answer that consists of one block of Markdown and of white space. The block contains
/// {"name", "arguments"}, or an array of such objects, without further members. Each name is that
/// of a tool. Models write calls like this where they forget the marks of their format:
///
///   ```json
///   {"name": "weather", "arguments": {"city": "Oslo"}}
///   ```
///
/// Calls are handed on when the reply has ended, because text after the block makes it content.
class FencedCallReader : public CallReader {
 public:
  explicit FencedCallReader(const ToolTypes* tools)
      : tools_(tools), call_(tools, /*known_only=*/true), calls_(/*is_single=*/false) {}

  Beginnings beginnings() const override { return {.marks = {}, .bare = '`'}; }
  std::vector<std::string> marks() const override { return {}; }
  Step Read(char c, PartWriter& writer) override;
  void Finish(PartWriter& writer) override;

 protected:
  void OnBegin(std::string_view mark) override;

 private:
  enum class State { kOpening, kBefore, kCall, kAfter, kClosing };

  bool Accept(char c);
  bool AcceptOpening(char c);
  bool AcceptBefore(char c);
  bool AcceptCall(char c);
  bool AcceptAfter(char c);
  bool AcceptClosing(char c);

  const ToolTypes* tools_;
  State state_ = State::kOpening;
  bool is_array_ = false;
  size_t num_closing_ = 0;  // bytes of the closing fence
  JsonCall call_;
  PartWriter calls_;  // writes to parts_
  std::vector<ReplyPart> parts_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_FENCED_CALLS_H_

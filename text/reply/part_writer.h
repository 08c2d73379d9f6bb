#ifndef SHORTLIST_TEXT_REPLY_PART_WRITER_H_
#define SHORTLIST_TEXT_REPLY_PART_WRITER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/reply/reply_parser.h"

namespace shortlist {

/// Collects the parts of a reply. White space at the beginning and end of reasoning is dropped, and
/// so is white space of content next to reasoning or a call; within content it stays. Therefore
/// white space waits for what follows it. Used by one ReplyParser.
class PartWriter {
 public:
  /// is_single: calls after the first are dropped.
  explicit PartWriter(bool is_single) : is_single_(is_single) {}

  /// The parts that follow are appended to `parts`, until the next call.
  void Open(std::vector<ReplyPart>& parts);

  void Content(std::string_view text);
  void Reasoning(std::string_view text);
  /// A mark has been read: white space of content next to it is dropped.
  void Mark() { follows_mark_ = true; }
  void Call(std::string name, std::string id);
  /// The next piece of the latest call's arguments.
  void Arguments(std::string_view piece);
  /// The reply has ended: white space that waited is content or is dropped.
  void Finish();

  bool has_content() const { return content_.has_text; }
  /// Calls of the reply, dropped ones included.
  int num_begun() const { return num_begun_; }
  /// Calls handed on.
  int num_calls() const { return is_single_ && num_begun_ > 1 ? 1 : num_begun_; }

 private:
  struct Text {
    bool has_text = false;
    std::string space;  // read after the text so far
  };

  void Put(ReplyPart::Kind kind, std::string_view text);
  // is_trimmed: white space before the first text is dropped.
  void Write(ReplyPart::Kind kind, bool is_trimmed, std::string_view text, Text& state);

  const bool is_single_;
  std::vector<ReplyPart>* parts_ = nullptr;
  size_t num_old_ = 0;  // parts of earlier calls of Open(); they are not extended
  Text content_, reasoning_;
  bool follows_mark_ = false;  // a mark or a call came after the latest content
  int num_begun_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_PART_WRITER_H_

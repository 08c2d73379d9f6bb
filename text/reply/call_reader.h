#ifndef SHORTLIST_TEXT_REPLY_CALL_READER_H_
#define SHORTLIST_TEXT_REPLY_CALL_READER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/reply/part_writer.h"
#include "text/reply/reply_format.h"
#include "text/reply/tool_types.h"

namespace shortlist {

/// Longest name or id of a call, and longest name of an argument outside JSON. A longer one makes
/// the text no call.
inline constexpr size_t kMaxCallNameBytes = 256;

/// A name that arrives in pieces, with white space around it.
class CallName {
 public:
  /// Appends a piece. False: the pieces are no name. It is longer than kMaxCallNameBytes, or
  /// contains white space, a control character or one of <>{}[]()"',;=
  bool Append(std::string_view piece);
  /// The name so far, without the white space around it.
  std::string_view text() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  std::string text_;
  bool is_over_ = false;  // white space came after the name
};

/// Reads calls of one family of formats, from a mark that begins them to their end, byte by byte.
class CallReader {
 public:
  enum class Step {
    kMore,
    kEnd,  // the calls end with this byte
    kStop  // what follows is no call: see TakeText() and TakeRetry()
  };

  virtual ~CallReader() = default;

  /// Where the calls of this format begin in a reply.
  struct Beginnings {
    std::vector<std::string> marks;
    // Without a mark, calls begin with this byte, at the beginning of the answer. 0: they do not.
    char bare = 0;
    // Marks around calls that carry no data. Dropped anywhere in the reply.
    std::vector<std::string> dropped;
  };
  virtual Beginnings beginnings() const = 0;
  /// All marks of the format, those of beginnings() included.
  virtual std::vector<std::string> marks() const = 0;
  /// True if calls can have an argument of this name.
  virtual bool CanReadArgument(std::string_view) const { return true; }

  /// A mark has been read; empty: the next byte is `bare`. known_only: a call whose name is not
  /// among the tools is none.
  void Begin(std::string_view mark, bool known_only);
  /// Reads the next byte. After kEnd or kStop the next call is Begin().
  virtual Step Read(char c, PartWriter& writer) = 0;
  /// The reply has ended within the calls. A call whose name is certain is handed on as it is.
  virtual void Finish(PartWriter&) {}

  /// The text since the latest call that has become none. It is content; it is not read again.
  std::string TakeText() { return std::exchange(held_, {}); }
  /// The bytes after it, at most as many as a mark or a name has: they are read anew.
  std::string TakeRetry() { return std::exchange(retry_, {}); }

 protected:
  virtual void OnBegin(std::string_view mark) = 0;

  Step Stop(char c) { return Stop(std::string(1, c)); }
  Step Stop(std::string retry) {
    retry_ = std::move(retry);
    return Step::kStop;
  }
  /// Reads white space and then the mark after all calls, which may be missing.
  Step ReadEnd(std::string_view end, char c);

  std::string held_;  // read, but not yet part of a call
  bool known_only_ = false;

 private:
  std::string retry_;
  size_t num_end_ = 0;  // bytes of the end mark that have been read
};

/// Reads the calls of a format; null for kNone and kHarmony. `tools` must outlive the reader.
std::unique_ptr<CallReader> MakeCallReader(ToolFormat format, const ToolTypes& tools);

/// Reads calls that a model of the format writes in a block of Markdown, without the format's
/// marks; null where models do not. `tools` must outlive the reader.
std::unique_ptr<CallReader> MakeFencedCallReader(ToolFormat format, const ToolTypes& tools);

/// Reads a reply that is an array of {"name", "parameters"} (Options::is_call_array).
std::unique_ptr<CallReader> MakeCallArrayReader(const ToolTypes& tools);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_CALL_READER_H_

#ifndef SHORTLIST_TEXT_REPLY_JSON_CALLS_H_
#define SHORTLIST_TEXT_REPLY_JSON_CALLS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/reply/call_reader.h"
#include "text/reply/json_scanner.h"

namespace shortlist {

/// Reads the arguments of a call where the format writes JSON: an object, such an object's text in
/// a string, or null, which means an empty object.
class JsonArguments {
 public:
  /// Appends the object's text to `out`. kEndBefore: never. The first bytes tell whether the value
  /// can be arguments, see is_certain().
  JsonStep Read(char c, std::string& out);
  /// True as soon as an object has begun.
  bool is_certain() const { return is_certain_; }

 private:
  JsonStep ReadFirst(char c, std::string& out);
  JsonStep ReadQuoted(char c, std::string& out);
  JsonStep ReadText(char c, std::string& out);

  enum class Form { kUnknown, kObject, kQuoted, kNull } form_ = Form::kUnknown;
  bool is_certain_ = false;
  bool is_whole_ = false;  // kQuoted: the object in the string has ended
  JsonScanner scanner_;
  JsonStringReader string_;
  size_t num_null_ = 0;  // letters of "null"
};

/// Reads one call, {"name": N, "arguments": {...}}, with its members in any order.
class JsonCall {
 public:
  /// known_only: see CallReader::Begin(). is_exact: the call has the members "name" and "arguments"
  /// and no others, and the arguments are an object.
  JsonCall(const ToolTypes* tools, bool known_only, bool is_exact = false)
      : tools_(tools), known_only_(known_only), is_exact_(is_exact) {}

  /// Takes the byte after the opening brace, and so on. kEnd, kBad or kMore.
  JsonStep Read(char c, PartWriter& writer);
  /// The reply has ended: begins a call whose name is certain.
  void Finish(PartWriter& writer);
  /// True if the call has been handed to the writer.
  bool has_begun() const { return has_begun_; }

 private:
  enum class State {
    kFirstKey,
    kKey,
    kInKey,
    kColon,
    kValue,
    kInName,
    kInId,
    kSkip,
    kArguments,
    kAfterValue
  };

  JsonStep ReadKey(char c);
  JsonStep ReadValue(char c, PartWriter& writer);
  JsonStep BeginValue(char c, PartWriter& writer);
  JsonStep ReadArguments(char c, PartWriter& writer);
  JsonStep ReadAfterValue(char c, PartWriter& writer);
  bool IsCallable() const;
  void BeginCall(PartWriter& writer);

  const ToolTypes* tools_;
  bool known_only_, is_exact_;
  State state_ = State::kFirstKey;
  bool has_begun_ = false;
  bool has_name_ = false, has_arguments_ = false;
  std::string key_, name_, id_;
  std::string arguments_;  // read before the name
  std::string scratch_;
  JsonStringReader string_;
  JsonScanner skipped_;
  JsonArguments reader_;
};

/// How a format writes such calls: a mark, one call or an array of them, an end mark.
struct JsonCallsStyle {
  std::vector<std::string> begins;
  std::string end;  // empty: none. It may be missing in any case.
  char bare = 0;    // see CallReader::Beginnings
};

class JsonCallReader : public CallReader {
 public:
  JsonCallReader(JsonCallsStyle style, const ToolTypes* tools)
      : style_(std::move(style)), tools_(tools), call_(tools, false) {}

  Beginnings beginnings() const override { return {.marks = style_.begins, .bare = style_.bare}; }
  std::vector<std::string> marks() const override;
  Step Read(char c, PartWriter& writer) override;
  void Finish(PartWriter& writer) override;

 protected:
  void OnBegin(std::string_view mark) override;

 private:
  enum class State { kBefore, kCall, kAfter, kEnd };

  Step ReadBefore(char c);
  Step ReadCall(char c, PartWriter& writer);
  Step ReadAfter(char c);

  const JsonCallsStyle style_;
  const ToolTypes* tools_;
  State state_ = State::kBefore;
  bool in_array_ = false;
  JsonCall call_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_JSON_CALLS_H_

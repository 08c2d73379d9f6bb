#ifndef SHORTLIST_TEXT_REPLY_LITERAL_CALLS_H_
#define SHORTLIST_TEXT_REPLY_LITERAL_CALLS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/reply/call_reader.h"
#include "text/reply/json_calls.h"
#include "text/reply/literal_reader.h"

namespace shortlist {

/// How a format writes calls as Python does.
struct PythonicStyle {
  std::string begin, end;
  char bare = 0;  // see CallReader::Beginnings
};

/// Reads calls as Python writes them, in a list or not: [f(a=1, b='x'), g()]. Reads JSON calls
/// where the list contains an object.
class PythonicCallReader : public CallReader {
 public:
  PythonicCallReader(PythonicStyle style, const ToolTypes* tools)
      : style_(std::move(style)), tools_(tools), json_({.end = style_.end}, tools) {}

  Beginnings beginnings() const override { return {.marks = {style_.begin}, .bare = style_.bare}; }
  std::vector<std::string> marks() const override { return {style_.begin, style_.end}; }
  bool CanReadArgument(std::string_view name) const override;
  Step Read(char c, PartWriter& writer) override;
  void Finish(PartWriter& writer) override;

 protected:
  void OnBegin(std::string_view mark) override;

 private:
  enum class State { kBefore, kName, kKey, kValue, kAfterValue, kAfterCall, kEnd, kJson };

  Step ReadBefore(char c, PartWriter& writer);
  Step ReadName(char c);
  Step ReadKey(char c, PartWriter& writer);
  Step ReadValue(char c, PartWriter& writer);
  Step ReadAfterValue(char c, PartWriter& writer);
  Step ReadAfterCall(char c);
  Step BeginJson(PartWriter& writer);
  Step ReadJson(char c, PartWriter& writer);
  Step StopBefore(char c);
  void BeginCall(PartWriter& writer);
  Step EndCall(PartWriter& writer);

  const PythonicStyle style_;
  const ToolTypes* tools_;
  State state_ = State::kBefore;
  size_t mark_size_ = 0;
  bool in_list_ = false, has_begun_ = false, has_call_ = false, has_arguments_ = false;
  std::string name_;
  CallName key_;
  std::optional<LiteralReader> value_;
  JsonCallReader json_;
};

/// Reads Gemma's calls: call:N{k:v} between two marks.
class GemmaCallReader : public CallReader {
 public:
  GemmaCallReader(LiteralDialect dialect, const ToolTypes* tools)
      : dialect_(dialect), tools_(tools), arguments_(dialect) {}

  Beginnings beginnings() const override { return {.marks = {begin_mark()}}; }
  std::vector<std::string> marks() const override {
    return {begin_mark(), end_mark(), StringMark(dialect_)};
  }
  bool CanReadArgument(std::string_view name) const override;
  Step Read(char c, PartWriter& writer) override;

 protected:
  void OnBegin(std::string_view mark) override;

 private:
  enum class State { kPrefix, kName, kArguments, kEnd };

  std::string begin_mark() const;
  std::string end_mark() const;
  Step ReadName(char c, PartWriter& writer);

  const LiteralDialect dialect_;
  const ToolTypes* tools_;
  State state_ = State::kPrefix;
  size_t num_prefix_ = 0;
  CallName name_;
  std::optional<LiteralReader> arguments_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_LITERAL_CALLS_H_

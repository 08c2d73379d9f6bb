#ifndef SHORTLIST_TEXT_REPLY_NAMED_CALLS_H_
#define SHORTLIST_TEXT_REPLY_NAMED_CALLS_H_

#include <string>
#include <string_view>
#include <vector>

#include "text/reply/call_reader.h"
#include "text/reply/json_calls.h"
#include "text/reply/mark_finder.h"

namespace shortlist {

/// How a format writes a call as a name between marks and its arguments as a JSON object.
struct NamedStyle {
  std::string call_begin, name_end, call_end;  // call_end may be empty
  std::string id_begin;                        // between name and name_end: a call's id follows
  bool has_fences = false;  // after name_end perhaps another name, which counts, and ```json
  bool name_is_id = false;  // functions.N:0, all of which is the id
  std::vector<std::string> dropped;
};

const NamedStyle& NamedStyleOf(ToolFormat format);  // DeepSeek R1 and V3.1, Kimi K2, Mistral

/// Reads such calls.
class NamedCallReader : public CallReader {
 public:
  NamedCallReader(const NamedStyle& style, const ToolTypes* tools) : style_(style), tools_(tools) {}

  Beginnings beginnings() const override {
    return {.marks = {style_.call_begin}, .dropped = style_.dropped};
  }
  std::vector<std::string> marks() const override;
  Step Read(char c, PartWriter& writer) override;
  void Finish(PartWriter& writer) override;

 protected:
  void OnBegin(std::string_view mark) override;

 private:
  enum class State { kName, kId, kSecondName, kBeforeArguments, kArguments, kAfter };

  Step ReadName(char c);
  Step EndName();
  Step ReadId(char c);
  Step ReadSecondName(char c, PartWriter& writer);
  Step ReadBeforeArguments(char c, PartWriter& writer);
  Step ReadArguments(char c, PartWriter& writer);
  Step ReadAfter(char c);
  void BeginCall(PartWriter& writer);
  std::string_view name() const;

  const NamedStyle& style_;
  const ToolTypes* tools_;
  State state_ = State::kName;
  MarkFinder finder_;
  bool has_begun_ = false;
  CallName name_, second_name_, id_;
  JsonArguments arguments_;
};

/// Reads the calls of Mistral's models: a name and [ARGS] after the mark, or JSON calls.
class MistralCallReader : public CallReader {
 public:
  explicit MistralCallReader(const ToolTypes* tools);

  Beginnings beginnings() const override { return named_.beginnings(); }
  std::vector<std::string> marks() const override { return named_.marks(); }
  Step Read(char c, PartWriter& writer) override;
  void Finish(PartWriter& writer) override;

 protected:
  void OnBegin(std::string_view) override { chosen_ = nullptr; }

 private:
  NamedCallReader named_;
  JsonCallReader json_;
  CallReader* chosen_ = nullptr;  // null: nothing but white space so far
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_NAMED_CALLS_H_

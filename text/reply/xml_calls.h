#ifndef SHORTLIST_TEXT_REPLY_XML_CALLS_H_
#define SHORTLIST_TEXT_REPLY_XML_CALLS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/reply/call_reader.h"
#include "text/reply/mark_finder.h"

namespace shortlist {

/// How a format writes a call as marks around a name and around each parameter.
struct XmlStyle {
  std::vector<std::string> section_begins, section_ends;  // around calls; they may be missing
  std::string call_begin, name_end;  // name_end empty: a parameter or the call's end ends the name
  std::string key_begin, key_end;
  std::string value_begin;  // empty: the value begins after key_end
  std::string value_end;
  std::string call_end;
  bool has_line_breaks = false;  // one line feed after value_begin and before value_end
  bool has_type = false;         // string="true" or string="false" stands before value_begin
};

const XmlStyle& XmlStyleOf(ToolFormat format);  // kQwen3Coder, kGlm, kMiniMaxM2, kDeepSeekV32

/// Reads such calls. Writes their arguments as JSON by the tools' parameters.
class XmlCallReader : public CallReader {
 public:
  XmlCallReader(const XmlStyle& style, const ToolTypes* tools) : style_(style), tools_(tools) {}

  Beginnings beginnings() const override;
  std::vector<std::string> marks() const override;
  bool CanReadArgument(std::string_view name) const override;
  Step Read(char c, PartWriter& writer) override;
  void Finish(PartWriter& writer) override;

 protected:
  void OnBegin(std::string_view mark) override;

 private:
  enum class State { kBetween, kName, kParameters, kKey, kType, kValue };

  void Expect(State state, std::vector<std::string> marks);
  Step ReadBetween(int mark);
  Step ReadName(int mark, PartWriter& writer);
  Step ReadParameters(int mark, PartWriter& writer);
  Step ReadKey(int mark, PartWriter& writer);
  Step ReadType(int mark, PartWriter& writer);
  void ReadValue(int mark, PartWriter& writer);
  void ExpectCall();
  void ExpectName();
  void ExpectParameters();
  void BeginValue();
  void EndCall(PartWriter& writer);
  Step StopAtText();

  const XmlStyle& style_;
  const ToolTypes* tools_;
  State state_ = State::kBetween;
  MarkFinder finder_;
  std::string plain_;       // of the latest byte: the text before a mark
  bool has_begun_ = false;  // a call that has not ended
  bool has_call_ = false;   // in the section
  bool has_parameters_ = false;
  CallName name_;
  std::string key_, type_;
  std::optional<ValueWriter> value_;
  std::string json_;  // arguments to hand on
  bool at_value_begin_ = false;
  bool has_line_feed_ = false;  // waits for what follows: the value's end drops it
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_XML_CALLS_H_

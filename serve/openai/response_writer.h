#ifndef SHORTLIST_SERVE_OPENAI_RESPONSE_WRITER_H_
#define SHORTLIST_SERVE_OPENAI_RESPONSE_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "serve/generator.h"
#include "serve/openai/chat_message.h"
#include "serve/openai/reply_plan.h"
#include "serve/output.h"

namespace shortlist {

/// Writes the response of /v1/responses, complete or as typed events: a list of items, which are
/// reasoning, messages and calls of functions, in the order of the reply.
class ResponseWriter {
 public:
  struct Options {
    std::string rid;
    std::string model;
    nlohmann::ordered_json echoed;  // members of the request that its response repeats
  };
  /// `plan` must outlive this.
  ResponseWriter(const ReplyPlan& plan, Options options);

  /// Returns new output, within the events that clients expect around it.
  std::string Events(GenerationEvent event);
  /// Returns the complete response.
  std::string Whole(const Output& output);

 private:
  struct Item {
    ReplyPart::Kind kind;  // kCall: with its arguments
    std::string id;
    std::string text;  // of a call: its arguments
    std::string name, call_id;
    bool is_done = false;
  };

  void Add(const ReplyPart& part, std::string& events);
  void Open(const ReplyPart& part, std::string& events);
  void Close(std::string& events);
  std::string Event(const std::string& type, const nlohmann::ordered_json& members);
  std::string ItemEvent(const std::string& type, const nlohmann::ordered_json& members);
  nlohmann::ordered_json Json(const Item& item) const;
  nlohmann::ordered_json Response(const std::string& status) const;
  nlohmann::ordered_json Usage() const;
  const char* Status() const;

  const ReplyPlan& plan_;
  const Options options_;
  const int64_t created_at_;
  ReplyAssembly reader_;
  std::vector<Item> items_;
  GenerationEvent last_;
  int64_t num_events_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_RESPONSE_WRITER_H_

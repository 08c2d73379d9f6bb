#ifndef SHORTLIST_SERVE_OPENAI_REPLY_H_
#define SHORTLIST_SERVE_OPENAI_REPLY_H_

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "serve/generator.h"
#include "serve/http/message.h"
#include "serve/openai/request.h"
#include "serve/output.h"
#include "serve/service.h"

namespace shortlist {

/// The reply or stream of /v1/completions or /v1/chat/completions, which differ in the format of a
/// choice. Used by one coroutine, for one request.
class OpenAiReply {
 public:
  virtual ~OpenAiReply() = default;

  /// Starts `requests`, one for each choice, and sends their results. Returns an error only if
  /// nothing was sent before it.
  boost::asio::awaitable<absl::Status> Run(std::vector<GenerateRequest> requests,
                                           const Client& client, HttpResponse& response);

 protected:
  struct Names {
    const char* id_prefix;  // "cmpl-"
    const char* object;     // of a complete reply
    const char* chunk;      // of an event of a stream
  };

  /// `service` and `openai` must outlive this.
  OpenAiReply(const Service& service, const OpenAiRequest& openai, Names names);

  /// Returns a choice: one object if it is complete, else those of its new parts, of which there
  /// may be none before its end. is_first: none of it was sent yet.
  virtual std::vector<nlohmann::ordered_json> Choices(const Output& output, bool is_first) = 0;
  /// Number of reasoning tokens in all choices; nullopt: they are not counted.
  virtual std::optional<int64_t> NumReasoningTokens() const { return std::nullopt; }

  const OpenAiRequest& openai() const { return openai_; }
  const Tokenizer& tokenizer() const { return *service_.generator->options().tokenizer; }

 private:
  nlohmann::ordered_json Object(const char* kind) const;
  std::vector<nlohmann::ordered_json> NextChoices(const Output& output);
  nlohmann::ordered_json Usage() const;
  void AddMetrics(const GenerationEvent& last, nlohmann::ordered_json& object) const;
  std::string Event(GenerationEvent event);
  std::string Whole(std::vector<Output> outputs);

  const Service& service_;
  const OpenAiRequest& openai_;
  const Names names_;
  const int64_t created_;
  OpenAiUsage usage_;
  std::vector<bool> begun_;  // by choice: its first event was sent
  size_t num_finished_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_REPLY_H_

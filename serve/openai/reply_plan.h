#ifndef SHORTLIST_SERVE_OPENAI_REPLY_PLAN_H_
#define SHORTLIST_SERVE_OPENAI_REPLY_PLAN_H_

#include <string>

#include "serve/generator.h"
#include "serve/http/json_fields.h"
#include "serve/http/message.h"
#include "serve/openai/tools.h"
#include "serve/service.h"
#include "text/chat/chat_template.h"
#include "text/reply/reply_parser.h"

namespace shortlist {

/// How the reply to a chat is read.
struct ReplyPlan {
  ReplyParser::Options parser;
  bool is_parsed = false;        // false: the whole text is content
  bool return_reasoning = true;  // false: reasoning is left out
  bool stream_reasoning = true;  // false: it is sent in one piece
  bool is_required = false;      // the reply is calls and no text besides reasoning
  bool is_named = false;         // the request names the tool to be called
  bool tools_ignored = false;    // tools may be called, but the model's format is not known
  std::string ignored_grammar;   // the request's field of a grammar without effect; empty: none

  /// Notes the fields without effect in the head of the reply.
  void NoteIgnoredFields(HttpResponse& response) const;

  /// True if the reply's usage counts reasoning tokens.
  bool counts_reasoning() const {
    return is_parsed && parser.format.has_reasoning() && !parser.reasoning_is_content;
  }
};

/// Plans the reply to `chat`, in the format of `service`. Reads include_reasoning (vLLM),
/// separate_reasoning and stream_reasoning (SGLang). Sets what `request` must follow: its own
/// grammar, which then applies after the reasoning, and the calls that `choice` asks for. With
/// both, a reply is either an answer by the grammar or calls. If calls are required, the request's
/// own grammar has no effect. Tools whose arguments the model's format cannot write are an error.
ReplyPlan PlanReply(const Service& service, const Chat& chat, const ToolChoice& choice,
                    JsonFields& fields, GenerateRequest& request);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_REPLY_PLAN_H_

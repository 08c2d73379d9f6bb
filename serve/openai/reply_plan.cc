#include "serve/openai/reply_plan.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "grammar/grammar_spec.h"
#include "grammar/structural_tag.h"
#include "serve/http/unknown_fields.h"
#include "serve/shared_grammar.h"
#include "text/reply/tool_tag.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

/// Returns where replies to `chat` begin. A short chat with the same variables shows it: templates
/// open reasoning, or rule it out, by these and by their generation prompt.
ReplyStart StartOf(const ReplyFormat& format, const PromptEncoder& encoder, const Chat& chat) {
  if (!format.has_reasoning()) return ReplyStart::kAnswer;
  Chat sample;
  sample.messages = ordered_json::array({{{"role", "user"}, {"content", "Hello"}}});
  sample.add_generation_prompt = chat.add_generation_prompt;
  sample.variables = chat.variables;
  if (chat.continue_final_message) {
    sample.continue_final_message = true;
    sample.messages.push_back(chat.messages.back());
  }
  const absl::StatusOr<RenderedChat> rendered = encoder.Render(sample);
  return rendered.ok() ? FindReplyStart(format, rendered->text) : ReplyStart::kMayReason;
}

/// Returns CallTag(); null, and an error of "tools", if the format cannot write such calls.
ordered_json CallsOf(const ReplyFormat& format, ReplyStart start, const CallRule& rule,
                     JsonFields& fields) {
  absl::StatusOr<ordered_json> tag = CallTag(format, start, rule);
  if (tag.ok()) return *std::move(tag);
  fields.Fail("tools", std::string(tag.status().message()));
  return nullptr;
}

/// Makes errors of `grammar` name the tool that they are about.
void NameTools(const Chat& chat, CallRule rule, SharedGrammar& grammar) {
  rule.tools = chat.tools;  // all, for their places in the request
  grammar.SetFieldOf(
      [rule = std::move(rule)](const ordered_json& schema) { return FieldOfSchema(rule, schema); });
}

/// Sets the one grammar of replies that `choice` may call tools in, or that begin with reasoning.
void SetGrammar(const ReplyPlan& plan, const Chat& chat, const ToolChoice& choice,
                JsonFields& fields, GenerateRequest& request) {
  const ReplyFormat& format = plan.parser.format;
  CallRule rule = {.tools = choice.callable,
                   .is_required = choice.is_required,
                   .is_parallel = choice.is_parallel};
  if (request.grammar == nullptr) {
    const ordered_json tag =
        choice.has_calls() ? CallsOf(format, plan.parser.start, rule, fields) : ordered_json();
    if (tag.is_null()) return;
    request.grammar = std::make_shared<SharedGrammar>(
        GrammarSpec{.kind = GrammarSpec::Kind::kStructuralTag, .schema = tag}, "tools");
    NameTools(chat, rule, *request.grammar);
    return;
  }
  const GrammarSpec& spec = request.grammar->spec();
  const bool is_old_tag =
      spec.kind == GrammarSpec::Kind::kStructuralTag && !spec.schema.contains("format");
  if (is_old_tag) return;  // any text may come before its own tags
  const bool may_call = choice.has_calls() && !plan.tools_ignored;
  if (!may_call && plan.parser.start == ReplyStart::kAnswer) return;
  ordered_json calls;
  if (may_call) {
    rule.is_required = true;
    const ordered_json tag = CallsOf(format, ReplyStart::kAnswer, rule, fields);
    if (tag.is_null()) return;
    calls = tag["format"];
  }
  if (may_call) NameTools(chat, rule, *request.grammar);
  request.grammar->Replace(
      {.kind = GrammarSpec::Kind::kStructuralTag,
       .schema = AnswerTag(format, plan.parser.start, TagFormatOf(spec), calls),
       .compact = spec.compact});
}

}  // namespace

void ReplyPlan::NoteIgnoredFields(HttpResponse& response) const {
  if (tools_ignored) NoteIgnored("tools", response);
  if (!ignored_grammar.empty()) NoteIgnored(ignored_grammar, response);
}

ReplyPlan PlanReply(const Service& service, const Chat& chat, const ToolChoice& choice,
                    JsonFields& fields, GenerateRequest& request) {
  ReplyPlan plan;
  const ReplyFormat& format = plan.parser.format = service.reply_format;
  plan.return_reasoning = fields.Bool("include_reasoning", true);
  plan.stream_reasoning = fields.Bool("stream_reasoning", true);
  const Generator::Options& options = service.generator->options();
  plan.parser.start = StartOf(format, *options.prompt_encoder, chat);
  // Clients send a format with required calls too: such a reply has no text that could follow it.
  if (choice.is_required && request.grammar != nullptr) {
    plan.ignored_grammar = request.grammar->field();
    request.grammar = nullptr;
  }
  plan.tools_ignored =
      choice.has_calls() && !choice.is_required && format.tools == ToolFormat::kNone;
  if (!fields.status().ok()) return plan;
  // A tokenizer may keep outputs from following grammars; calls that may be made need none.
  const bool needs_grammar = choice.is_required || request.grammar != nullptr;
  if (options.grammars != nullptr || needs_grammar) SetGrammar(plan, chat, choice, fields, request);
  plan.parser.reasoning_is_content = !fields.Bool("separate_reasoning", true);
  plan.is_required = choice.is_required;
  plan.is_named = choice.is_named;
  if (!plan.tools_ignored) plan.parser.tools = choice.callable;
  plan.parser.is_single = !choice.is_parallel;
  plan.parser.is_call_array = choice.is_required && format.tools == ToolFormat::kNone;
  plan.is_parsed = !plan.parser.tools.is_null() || format.has_reasoning();
  if (plan.is_parsed) request.shown_controls = service.reply_marks;
  return plan;
}

}  // namespace shortlist

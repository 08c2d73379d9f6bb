#include "cli/chat.h"

#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/excerpt.h"
#include "base/read_lines.h"
#include "base/status_macros.h"
#include "cli/chat_reply.h"
#include "cli/session.h"
#include "cli/transcript.h"
#include "grammar/grammar_compiler.h"
#include "grammar/grammar_spec.h"
#include "grammar/structural_tag.h"
#include "io/model_source.h"
#include "model/checkpoint/config.h"
#include "runtime/engine.h"
#include "runtime/grammars.h"
#include "runtime/models.h"
#include "serve/output_text.h"
#include "text/chat/prompt_encoder.h"
#include "text/detokenizer.h"
#include "text/reply/reply_format.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

constexpr char kHelp[] =
    "/reset          begin a new conversation\n"
    "/system TEXT    begin a new conversation with this system message; without TEXT: with none\n"
    "/help           this\n"
    "Ctrl-C ends an answer, Ctrl-D the chat.\n";

volatile std::sig_atomic_t interrupted = 0;

/// While this lives, SIGINT sets `interrupted`.
class InterruptScope {
 public:
  InterruptScope() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, &before_);
  }
  ~InterruptScope() { sigaction(SIGINT, &before_, nullptr); }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction before_ {};
};

/// Returns the model's encoder. Notes on stderr if the model has no chat template.
absl::StatusOr<std::unique_ptr<PromptEncoder>> OpenEncoder(const ChatFlags& flags,
                                                           const Tokenizer& tokenizer,
                                                           const ModelSource& source,
                                                           int64_t num_rows) {
  SHORTLIST_ASSIGN_OR_RETURN(PromptEncoder encoder,
                             PromptEncoder::Open(tokenizer, {.name = flags.run.models.model,
                                                             .source = source,
                                                             .conv_template = flags.conv_template,
                                                             .num_rows = num_rows}));
  if (flags.conv_template.empty() && encoder.template_name() != "checkpoint") {
    std::cerr << "note: the model has no chat template: " << encoder.template_name()
              << " is taken; --conv-template names another\n";
  }
  return std::make_unique<PromptEncoder>(std::move(encoder));
}

/// Answers a conversation.
class Responder {
 public:
  virtual ~Responder() = default;
  /// Writes the reply to the transcript, whose last message is the user's. Adds the assistant's
  /// message to the transcript if there is one.
  virtual absl::Status Respond(Transcript& transcript, std::ostream& out) = 0;
};

/// Shows the prompt that a model would read.
class PromptShower final : public Responder {
 public:
  static absl::StatusOr<std::unique_ptr<Responder>> Create(const ChatFlags& flags) {
    auto shower = std::make_unique<PromptShower>();
    SHORTLIST_ASSIGN_OR_RETURN(const ModelSource source, ModelSource::Open(flags.run.models.model));
    SHORTLIST_ASSIGN_OR_RETURN(shower->tokenizer_, OpenTokenizer(source));
    SHORTLIST_ASSIGN_OR_RETURN(shower->encoder_, OpenEncoder(flags, *shower->tokenizer_, source,
                                                             shower->tokenizer_->size()));
    return shower;
  }

  absl::Status Respond(Transcript& transcript, std::ostream& out) override {
    const Chat chat = transcript.chat();
    SHORTLIST_ASSIGN_OR_RETURN(const RenderedChat rendered, encoder_->Render(chat));
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TokenId> ids, encoder_->Encode(chat, {}));
    const auto append_id = [](std::string* text, TokenId id) { absl::StrAppend(text, Raw(id)); };
    out << rendered.text << "\n" << absl::StrJoin(ids, " ", append_id) << "\n" << std::flush;
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<PromptEncoder> encoder_;
};

/// Answers with the model.
class Answerer final : public Responder {
 public:
  static absl::StatusOr<std::unique_ptr<Responder>> Create(const ChatFlags& flags) {
    auto answerer = std::make_unique<Answerer>();
    SHORTLIST_ASSIGN_OR_RETURN(answerer->session_, Session::Open(flags.run));
    Session& session = *answerer->session_;
    SHORTLIST_ASSIGN_OR_RETURN(
        answerer->encoder_,
        OpenEncoder(flags, session.models().tokenizer(), session.models().model(),
                    session.models().config().vocab_size));
    if (const ChatTemplate* checkpoint = answerer->encoder_->chat_template()) {
      answerer->format_ = FindReplyFormat(checkpoint->source());
    }
    answerer->marks_ = FindControls(session.models().tokenizer(), ReplyMarks(answerer->format_));
    if (session.grammar().has_value()) {
      SHORTLIST_ASSIGN_OR_RETURN(
          answerer->grammars_,
          NewGrammarCompiler(session.models(), answerer->encoder_->ChatStopTokenIds(),
                             answerer->marks_));
    }
    answerer->context_len_ =
        std::min(flags.max_total_tokens, session.models().config().context_len);
    const SchedulerOptions scheduler{.max_total_tokens = answerer->context_len_,
                                     .context_length = answerer->context_len_};
    DecodingOptions decoding = session.decoding();
    if (!flags.run.given.dynamic_capacity) decoding.num_shared_rows = flags.run.dynamic_rows;
    SHORTLIST_ASSIGN_OR_RETURN(answerer->engine_,
                               Engine::Create(session.models(), decoding, scheduler));
    return answerer;
  }

  absl::Status Respond(Transcript& transcript, std::ostream& out) override {
    TokenizedGenerateReqInput input;
    input.rid = kRid;
    const Chat chat = transcript.chat();
    SHORTLIST_ASSIGN_OR_RETURN(input.input_ids, Encode(chat));
    SHORTLIST_ASSIGN_OR_RETURN(const RenderedChat prompt, encoder_->Render(chat));
    const int64_t room = context_len_ - std::ssize(input.input_ids);
    input.sampling_params = session_->sampling();
    if (grammars_ != nullptr) {
      SHORTLIST_ASSIGN_OR_RETURN(input.sampling_params.grammar, GrammarAfter(prompt.text));
    }
    input.sampling_params.max_new_tokens = std::min(input.sampling_params.max_new_tokens, room);
    for (const TokenId id : encoder_->ChatStopTokenIds()) {
      input.sampling_params.stop_token_ids.push_back(id);
    }
    input.max_tail_rows = session_->flags().dynamic_rows;
    const Tokenizer& tokenizer = session_->models().tokenizer();
    const OutputText::Options text{.stop = encoder_->ChatStops(),
                                   .stop_token_ids = input.sampling_params.stop_token_ids,
                                   .shown_controls = marks_};
    OutputText matcher(tokenizer, text);
    input.stop = [&matcher](TokenId id) {
      std::string ignored;
      matcher.Append(id, ignored);
      return matcher.ended();
    };
    ChatReply reply(format_, prompt.text, out);
    SHORTLIST_RETURN_IF_ERROR(Generate(std::move(input), OutputText(tokenizer, text), reply));
    transcript.AddAnswer(reply.answer(), reply.reasoning());
    NoteDraftFailure();
    return absl::OkStatus();
  }

 private:
  static constexpr char kRid[] = "chat";

  /// Returns what a reply to the prompt follows: the requested grammar, after the reasoning.
  absl::StatusOr<std::shared_ptr<const TokenConstraint>> GrammarAfter(std::string_view prompt) {
    const GrammarSpec& spec = *session_->grammar();
    const ReplyStart start = FindReplyStart(format_, prompt);
    if (start == ReplyStart::kAnswer) return grammars_->Compile(spec);
    return grammars_->Compile({.kind = GrammarSpec::Kind::kStructuralTag,
                               .schema = AnswerTag(format_, start, TagFormatOf(spec)),
                               .compact = spec.compact});
  }

  absl::StatusOr<std::vector<TokenId>> Encode(Chat chat) const {
    absl::StatusOr<std::vector<TokenId>> ids =
        encoder_->Encode(std::move(chat), {.max_tokens = context_len_ - 1});
    if (!absl::IsOutOfRange(ids.status())) return ids;
    return absl::InvalidArgumentError(absl::StrCat("the conversation has ", ids.status().message(),
                                                   ", the context has room for ", context_len_,
                                                   " with the answer: /reset begins a new one"));
  }

  /// Steps until the answer ends or SIGINT stops it.
  absl::Status Generate(TokenizedGenerateReqInput input, OutputText text, ChatReply& reply) {
    const InterruptScope scope;
    std::vector<RouterMessage> messages;
    messages.emplace_back(std::move(input));
    for (bool ends = false, aborts = false; !ends;) {
      if (interrupted != 0 && !std::exchange(aborts, true)) messages.emplace_back(AbortReq{kRid});
      const BatchTokenIdOut step = engine_->router().ExposedStep(std::exchange(messages, {}));
      std::string piece;
      for (const BatchTokenIdOut::Row& row : step.rows) {
        for (const TokenId id : row.token_ids) text.Append(id, piece);
        ends = row.finished;
        if (ends && !row.status.ok() && !absl::IsCancelled(row.status)) return row.status;
      }
      if (ends) text.Finish(piece);
      const bool is_written = ends ? reply.Append(piece) && reply.Finish() : reply.Append(piece);
      if (!is_written) return absl::InternalError("cannot write to standard output");
    }
    return absl::OkStatus();
  }

  /// Reports a draft failure on stderr, once.
  void NoteDraftFailure() {
    const absl::Status& failure = engine_->speculative().draft_error();
    if (failure.ok() || std::exchange(failure_noted_, true)) return;
    std::cerr << "note: the draft failed, decoding goes on without: " << failure.message() << "\n";
  }

  bool failure_noted_ = false;
  std::unique_ptr<Session> session_;
  std::unique_ptr<PromptEncoder> encoder_;
  ReplyFormat format_;                         // which part of a reply is reasoning
  std::vector<TokenId> marks_;                 // control tokens of the format, shown as text
  std::unique_ptr<GrammarCompiler> grammars_;  // null: no grammar is requested
  std::unique_ptr<Engine> engine_;
  int64_t context_len_ = 0;
};

/// Runs "/reset" and the other commands. InvalidArgument for an unknown command.
absl::Status RunCommand(const std::string& line, Transcript& transcript) {
  const size_t name_end = std::min(line.find(' '), line.size());
  const std::string name = line.substr(0, name_end);
  const size_t text_begin = std::min(line.find_first_not_of(' ', name_end), line.size());
  const std::string text = line.substr(text_begin);
  if (name == "/system") {
    transcript.SetSystem(text);
    transcript.Reset();
  } else if (name == "/reset" && text.empty()) {
    transcript.Reset();
  } else if (name == "/help" && text.empty()) {
    std::cerr << kHelp;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("no command ", Excerpt(line), "; there are /reset, /system and /help"));
  }
  return absl::OkStatus();
}

absl::Status TakeLine(const std::string& line, Transcript& transcript, Responder& responder,
                      std::ostream& out) {
  if (line.empty()) return absl::OkStatus();
  if (line.front() == '/') return RunCommand(line, transcript);
  const bool is_users = transcript.is_users_turn();
  transcript.Add(line);
  if (!is_users) return absl::OkStatus();
  const absl::Status status = responder.Respond(transcript, out);
  if (!status.ok()) transcript.DropLast();
  return status;
}

}  // namespace

absl::Status RunChat(const ChatFlags& flags, bool is_interactive, std::istream& in,
                     std::ostream& out) {
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::unique_ptr<Responder> responder,
      flags.show_prompt ? PromptShower::Create(flags) : Answerer::Create(flags));
  Transcript transcript(flags.system);
  if (is_interactive) std::cerr << kHelp;
  for (std::string line;;) {
    if (is_interactive) out << "> " << std::flush;
    SHORTLIST_ASSIGN_OR_RETURN(const bool is_there,
                               ReadLine(in, int64_t{Tokenizer::kMaxTextBytes}, line));
    if (!is_there) break;
    if (line.ends_with('\r')) line.pop_back();
    const absl::Status status = TakeLine(line, transcript, *responder, out);
    if (status.ok()) continue;
    if (!is_interactive || !out) return status;
    std::cerr << "shortlist: " << status.message() << "\n";
  }
  if (is_interactive) out << "\n";
  return absl::OkStatus();
}

}  // namespace shortlist

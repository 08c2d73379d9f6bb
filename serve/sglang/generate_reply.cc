#include "serve/sglang/generate_reply.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/http/api_error.h"
#include "serve/http/json_fields.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

ordered_json FinishReasonJson(const GenerationEvent& last) {
  if (!last.finished) return nullptr;
  if (!last.status.ok()) {
    return {{"type", "abort"},
            {"message", std::string(last.status.message())},
            {"status_code", HttpStatusOf(last.status)}};
  }
  if (last.finish_reason == FinishReason::kLength) {
    return {{"type", "length"}, {"length", last.completion_tokens}};
  }
  ordered_json reason = {{"type", "stop"}};
  if (last.matched_token.has_value()) {
    reason["matched"] = Raw(*last.matched_token);
  } else {
    reason["matched"] = last.matched_text;
  }
  return reason;
}

const char* Name(TokenOrigin origin) {
  switch (origin) {
    case TokenOrigin::kPlain:
      return "plain";
    case TokenOrigin::kAccepted:
      return "accepted";
    case TokenOrigin::kForced:
      return "forced";
    case TokenOrigin::kCorrection:
      return "correction";
    case TokenOrigin::kBonus:
      return "bonus";
  }
  return "plain";
}

ordered_json TokenInfos(const Output& output, size_t num_old) {
  ordered_json infos = ordered_json::array();
  for (size_t i = num_old; i < output.tokens.size(); ++i) {
    const OutputToken& token = output.tokens[i];
    ordered_json info = {{"id", Raw(token.id)},
                         {"text", token.text},
                         {"origin", Name(token.info.origin)},
                         {"escape", token.info.escape}};
    info["logprob"] = std::isnan(token.info.logprob)
                          ? ordered_json()
                          : ordered_json(JsonLogprob(token.info.logprob));
    infos.push_back(std::move(info));
  }
  return infos;
}

void AddSpeculation(const GenerationEvent& last, ordered_json& meta) {
  const SequenceStats& stats = last.stats;
  meta["spec_verify_ct"] = stats.num_verify_steps;
  meta["spec_forced_length"] = stats.forced_length();
  meta["spec_accept_length"] = stats.accept_length();
  meta["spec_accept_rate"] = stats.acceptance_rate();
  meta["spec_accepted_drafts"] = stats.num_accepted;
  meta["spec_proposed_drafts"] = stats.num_drafted;
  meta["spec_accept_histogram"] = last.accepted_counts;
  meta["spec_steps_beyond_draft"] = stats.num_steps_beyond_draft;
  meta["coverage"] = stats.coverage();
  ordered_json held;
  for (size_t source = 0; source < kNumRowSources; ++source) {
    if (stats.num_held[source] == 0) continue;
    held[RowSourceName(static_cast<RowSource>(source))] = stats.num_held[source];
  }
  meta["held_by"] = std::move(held);
  meta["active_rows"] = stats.active_rows;
}

}  // namespace

GenerateWriter::GenerateWriter(const Service& service, const GenerateAsked& asked)
    : service_(service),
      tokenizer_(*service.generator->options().tokenizer),
      asked_(asked),
      outputs_(asked.num_results) {}

std::string GenerateWriter::Event(GenerationEvent event) {
  const size_t index = event.index;
  Output& output = outputs_[index];
  const size_t num_old = output.tokens.size();
  Append(std::move(event), output);
  ordered_json result = Result(index, output, num_old);
  if (asked_.is_list) result["index"] = index;
  return ServerSentEvent(Dump(result));
}

std::string GenerateWriter::Whole(std::vector<Output> outputs) const {
  std::string text = asked_.is_list ? "[" : "";
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i > 0) text += ',';
    text += Dump(Result(i, outputs[i], 0));
    outputs[i] = {};
  }
  return asked_.is_list ? text + "]" : text;
}

ordered_json GenerateWriter::Result(size_t index, const Output& output, size_t num_old) const {
  ordered_json ids = ordered_json::array();
  for (const OutputToken& token : output.tokens) ids.push_back(Raw(token.id));
  ordered_json result = {{"text", output.text},
                         {"output_ids", std::move(ids)},
                         {"meta_info", MetaInfo(index, output, num_old)}};
  if (asked_.token_infos) result["token_infos"] = TokenInfos(output, num_old);
  return result;
}

ordered_json GenerateWriter::MetaInfo(size_t index, const Output& output, size_t num_old) const {
  const GenerationEvent& last = output.last;
  const std::string id = asked_.is_list ? absl::StrCat(asked_.rid, "-", index) : asked_.rid;
  ordered_json meta = {{"id", id},
                       {"finish_reason", FinishReasonJson(last)},
                       {"prompt_tokens", last.prompt_tokens},
                       {"completion_tokens", last.completion_tokens},
                       {"cached_tokens", last.cached_tokens},
                       {"reasoning_tokens", 0},
                       {"weight_version", "default"}};
  if (asked_.logprobs) {
    // Log-probabilities of the prompt may be long, so only the first and last events include them.
    const bool tells_prompt = num_old == 0 || last.finished;
    AddLogprobs("input", tells_prompt ? output.prompt : std::vector<PromptToken>(), meta);
    AddLogprobs("output", output.tokens, meta);
  }
  if (!last.finished) return meta;
  meta["e2e_latency"] = last.seconds;
  if (last.decode_seconds > 0.0) {  // the prompt's pass gives the first token
    meta["decode_throughput"] =
        static_cast<double>(last.completion_tokens - 1) / last.decode_seconds;
  }
  if (asked_.speculates && service_.num_draft_tokens > 0) AddSpeculation(last, meta);
  return meta;
}

ordered_json GenerateWriter::Logprob(float logprob, TokenId id) const {
  ordered_json entry = ordered_json::array();
  entry.push_back(std::isnan(logprob) ? ordered_json() : ordered_json(JsonLogprob(logprob)));
  entry.push_back(Raw(id));
  entry.push_back(asked_.text_in_logprobs ? ordered_json(TokenText(tokenizer_, id))
                                          : ordered_json());
  return entry;
}

/// Adds <side>_token_logprobs and, if requested, <side>_top_logprobs of prompt or output tokens.
/// The first token of a prompt has no log-probability: null.
template <typename Token>
void GenerateWriter::AddLogprobs(const std::string& side, const std::vector<Token>& tokens,
                                 ordered_json& meta) const {
  ordered_json chosen = ordered_json::array(), tops = ordered_json::array();
  for (const Token& token : tokens) {
    chosen.push_back(Logprob(token.info.logprob, token.id));
    ordered_json top;
    if (!std::isnan(token.info.logprob)) top = ordered_json::array();
    for (const auto& [id, logprob] : token.info.top) top.push_back(Logprob(logprob, id));
    tops.push_back(std::move(top));
  }
  meta[side + "_token_logprobs"] = std::move(chosen);
  if (asked_.num_top_logprobs > 0) meta[side + "_top_logprobs"] = std::move(tops);
}

}  // namespace shortlist

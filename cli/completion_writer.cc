#include "cli/completion_writer.h"

#include "base/check.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

const char* FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kNone:
    case FinishReason::kError:
      break;
  }
  SHORTLIST_CHECK(!"a completion ends by stop or length");
  return "";
}

std::string ToJson(size_t index, const std::string& text, size_t prompt_len,
                   const Completion& completion) {
  const SequenceStats& stats = completion.stats;
  // An output produced by the prefill alone has no meaningful decoding time.
  const bool has_rate = stats.num_verify_steps > 0 && completion.decode_seconds > 0.0;
  nlohmann::ordered_json output_ids = nlohmann::ordered_json::array();
  for (TokenId id : completion.output_ids) output_ids.push_back(Raw(id));
  const nlohmann::ordered_json row = {
      {"index", index},
      {"text", text},
      {"output_ids", std::move(output_ids)},
      {"meta_info",
       {{"prompt_tokens", prompt_len},
        {"completion_tokens", completion.output_ids.size()},
        {"finish_reason", FinishReasonName(completion.finish_reason)},
        {"spec_verify_ct", stats.num_verify_steps},
        {"spec_draft_length", stats.draft_length()},
        {"spec_forced_length", stats.forced_length()},
        {"spec_accept_length", stats.accept_length()},
        {"spec_accept_rate", stats.acceptance_rate()},
        {"coverage", stats.coverage()},
        {"active_rows", stats.active_rows},
        {"tokens_per_s",
         has_rate ? static_cast<double>(completion.output_ids.size()) / completion.decode_seconds
                  : 0.0}}}};
  return row.dump();
}

}  // namespace

CompletionWriter::CompletionWriter(const Tokenizer& tokenizer,
                                   std::span<const Session::Request> requests, Format format,
                                   std::ostream& out)
    : requests_(requests), format_(format), out_(out) {
  entries_.reserve(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    entries_.push_back({.detokenizer = Detokenizer(tokenizer, /*at_start=*/false)});
  }
}

void CompletionWriter::OnTokens(size_t index, std::span<const TokenId> tokens) {
  Entry& entry = entries_[index];
  for (TokenId id : tokens) entry.text += entry.detokenizer.Append(id);
  if (index == turn_ && format_ == Format::kText) StreamText(entry);
}

void CompletionWriter::OnFinish(size_t index, const Completion& completion) {
  Entry& entry = entries_[index];
  entry.text += entry.detokenizer.Finish();
  entry.finished = true;
  if (format_ == Format::kJson) {
    entry.json = ToJson(index, entry.text, requests_[index].token_ids.size(), completion);
  }
  if (index == turn_) Flush();
}

void CompletionWriter::Flush() {
  for (; turn_ < entries_.size(); ++turn_) {
    Entry& entry = entries_[turn_];
    if (format_ == Format::kText) StreamText(entry);
    if (!entry.finished) return;
    out_ << (format_ == Format::kJson ? entry.json : "") << "\n" << std::flush;
    entry.json.clear();
    entry.text.clear();
  }
}

void CompletionWriter::StreamText(Entry& entry) {
  if (entry.num_written == entry.text.size()) return;
  if (entry.num_written == 0 && entries_.size() > 1) out_ << "=== " << turn_ << "\n";
  out_ << entry.text.substr(entry.num_written) << std::flush;
  entry.num_written = entry.text.size();
}

}  // namespace shortlist

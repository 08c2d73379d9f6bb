#include "router/pipeline.h"

#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace shortlist {
namespace {

absl::Status Aborted() { return absl::CancelledError("aborted"); }

}  // namespace

Pipeline::Pipeline(Stepper router, std::function<void(BatchTokenIdOut)> detokenize, Options options)
    : router_(std::move(router)),
      detokenize_(std::move(detokenize)),
      tasks_(options.queue_size),
      messages_(options.queue_size),
      outputs_(options.queue_size) {
  SHORTLIST_CHECK(options.num_tokenizers >= 1 && options.queue_size >= 1);
  for (int i = 0; i < options.num_tokenizers; ++i) {
    tokenizers_.emplace_back([this] { RunTokenizer(); });
  }
  router_thread_ = std::thread([this] { RunRouter(); });
  detokenizer_ = std::thread([this] { RunDetokenizer(); });
}

Pipeline::~Pipeline() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    for (auto& [rid, aborted] : live_) {
      aborted = true;
      aborts_.push_back(AbortReq{rid});
    }
  }
  // Each queue is closed when nobody is left who fills it.
  tasks_.Close();
  for (std::thread& tokenizer : tokenizers_) tokenizer.join();
  messages_.Close();
  router_thread_.join();
  outputs_.Close();
  detokenizer_.join();
}

absl::Status Pipeline::Submit(std::string rid, const std::string& client, Tokenize tokenize) {
  const std::lock_guard lock(mutex_);
  if (closing_) return absl::UnavailableError("shutting down");
  if (live_.contains(rid)) {
    return absl::AlreadyExistsError(absl::StrCat("request id ", rid, " is being served"));
  }
  Task task{rid, std::move(tokenize)};
  const auto live = live_.emplace(std::move(rid), false).first;
  try {
    if (tasks_.TryPush(client, task)) return absl::OkStatus();
  } catch (const std::bad_alloc&) {
    live_.erase(live);
    throw;
  }
  live_.erase(live);
  return absl::ResourceExhaustedError("the queue of requests to tokenize is full");
}

void Pipeline::Abort(const std::string& rid) {
  const std::lock_guard lock(mutex_);
  const auto live = live_.find(rid);
  if (live == live_.end() || live->second) return;
  live->second = true;
  // The router may not know the request yet; it asks before it takes one in.
  aborts_.push_back(AbortReq{rid});
}

absl::StatusOr<TokenizedGenerateReqInput> Pipeline::Prepare(const Task& task) {
  {
    const std::lock_guard lock(mutex_);
    if (live_.at(task.rid)) return Aborted();
  }
  try {
    return task.tokenize();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("tokenizing: ", error.what()));
  }
}

void Pipeline::RunTokenizer() {
  while (const std::optional<Task> task = tasks_.Pop()) {
    absl::StatusOr<TokenizedGenerateReqInput> input = Prepare(*task);
    if (!input.ok()) {
      SendTerminalRow(task->rid, std::move(input).status());
      continue;
    }
    input->rid = task->rid;
    messages_.Push(*std::move(input));
  }
}

/// Turns requests that were aborted on their way into terminal rows, and adds the aborts of those
/// that the router has.
void Pipeline::TakeAborts(std::vector<RouterMessage>& messages) {
  std::vector<std::string> aborted;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(messages, [&](const RouterMessage& message) {
      const std::string& rid = std::get<TokenizedGenerateReqInput>(message).rid;
      if (!live_.at(rid)) return false;
      aborted.push_back(rid);
      return true;
    });
    for (RouterMessage& abort : aborts_) messages.push_back(std::move(abort));
    aborts_.clear();
  }
  for (const std::string& rid : aborted) SendTerminalRow(rid, Aborted());
}

void Pipeline::RunRouter() {
  while (true) {
    std::vector<RouterMessage> messages;
    const bool is_open = messages_.PopAll(/*wait=*/router_.idle(), messages);
    if (!is_open && router_.idle()) return;
    TakeAborts(messages);
    BatchTokenIdOut out = router_.exposed_step(std::move(messages));
    if (out.rows.empty()) continue;
    {
      const std::lock_guard lock(mutex_);
      for (const BatchTokenIdOut::Row& row : out.rows) {
        if (row.finished) live_.erase(row.rid);
      }
    }
    outputs_.Push(std::move(out));
  }
}

void Pipeline::SendTerminalRow(const std::string& rid, absl::Status status) {
  {
    const std::lock_guard lock(mutex_);
    live_.erase(rid);
    std::erase_if(aborts_, [&](const RouterMessage& abort) {
      return std::get<AbortReq>(abort).rid == rid;  // of no later request with this id
    });
  }
  BatchTokenIdOut out;
  out.rows.push_back({.rid = rid, .finished = true, .status = std::move(status)});
  outputs_.Push(std::move(out));
}

void Pipeline::RunDetokenizer() {
  while (std::optional<BatchTokenIdOut> out = outputs_.Pop()) detokenize_(*std::move(out));
}

}  // namespace shortlist

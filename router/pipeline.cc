#include "router/pipeline.h"

#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace shortlist {
namespace {

absl::Status Aborted() { return absl::CancelledError("aborted"); }

// Both functions require a message that is a request.

std::string& RidOf(RouterMessage& message) {
  if (auto* embed = std::get_if<TokenizedEmbedReqInput>(&message)) return embed->rid;
  return std::get<TokenizedGenerateReqInput>(message).rid;
}

std::shared_ptr<Receiver>& ReceiverOf(RouterMessage& message) {
  if (auto* embed = std::get_if<TokenizedEmbedReqInput>(&message)) return embed->receiver;
  return std::get<TokenizedGenerateReqInput>(message).receiver;
}

}  // namespace

Pipeline::Pipeline(Stepper router, std::function<void(BatchTokenIdOut)> detokenize, Options options)
    : router_(std::move(router)),
      detokenize_(std::move(detokenize)),
      tasks_(options.queue_size),
      slow_tasks_(options.queue_size),
      messages_(options.queue_size),
      outputs_(options.queue_size) {
  SHORTLIST_CHECK(options.num_tokenizers >= 1 && options.queue_size >= 1);
  try {
    for (int i = 0; i < options.num_tokenizers; ++i) {
      tokenizers_.emplace_back([this] { RunTokenizer(tasks_); });
    }
    tokenizers_.emplace_back([this] { RunTokenizer(slow_tasks_); });
    router_thread_ = std::thread([this] { RunRouter(); });
    detokenizer_ = std::thread([this] { RunDetokenizer(); });
  } catch (...) {
    EndThreads();
    throw;
  }
}

Pipeline::~Pipeline() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  AbortAll();
  EndThreads();
}

/// Joins the started threads after they have processed their queues.
void Pipeline::EndThreads() {
  // Close each queue after its last producer has ended.
  tasks_.Close();
  slow_tasks_.Close();
  for (std::thread& tokenizer : tokenizers_) tokenizer.join();
  messages_.Close();
  if (router_thread_.joinable()) router_thread_.join();
  outputs_.Close();
  if (detokenizer_.joinable()) detokenizer_.join();
}

absl::Status Pipeline::Submit(std::shared_ptr<Receiver> receiver, const std::string& client,
                              Tokenize tokenize, Pace pace) {
  const std::lock_guard lock(mutex_);
  if (closing_) return absl::UnavailableError("shutting down");
  receiver->rid_ = absl::StrCat(num_submitted_++);
  const auto live = live_.insert(receiver).first;
  Task task{std::move(receiver), std::move(tokenize)};
  try {
    if ((pace == Pace::kQuick ? tasks_ : slow_tasks_).TryPush(client, task))
      return absl::OkStatus();
  } catch (const std::bad_alloc&) {
    live_.erase(live);
    throw;
  }
  live_.erase(live);
  return absl::ResourceExhaustedError("the queue of requests to tokenize is full");
}

void Pipeline::Abort(Receiver& receiver) {
  const std::lock_guard lock(mutex_);
  AbortLocked(receiver);
}

void Pipeline::AbortAll() {
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<Receiver>& receiver : live_) AbortLocked(*receiver);
}

void Pipeline::AbortLocked(Receiver& receiver) {
  if (receiver.aborted_) return;
  // A request on its way to the router is checked in TakeAborts().
  if (receiver.in_router_) aborts_.push_back(AbortReq{receiver.rid_});
  receiver.aborted_ = true;
}

absl::StatusOr<RouterMessage> Pipeline::Prepare(const Task& task) {
  {
    const std::lock_guard lock(mutex_);
    if (task.receiver->aborted_) return Aborted();
  }
  try {
    return task.tokenize();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("tokenizing: ", error.what()));
  }
}

void Pipeline::RunTokenizer(TurnQueue<Task>& tasks) {
  while (std::optional<Task> task = tasks.Pop()) {
    absl::StatusOr<RouterMessage> input = Prepare(*task);
    if (!input.ok()) {
      SendTerminalRow(std::move(task->receiver), std::move(input).status());
      continue;
    }
    RidOf(*input) = task->receiver->rid_;
    ReceiverOf(*input) = std::move(task->receiver);
    messages_.Push(*std::move(input));
  }
}

/// Turns requests aborted before they reached the router into terminal rows, and adds the aborts of
/// requests in the router.
void Pipeline::TakeAborts(std::vector<RouterMessage>& messages) {
  std::vector<std::shared_ptr<Receiver>> aborted;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(messages, [&](RouterMessage& message) {
      const std::shared_ptr<Receiver>& receiver = ReceiverOf(message);
      receiver->in_router_ = !receiver->aborted_;
      if (receiver->aborted_) aborted.push_back(receiver);
      return receiver->aborted_;
    });
    for (RouterMessage& abort : aborts_) messages.push_back(std::move(abort));
    aborts_.clear();
  }
  for (auto& receiver : aborted) SendTerminalRow(std::move(receiver), Aborted());
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
        if (row.finished) EraseLocked(row.receiver);
      }
    }
    outputs_.Push(std::move(out));
  }
}

void Pipeline::EraseLocked(const std::shared_ptr<Receiver>& receiver) {
  receiver->in_router_ = false;
  SHORTLIST_CHECK(live_.erase(receiver) == 1);
}

void Pipeline::SendTerminalRow(std::shared_ptr<Receiver> receiver, absl::Status status) {
  {
    const std::lock_guard lock(mutex_);
    EraseLocked(receiver);
  }
  std::string rid = receiver->rid_;
  BatchTokenIdOut out;
  out.rows.push_back({.rid = std::move(rid),
                      .receiver = std::move(receiver),
                      .finished = true,
                      .status = std::move(status)});
  outputs_.Push(std::move(out));
}

void Pipeline::RunDetokenizer() {
  while (std::optional<BatchTokenIdOut> out = outputs_.Pop()) detokenize_(*std::move(out));
}

}  // namespace shortlist

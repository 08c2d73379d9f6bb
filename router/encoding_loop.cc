#include "router/encoding_loop.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/turn_queue.h"

namespace shortlist {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Equal for equal items, and for others almost never.
size_t Hash(const EncodingLoop::Item& item) {
  const auto bytes = [](const auto& values) {
    return std::string_view(reinterpret_cast<const char*>(values.data()),
                            values.size() * sizeof(values[0]));
  };
  const std::hash<std::string_view> hash;
  return hash(bytes(item.input->ids)) ^ (hash(bytes(item.input->token_types)) << 1);
}

bool AreEqual(const EncodingLoop::Item& a, const EncodingLoop::Item& b) {
  return *a.input == *b.input && *a.wish == *b.wish;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EncodingLoop>> EncodingLoop::Create(Options options,
                                                                   Encode encode) {
  const auto check = [](const char* name, int64_t value) {
    if (value >= 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(name, " ", value, " below 1"));
  };
  for (const absl::Status& status : {check("max_input_tokens", options.max_input_tokens),
                                     check("max_batch_tokens", options.max_batch_tokens),
                                     check("max_queued_requests", options.max_queued_requests)}) {
    if (!status.ok()) return status;
  }
  if (!(options.max_pass_s > 0.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_pass_s ", options.max_pass_s, " is not above 0"));
  }
  if (!options.now) options.now = SteadySeconds;
  return std::unique_ptr<EncodingLoop>(new EncodingLoop(std::move(options), std::move(encode)));
}

absl::Status EncodingLoop::Check(const TokenizedEmbedReqInput& input) const {
  if (reqs_.contains(input.rid)) {
    return absl::AlreadyExistsError(absl::StrCat("request id ", input.rid, " is being served"));
  }
  if (input.inputs.empty()) return absl::InvalidArgumentError("there is no input");
  for (size_t i = 0; i < input.inputs.size(); ++i) {
    const EncodeInput& one = input.inputs[i];
    const auto num_tokens = std::ssize(one.ids);
    if (num_tokens == 0) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " has no tokens"));
    }
    if (num_tokens > options_.max_input_tokens) {
      return absl::OutOfRangeError(absl::StrCat("input ", i, " has ", num_tokens,
                                                " tokens, more than the model's ",
                                                options_.max_input_tokens));
    }
    if (!one.token_types.empty() && std::ssize(one.token_types) != num_tokens) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " has ", one.token_types.size(),
                                                     " token types for ", num_tokens, " tokens"));
    }
  }
  if (!(input.timeout_s >= 0.0)) {
    return absl::InvalidArgumentError(absl::StrCat("timeout_s ", input.timeout_s, " below 0"));
  }
  const int64_t own = queue_.size_of(input.client);
  const int64_t num_clients = queue_.num_clients() + (own == 0 ? 1 : 0);
  if (!QueueHasRoom(own, queue_.size(), num_clients, options_.max_queued_requests)) {
    return absl::ResourceExhaustedError(absl::StrCat("the queue is full: ", queue_.size(),
                                                     " requests wait, ", own,
                                                     " of them of this"
                                                     " client, of at most ",
                                                     options_.max_queued_requests));
  }
  return absl::OkStatus();
}

void EncodingLoop::Add(TokenizedEmbedReqInput input, double now_s) {
  if (absl::Status status = Check(input); !status.ok()) {
    out_.rows.push_back({.rid = std::move(input.rid),
                         .receiver = std::move(input.receiver),
                         .finished = true,
                         .status = std::move(status)});
    return;
  }
  try {
    Queue(input, now_s);
  } catch (const std::bad_alloc&) {
    out_.rows.push_back({.rid = std::move(input.rid),
                         .receiver = std::move(input.receiver),
                         .finished = true,
                         .status = absl::ResourceExhaustedError("out of memory")});
  }
}

/// Where it throws, nothing is queued.
void EncodingLoop::Queue(TokenizedEmbedReqInput& input, double now_s) {
  auto req = std::make_unique<EncodeReq>();
  req->rid = input.rid;
  req->receiver = input.receiver;
  req->results.resize(input.inputs.size());
  req->inputs = std::move(input.inputs);
  req->wish = input.wish;
  req->client = std::move(input.client);
  req->priority = input.priority;
  req->arrival_s = now_s;
  req->deadline_s = now_s + input.timeout_s;
  const auto added = reqs_.emplace(req->rid, std::move(req)).first;
  try {
    queue_.Add(*added->second);
  } catch (const std::bad_alloc&) {
    reqs_.erase(added);
    throw;
  }
}

bool EncodingLoop::Abort(const std::string& rid) {
  const auto found = reqs_.find(rid);
  if (found == reqs_.end()) return false;
  End(*found->second, absl::CancelledError("aborted"));
  return true;
}

void EncodingLoop::FailOverdue(double now_s) {
  std::vector<EncodeReq*> overdue;
  for (const auto& [rid, req] : reqs_) {
    if (req->deadline_s <= now_s) overdue.push_back(req.get());
  }
  for (EncodeReq* req : overdue) {
    End(*req, absl::DeadlineExceededError(absl::StrCat(
                  "not finished ", req->deadline_s - req->arrival_s, " s after its arrival")));
  }
}

int64_t EncodingLoop::pass_tokens() const {
  const double in_time = token_s_ > 0.0 ? options_.max_pass_s / token_s_ : kInfinity;
  if (in_time >= static_cast<double>(options_.max_batch_tokens)) return options_.max_batch_tokens;
  return std::max<int64_t>(static_cast<int64_t>(in_time), 1);
}

void EncodingLoop::Step(double now_s) {
  std::vector<EncodeQueue::Item> taken;
  try {
    FailOverdue(now_s);
    taken = queue_.Take(pass_tokens());
  } catch (const std::bad_alloc&) {
    return;  // nothing was being computed; those that wait go on waiting
  }
  if (taken.empty()) return;
  try {
    Pass(taken);
  } catch (const std::bad_alloc&) {
    for (const EncodeQueue::Item& one : taken) {
      one.req->results[one.input] = {.status = absl::ResourceExhaustedError("out of memory")};
    }
  }
  for (const EncodeQueue::Item& one : taken) {
    if (one.input + 1 == one.req->inputs.size()) End(*one.req, absl::OkStatus());
  }
}

/// One pass of the model for all of `taken`. Where it throws, it has computed nothing.
void EncodingLoop::Pass(std::span<const EncodeQueue::Item> taken) {
  std::vector<Item> items;
  std::vector<size_t> item_of(taken.size());  // what is computed for each
  std::unordered_multimap<size_t, size_t> known;
  int64_t num_tokens = 0;
  for (size_t i = 0; i < taken.size(); ++i) {
    const EncodeReq& req = *taken[i].req;
    const Item item{&req.inputs[taken[i].input], &req.wish};
    const size_t hash = Hash(item);
    item_of[i] = items.size();
    const auto [first, last] = known.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      if (AreEqual(items[it->second], item)) item_of[i] = it->second;
    }
    if (item_of[i] < items.size()) continue;
    known.emplace(hash, items.size());
    items.push_back(item);
    num_tokens += std::ssize(item.input->ids);
  }
  const double begin_s = options_.now();
  const std::vector<EncodeResult> results = Compute(items);
  const double token_s = (options_.now() - begin_s) / static_cast<double>(num_tokens);
  // A pass of few tokens, or one that was held up, says less than those before it together.
  token_s_ = token_s_ == 0.0 ? token_s : 0.75 * token_s_ + 0.25 * token_s;
  for (size_t i = 0; i < taken.size(); ++i) {
    taken[i].req->results[taken[i].input] = results[item_of[i]];
  }
  ++stats_.num_passes;
  stats_.num_tokens += num_tokens;
  stats_.num_inputs += std::ssize(taken);
  stats_.num_repeated += std::ssize(taken) - std::ssize(items);
}

std::vector<EncodeResult> EncodingLoop::Compute(std::span<const Item> items) {
  absl::Status status;
  try {
    std::vector<EncodeResult> results = encode_(items);
    SHORTLIST_CHECK(results.size() == items.size());
    return results;
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    status = absl::InternalError(error.what());
  }
  return std::vector<EncodeResult>(items.size(), EncodeResult{.status = std::move(status)});
}

void EncodingLoop::End(EncodeReq& req, absl::Status status) {
  int64_t num_tokens = 0;
  for (const EncodeInput& input : req.inputs) num_tokens += std::ssize(input.ids);
  if (req.num_taken < req.inputs.size()) queue_.Remove(req);
  if (!status.ok()) req.results.clear();
  out_.rows.push_back({.rid = req.rid,
                       .receiver = std::move(req.receiver),
                       .results = std::move(req.results),
                       .finished = true,
                       .finish_reason = FinishReason::kStop,
                       .status = std::move(status),
                       .prompt_tokens = num_tokens});
  reqs_.erase(reqs_.find(req.rid));
}

}  // namespace shortlist

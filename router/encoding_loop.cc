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

/// Equal for equal items; for different items, almost never.
size_t Hash(const EncodingLoop::Item& item) {
  const auto bytes = [](const auto& values) {
    return std::string_view(reinterpret_cast<const char*>(values.data()),
                            values.size() * sizeof(values[0]));
  };
  const std::hash<std::string_view> hash;
  const size_t texts = hash(bytes(item.input->ids)) ^ (hash(bytes(item.input->token_types)) << 1);
  return item.input->picture == nullptr ? texts : texts ^ hash(bytes(item.input->picture->rgb));
}

bool AreEqual(const EncodingLoop::Item& a, const EncodingLoop::Item& b) {
  return *a.input == *b.input && *a.wish == *b.wish;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EncodingLoop>> EncodingLoop::Create(Options options, Encode encode) {
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
  absl::Status status;
  try {
    status = Check(input);
    if (status.ok()) return Queue(input, now_s);
  } catch (const std::bad_alloc&) {
    // A status without a message needs no memory.
    status = absl::Status(absl::StatusCode::kResourceExhausted, "");
  }
  refused_.rows.push_back({.rid = std::move(input.rid),
                           .receiver = std::move(input.receiver),
                           .finished = true,
                           .status = std::move(status)});
}

/// If it throws, nothing is queued.
void EncodingLoop::Queue(TokenizedEmbedReqInput& input, double now_s) {
  auto req = std::make_shared<EncodeReq>();
  req->rid = input.rid;
  req->receiver = input.receiver;
  req->results.resize(input.inputs.size());
  req->inputs = std::move(input.inputs);
  req->wish = input.wish;
  req->client = std::move(input.client);
  req->num_before = input.num_before;
  req->priority = input.priority;
  req->arrival_s = now_s;
  req->deadline_s = now_s + input.timeout_s;
  ended_.reserve(ended_.size() + reqs_.size() + 1);
  const auto added = reqs_.emplace(req->rid, std::move(req)).first;
  try {
    queue_.Add(*added->second);
  } catch (const std::bad_alloc&) {
    reqs_.erase(added);
    throw;
  }
}

/// Never throws.
void EncodingLoop::End(EncodeReq& req, absl::Status status) {
  if (req.num_taken < req.inputs.size()) queue_.Remove(req);
  req.status = std::move(status);
  req.has_ended = true;
  const auto found = reqs_.find(req.rid);
  ended_.push_back(std::move(found->second));
  reqs_.erase(found);
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

BatchTokenIdOut EncodingLoop::TakeRows() {
  BatchTokenIdOut out = std::exchange(refused_, {});
  size_t num_told = 0;
  try {
    out.rows.reserve(out.rows.size() + ended_.size());
    for (const std::shared_ptr<EncodeReq>& req : ended_) {
      BatchTokenIdOut::Row row{
          .rid = req->rid, .finished = true, .finish_reason = FinishReason::kStop};
      row.receiver = std::move(req->receiver);
      row.status = std::move(req->status);
      if (row.status.ok()) row.results = std::move(req->results);
      for (const EncodeInput& input : req->inputs) row.prompt_tokens += std::ssize(input.ids);
      out.rows.push_back(std::move(row));
      ++num_told;
    }
  } catch (const std::bad_alloc&) {
    // The remaining requests get their rows in the next call.
  }
  ended_.erase(ended_.begin(), ended_.begin() + static_cast<int64_t>(num_told));
  return out;
}

void EncodingLoop::Step(double now_s) {
  try {
    FailOverdue(now_s);
    const auto has_ended = [](const EncodeQueue::Item& one) { return one.req->has_ended; };
    if (std::all_of(pass_.taken.begin(), pass_.taken.end(), has_ended)) BeginPass();
  } catch (const std::bad_alloc&) {
    return;  // waiting requests keep waiting
  }
  if (!pass_.taken.empty()) GoOn();
}

/// Replaces the last pass. If it throws, no pass is active.
void EncodingLoop::BeginPass() {
  pass_ = Pass();
  pass_.taken.reserve(kMaxPassInputs);
  pass_.held.reserve(kMaxPassInputs);
  pass_.items.reserve(kMaxPassInputs);
  pass_.item_of.reserve(kMaxPassInputs);
  pass_.most_tokens = pass_tokens();
  pass_.most_beside_last = time_.TokensIn(options_.max_pass_s / 2, options_.max_batch_tokens);
  std::unordered_multimap<size_t, size_t> known;
  try {
    while (!queue_.empty() && pass_.taken.size() < kMaxPassInputs && AddFront(known)) {
    }
  } catch (const std::bad_alloc&) {
    if (pass_.taken.empty()) throw;  // else compute the inputs taken so far
  }
}

/// Takes the queue's next input into the pass; returns false if there is no room. `known`: the
/// pass's items by hash. If it throws, the input stays queued.
bool EncodingLoop::AddFront(std::unordered_multimap<size_t, size_t>& known) {
  const EncodeQueue::Item front = queue_.Front();
  const Item item{&front.req->inputs[front.input], &front.req->wish};
  const size_t hash = Hash(item);
  size_t same = pass_.items.size();
  const auto [first, last] = known.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (AreEqual(pass_.items[it->second], item)) same = it->second;
  }
  const bool is_new = same == pass_.items.size();
  const auto num_tokens = is_new ? std::ssize(item.input->ids) : 0;
  const bool is_last = front.input + 1 == front.req->inputs.size();
  const int64_t most = pass_.has_last && !is_last ? pass_.most_beside_last : pass_.most_tokens;
  if (is_new && !pass_.items.empty() && pass_.num_tokens + num_tokens > most) return false;

  if (is_new) known.emplace(hash, same);
  pass_.taken.push_back(front);
  pass_.held.push_back(reqs_.at(front.req->rid));
  pass_.item_of.push_back(same);
  if (is_new) pass_.items.push_back(item);
  pass_.num_tokens += num_tokens;
  pass_.has_last |= is_last;
  queue_.TakeFront();
  return true;
}

std::optional<std::vector<EncodeResult>> EncodingLoop::Compute() {
  absl::Status status;
  try {
    auto results = encode_(pass_.items, pass_.goes_on);
    SHORTLIST_CHECK(!results || results->size() == pass_.items.size());
    return results;
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    status = absl::InternalError(error.what());
  }
  return std::vector<EncodeResult>(pass_.items.size(), EncodeResult{.status = status});
}

void EncodingLoop::GoOn() {
  try {
    const double begin_s = options_.now();
    std::optional<std::vector<EncodeResult>> results = Compute();
    pass_.seconds += options_.now() - begin_s;
    pass_.goes_on = true;
    if (results) EndPass(&*results);
  } catch (const std::bad_alloc&) {
    EndPass(/*results=*/nullptr);
  }
}

/// `results`: one per item; null: out of memory. Never throws.
void EncodingLoop::EndPass(std::vector<EncodeResult>* results) {
  const Pass pass = std::exchange(pass_, Pass());
  const auto fails = [](const EncodeResult& result) { return !result.status.ok(); };
  if (results != nullptr && !std::all_of(results->begin(), results->end(), fails)) {
    time_.Add(pass.num_tokens, pass.seconds);
  }
  const bool are_different = pass.items.size() == pass.taken.size();
  for (size_t i = 0; i < pass.taken.size(); ++i) {
    const auto& [req, input] = pass.taken[i];
    if (req->has_ended) continue;
    EncodeResult& result = req->results[input];
    try {
      // A status without a message needs no memory.
      if (results == nullptr) throw std::bad_alloc();
      EncodeResult& computed = (*results)[pass.item_of[i]];
      if (are_different) {
        result = std::move(computed);
      } else {
        result = computed;
      }
    } catch (const std::bad_alloc&) {
      result.status = absl::Status(absl::StatusCode::kResourceExhausted, "");
    }
    if (input + 1 == req->inputs.size()) End(*req, absl::OkStatus());
  }
  ++stats_.num_passes;
  stats_.num_tokens += pass.num_tokens;
  stats_.num_inputs += std::ssize(pass.taken);
  stats_.num_repeated += std::ssize(pass.taken) - std::ssize(pass.items);
}

}  // namespace shortlist

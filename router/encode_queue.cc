#include "router/encode_queue.h"

#include <tuple>
#include <utility>

#include "base/check.h"

namespace shortlist {

bool EncodeQueue::Before::operator()(const EncodeReq* a, const EncodeReq* b) const {
  return std::tuple(-int64_t{a->priority}, a->rank, a->arrival_number) <
         std::tuple(-int64_t{b->priority}, b->rank, b->arrival_number);
}

bool EncodeQueue::BeforeClient::operator()(const Client* a, const Client* b) const {
  return std::tuple(a->num_taken, a->number) < std::tuple(b->num_taken, b->number);
}

void EncodeQueue::Add(EncodeReq& req) {
  SHORTLIST_CHECK(!req.inputs.empty() && req.num_taken == 0);
  req.rank = kAgeing * req.arrival_s + static_cast<double>(req.num_before);
  req.arrival_number = num_added_++;
  const auto [found, is_new] = clients_.try_emplace(req.client);
  Client& client = found->second;
  if (is_new) {
    // A returning client gets no priority over the present ones.
    client.num_taken = turns_.empty() ? 0.0 : (*turns_.begin())->num_taken;
    client.number = req.arrival_number;
  }
  try {
    client.requests.insert(&req);
    if (is_new) turns_.insert(&client);
  } catch (...) {
    client.requests.erase(&req);
    if (is_new) clients_.erase(found);
    throw;
  }
  ++num_requests_;
}

void EncodeQueue::Remove(EncodeReq& req) {
  const auto found = clients_.find(req.client);
  SHORTLIST_CHECK(found != clients_.end() && found->second.requests.erase(&req) == 1);
  --num_requests_;
  if (!found->second.requests.empty()) return;
  turns_.erase(&found->second);
  clients_.erase(found);
}

void EncodeQueue::TakeFront() {
  EncodeReq& req = Next();
  const auto num_tokens = static_cast<double>(req.inputs[req.num_taken].ids.size());
  Client& client = clients_.at(req.client);
  auto turn = turns_.extract(&client);
  client.num_taken += num_tokens;
  turns_.insert(std::move(turn));
  if (req.num_taken + 1 == req.inputs.size()) {
    Remove(req);
    ++req.num_taken;
    return;
  }
  auto place = client.requests.extract(&req);
  ++req.num_taken;
  req.rank += num_tokens;
  client.requests.insert(std::move(place));
}

int64_t EncodeQueue::size_of(const std::string& client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? 0 : std::ssize(found->second.requests);
}

}  // namespace shortlist

#ifndef SHORTLIST_ROUTER_ENCODE_QUEUE_H_
#define SHORTLIST_ROUTER_ENCODE_QUEUE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "request/encoding.h"

namespace shortlist {

class Receiver;  // router/pipeline.h

/// A request for encodings, from its arrival to its terminal row.
struct EncodeReq {
  // What was asked for; constant.
  std::string rid;
  std::shared_ptr<Receiver> receiver;  // of its row
  std::vector<EncodeInput> inputs;     // at least one
  EncodeWish wish;
  std::string client;
  int32_t priority = 0;  // larger goes first
  double arrival_s = 0.0;
  double deadline_s = std::numeric_limits<double>::infinity();

  int64_t num_before = 0;  // tokens, about, of the same text list that were sent before these

  // Where it stands.
  size_t num_taken = 0;               // inputs that are computed, or being computed
  std::vector<EncodeResult> results;  // [inputs.size()], of which num_taken are there
  bool has_ended = false;             // with `status`
  absl::Status status;

  // The queue's.
  double rank = 0.0;
  uint64_t arrival_number = 0;
};

/// Whose input an encoder reads next. Clients take turns by the tokens that were taken from them,
/// so that one that brings many texts, or long ones, waits for itself; of one client the larger
/// priority goes first, then the request with fewest tokens taken, those of the same list before it
/// included: a short request does not wait for the end of a long one. A second of waiting counts as
/// kAgeing tokens, so that no request waits for ever behind a stream of short ones; it must be far
/// fewer than a model computes in that time, or a long request would stay ahead of those that come
/// later. Does not own the requests. Not thread-safe.
class EncodeQueue {
 public:
  static constexpr double kAgeing = 64.0;

  /// Queues `req`, none of whose inputs is taken; where it throws, nothing has changed.
  void Add(EncodeReq& req);
  /// Before its last input is taken.
  void Remove(EncodeReq& req);

  struct Item {
    EncodeReq* req = nullptr;
    size_t input = 0;
  };
  /// The next input. Only where something waits.
  Item Front() const { return {&Next(), Next().num_taken}; }
  /// Takes it; a request whose last input was taken has left the queue. Allocates nothing.
  void TakeFront();

  int64_t size() const { return num_requests_; }
  bool empty() const { return num_requests_ == 0; }
  /// Requests of one client.
  int64_t size_of(const std::string& client) const;
  int64_t num_clients() const { return static_cast<int64_t>(clients_.size()); }

 private:
  struct Before {
    bool operator()(const EncodeReq* a, const EncodeReq* b) const;
  };
  struct Client {
    double num_taken = 0.0;  // tokens, since all were idle; of a newcomer the least of the others'
    uint64_t number = 0;
    std::set<EncodeReq*, Before> requests;  // at least one
  };
  struct BeforeClient {
    bool operator()(const Client* a, const Client* b) const;
  };

  EncodeReq& Next() const { return **(*turns_.begin())->requests.begin(); }

  std::unordered_map<std::string, Client> clients_;
  std::set<Client*, BeforeClient> turns_;
  int64_t num_requests_ = 0;
  uint64_t num_added_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_ENCODE_QUEUE_H_

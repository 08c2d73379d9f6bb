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

/// A request for encodings, from arrival to its terminal row.
struct EncodeReq {
  // The request; constant.
  std::string rid;
  std::shared_ptr<Receiver> receiver;  // of the terminal row
  std::vector<EncodeInput> inputs;     // at least one
  EncodeWish wish;
  std::string client;
  int32_t priority = 0;  // larger first
  double arrival_s = 0.0;
  double deadline_s = std::numeric_limits<double>::infinity();

  // Approximate number of tokens of the same client batch submitted earlier.
  int64_t num_before = 0;

  // Progress.
  size_t num_taken = 0;               // inputs that are computed or being computed
  std::vector<EncodeResult> results;  // [inputs.size()], set for computed inputs
  bool has_ended = false;             // the request has ended with `status`
  absl::Status status;

  // Used by the queue.
  double rank = 0.0;
  uint64_t arrival_number = 0;
};

/// Decides whose input an encoder reads next. Clients take turns by the number of tokens taken from
/// them, so a client with many or long texts delays only itself. Within a client, larger priority
/// goes first. Next comes the request with the fewest tokens taken, including earlier ones of the
/// same batch, so a short request does not wait for the end of a long one.
///
/// A second of waiting counts as kAgeing tokens, so that a stream of short requests cannot starve a
/// long one. kAgeing must be far below the tokens that a model computes in a second; otherwise a
/// long request would stay ahead of later ones. Does not own the requests. Not thread-safe.
class EncodeQueue {
 public:
  static constexpr double kAgeing = 64.0;

  /// Queues `req`, none of whose inputs may be taken. If it throws, nothing has changed.
  void Add(EncodeReq& req);
  /// Removes `req`, whose last input must not be taken yet.
  void Remove(EncodeReq& req);

  struct Item {
    EncodeReq* req = nullptr;
    size_t input = 0;
  };
  /// The next input. Precondition: !empty().
  Item Front() const { return {&Next(), Next().num_taken}; }
  /// Takes the next input. A request leaves the queue with its last input. Allocates nothing.
  void TakeFront();

  int64_t size() const { return num_requests_; }
  bool empty() const { return num_requests_ == 0; }
  /// Number of requests of one client.
  int64_t size_of(const std::string& client) const;
  int64_t num_clients() const { return static_cast<int64_t>(clients_.size()); }

 private:
  struct Before {
    bool operator()(const EncodeReq* a, const EncodeReq* b) const;
  };
  struct Client {
    // Tokens taken since the queue was last empty; a new client starts at the others' minimum.
    double num_taken = 0.0;
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

#ifndef SHORTLIST_BENCH_LOAD_TALLY_H_
#define SHORTLIST_BENCH_LOAD_TALLY_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/load/http_client.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Durations of requests.
class Latencies {
 public:
  void Add(double seconds) { seconds_.push_back(seconds); }
  int64_t size() const { return static_cast<int64_t>(seconds_.size()); }
  /// The `percent` percentile in milliseconds, by nearest rank. 100: the maximum. 0 if empty.
  double Ms(double percent) const;

 private:
  mutable std::vector<double> seconds_;  // sorted by Ms
};

/// Counts of errors by status and message. After 32 different errors, further kinds are counted as
/// one.
class ErrorCounts {
 public:
  /// `reply` has a status other than 200, or status 200 and an invalid body.
  void Add(const HttpReply& reply);
  void Add(unsigned status, std::string_view message);

  int64_t total() const { return total_; }
  /// One line per error kind; empty without errors.
  std::string Lines() const;
  /// Array of {status, message, count}.
  nlohmann::ordered_json Json() const;

 private:
  std::map<std::pair<unsigned, std::string>, int64_t> counts_;
  int64_t total_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_BENCH_LOAD_TALLY_H_

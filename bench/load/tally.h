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

/// Times that requests took.
class Latencies {
 public:
  void Add(double seconds) { seconds_.push_back(seconds); }
  int64_t size() const { return static_cast<int64_t>(seconds_.size()); }
  /// Milliseconds that `percent` % of them took at most, of the nearest rank; 100: the longest; 0
  /// when there are none.
  double Ms(double percent) const;

 private:
  mutable std::vector<double> seconds_;  // sorted by Ms
};

/// What went wrong, by status and message. Beyond 32 different ones they are counted as one.
class ErrorCounts {
 public:
  /// Of a status other than 200, or a reply of 200 that is not as it must be.
  void Add(const HttpReply& reply);
  void Add(unsigned status, std::string_view message);

  int64_t total() const { return total_; }
  /// A line for each, empty without errors.
  std::string Lines() const;
  /// Array of {status, message, count}.
  nlohmann::ordered_json Json() const;

 private:
  std::map<std::pair<unsigned, std::string>, int64_t> counts_;
  int64_t total_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_BENCH_LOAD_TALLY_H_

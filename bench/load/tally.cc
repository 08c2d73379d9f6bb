#include "bench/load/tally.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

constexpr size_t kMaxKinds = 32;

}  // namespace

double Latencies::Ms(double percent) const {
  if (seconds_.empty()) return 0.0;
  std::sort(seconds_.begin(), seconds_.end());
  const double rank = std::ceil(percent / 100.0 * static_cast<double>(seconds_.size()));
  return 1e3 * seconds_[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

void ErrorCounts::Add(const HttpReply& reply) { Add(reply.status, reply.Message()); }

void ErrorCounts::Add(unsigned status, std::string_view message) {
  ++total_;
  auto key = std::pair(status, std::string(message));
  if (counts_.size() >= kMaxKinds && !counts_.contains(key)) key = {0, "(others)"};
  ++counts_[key];
}

std::string ErrorCounts::Lines() const {
  std::string lines;
  for (const auto& [key, count] : counts_) {
    const std::string status = key.first == 0 ? "no reply" : absl::StrCat("status ", key.first);
    absl::StrAppend(&lines, "  ", count, " x ", status, ": ", key.second, "\n");
  }
  return lines;
}

nlohmann::ordered_json ErrorCounts::Json() const {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& [key, count] : counts_) {
    rows.push_back({{"status", key.first}, {"message", key.second}, {"count", count}});
  }
  return rows;
}

}  // namespace shortlist

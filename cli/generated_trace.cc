#include "cli/generated_trace.h"

#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/counted.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxCount = int64_t{1} << 20;
constexpr int64_t kMaxTokens = int64_t{1} << 27;
constexpr double kMaxRate = 1e9;

absl::Status Refuse(absl::string_view key, absl::string_view value, absl::string_view bound) {
  return absl::InvalidArgumentError(absl::StrCat(key, " ", value, " not in ", bound));
}

absl::Status ParsePart(absl::string_view key, absl::string_view value, TraceShape& shape) {
  if (key == "rate") {
    const bool fits = absl::SimpleAtod(value, &shape.rate) && shape.rate >= 0.0 &&
                      shape.rate <= kMaxRate;  // NaN is not
    return fits ? absl::OkStatus() : Refuse(key, value, absl::StrCat("[0, ", kMaxRate, "]"));
  }
  int64_t least = 1;
  int64_t* count = nullptr;
  if (key == "requests") count = &shape.num_requests;
  if (key == "groups") count = &shape.num_groups;
  if (key == "own") count = &shape.own_len;
  if (key == "shared") {
    count = &shape.shared_len;
    least = 0;
  }
  if (count == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", key, "\" is none of requests, rate, groups, shared, own"));
  }
  const bool fits = absl::SimpleAtoi(value, count) && *count >= least && *count <= kMaxCount;
  return fits ? absl::OkStatus()
              : Refuse(key, value, absl::StrCat("[", least, ", ", kMaxCount, "]"));
}

}  // namespace

absl::StatusOr<TraceShape> ParseTraceShape(const std::string& text) {
  TraceShape shape;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    SHORTLIST_RETURN_IF_ERROR(ParsePart(pair.first, pair.second, shape));
  }
  if (shape.num_groups > shape.num_requests) {
    return Refuse("groups", absl::StrCat(shape.num_groups),
                  absl::StrCat("[1, ", shape.num_requests, "], the requests"));
  }
  const int64_t num_tokens = shape.num_requests * (shape.shared_len + shape.own_len);
  if (num_tokens > kMaxTokens) {
    return absl::InvalidArgumentError(absl::StrCat(
        Counted(shape.num_requests, "request"), " of ",
        Counted(shape.shared_len + shape.own_len, "token"), " exceed ", kMaxTokens, " in all"));
  }
  return shape;
}

std::vector<GeneratedRequest> GenerateTrace(const TraceShape& shape, int64_t vocab_size,
                                            uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto append = [&](int64_t len, std::vector<TokenId>& tokens) {
    for (int64_t i = 0; i < len; ++i) {
      tokens.push_back(TokenId{static_cast<int32_t>(random() % static_cast<uint64_t>(vocab_size))});
    }
  };
  std::vector<std::vector<TokenId>> groups(shape.num_groups);
  for (std::vector<TokenId>& group : groups) append(shape.shared_len, group);
  std::vector<GeneratedRequest> requests(shape.num_requests);
  double now_s = 0.0;
  for (int64_t i = 0; i < shape.num_requests; ++i) {
    if (shape.rate > 0.0) {
      const double uniform = static_cast<double>(random() >> 11) * 0x1p-53;  // in [0, 1)
      now_s -= std::log1p(-uniform) / shape.rate;
    }
    requests[i].arrival_s = now_s;
    requests[i].prompt = groups[i % shape.num_groups];
    append(shape.own_len, requests[i].prompt);
  }
  return requests;
}

}  // namespace shortlist

#include "embed/hidden_states.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace shortlist {
namespace {

bool IsNotFinite(float value) {
  constexpr uint32_t kExponent = 0x7f800000u;
  return (std::bit_cast<uint32_t>(value) & kExponent) == kExponent;
}

/// The mean of tokens [first, last). sums: [hidden] scratch.
void Mean(const HiddenStates& states, int64_t first, int64_t last, std::vector<double>& sums,
          std::span<float> out) {
  sums.assign(states.hidden, 0.0);
  for (int64_t token = first; token < last; ++token) {
    const float* const state = states.data + token * states.hidden;
    for (int64_t i = 0; i < states.hidden; ++i) sums[i] += state[i];
  }
  const double num_tokens = static_cast<double>(last - first);
  for (int64_t i = 0; i < states.hidden; ++i) out[i] = static_cast<float>(sums[i] / num_tokens);
}

absl::Status PoolSequence(const HiddenStates& states, Pooling pooling, int64_t seq,
                          int64_t num_skipped, std::vector<double>& sums, std::span<float> out) {
  const int64_t begin = states.seq_begin[seq];
  const int64_t end = states.seq_begin[seq + 1];
  if (num_skipped < 0 || num_skipped >= end - begin) {
    return absl::InvalidArgumentError(
        absl::StrCat("sequence ", seq, " of the batch: ", num_skipped, " of its ", end - begin,
                     " tokens are a prompt, which the pooling leaves out (include_prompt: false); "
                     "no token of the text is left"));
  }
  const absl::Status finite = CheckStates(states, seq);
  if (!finite.ok()) return finite;
  if (pooling == Pooling::kMean) {
    Mean(states, begin + num_skipped, end, sums, out);
  } else {
    const int64_t token = pooling == Pooling::kCls ? begin + num_skipped : end - 1;
    std::copy_n(states.data + token * states.hidden, states.hidden, out.begin());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckStates(const HiddenStates& states, int64_t seq) {
  const int64_t begin = states.seq_begin[seq], end = states.seq_begin[seq + 1];
  const std::span<const float> all(states.data + begin * states.hidden,
                                   (end - begin) * states.hidden);
  const auto place = FindNotFinite(all);
  if (!place) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("sequence ", seq, ": element ", *place % states.hidden,
                                          " of the hidden state of token ", *place / states.hidden,
                                          " is ", all[*place]));
}

const char* PoolingName(Pooling pooling) {
  switch (pooling) {
    case Pooling::kLast:
      return "last";
    case Pooling::kCls:
      return "cls";
    case Pooling::kMean:
      return "mean";
  }
  SHORTLIST_CHECK(false);
}

std::vector<float> PoolSequences(const HiddenStates& states, Pooling pooling,
                                 std::span<const int64_t> num_skipped,
                                 std::vector<absl::Status>& statuses, ThreadPool& pool) {
  const int64_t num_seqs = states.num_seqs();
  SHORTLIST_CHECK(states.hidden >= 1 && num_seqs >= 0 && states.seq_begin[0] == 0);
  SHORTLIST_CHECK(std::is_sorted(states.seq_begin.begin(), states.seq_begin.end()));
  SHORTLIST_CHECK(num_skipped.empty() || std::ssize(num_skipped) == num_seqs);
  SHORTLIST_CHECK(std::ssize(statuses) == num_seqs);
  std::vector<float> rows(num_seqs * states.hidden, 0.0f);
  pool.ParallelFor(num_seqs, /*grain=*/1, [&](int64_t first, int64_t last) {
    std::vector<double> sums;
    for (int64_t seq = first; seq < last; ++seq) {
      if (!statuses[seq].ok()) continue;
      statuses[seq] =
          PoolSequence(states, pooling, seq, num_skipped.empty() ? 0 : num_skipped[seq], sums,
                       std::span(rows).subspan(seq * states.hidden, states.hidden));
    }
  });
  return rows;
}

std::optional<int64_t> FindNotFinite(std::span<const float> values) {
  // Check whole blocks first: the compiler vectorises a loop without an early exit.
  constexpr size_t kBlock = 1024;
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const auto block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    uint32_t found = 0;
    for (const float value : block) found |= IsNotFinite(value) ? 1u : 0u;
    if (found == 0) continue;
    return begin + (std::find_if(block.begin(), block.end(), IsNotFinite) - block.begin());
  }
  return std::nullopt;
}

void RefuseNotFinite(const char* what, std::span<float> rows, std::vector<absl::Status>& statuses) {
  if (statuses.empty()) return;
  const size_t width = rows.size() / statuses.size();
  for (size_t seq = 0; seq < statuses.size(); ++seq) {
    const std::span<float> row = rows.subspan(seq * width, width);
    const auto place = FindNotFinite(row);
    if (!place) continue;
    if (statuses[seq].ok()) {
      statuses[seq] =
          absl::InternalError(absl::StrCat("sequence ", seq, ": ", what, " is not finite (element ",
                                           *place, " is ", row[*place], ")"));
    }
    std::fill(row.begin(), row.end(), 0.0f);
  }
}

}  // namespace shortlist

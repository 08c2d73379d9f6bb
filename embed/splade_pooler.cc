#include "embed/splade_pooler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

constexpr int64_t kLogitsAtOnce = int64_t{1} << 22;
constexpr int64_t kGrain = 4096;  // of the vocabulary

/// `largest`: [vocab_size], the maximum over all tokens' logits.
absl::StatusOr<std::vector<SparseWeight>> Collect(std::span<const float> largest,
                                                  const SparseCut& cut, int64_t seq) {
  std::vector<SparseWeight> weights;
  for (size_t id = 0; id < largest.size(); ++id) {
    if (largest[id] <= 0.0f) continue;
    if (!std::isfinite(largest[id])) {
      return absl::InternalError(
          absl::StrCat("sequence ", seq, ": a logit of token ", id, " is ", largest[id]));
    }
    const auto weight = static_cast<float>(std::log1p(static_cast<double>(largest[id])));
    weights.push_back({TokenId{static_cast<int32_t>(id)}, weight});
  }
  CutWeights(cut, weights);
  return weights;
}

}  // namespace

std::vector<absl::StatusOr<std::vector<SparseWeight>>> SpladePooler::Run(
    const HiddenStates& states, std::span<const TokenId> ids, std::span<const SparseCut> cuts,
    ThreadPool& pool) const {
  const int64_t num_seqs = states.num_seqs(), vocab_size = head_.vocab_size();
  const int64_t num_tokens = states.seq_begin.back();
  SHORTLIST_CHECK(states.hidden == head_.hidden());
  SHORTLIST_CHECK(std::ssize(ids) == num_tokens && std::ssize(cuts) == num_seqs);
  const int64_t rows_at_once =
      std::clamp<int64_t>(kLogitsAtOnce / vocab_size, 1, std::max<int64_t>(num_tokens, 1));
  std::vector<float> logits(rows_at_once * vocab_size), largest(vocab_size);
  std::vector<absl::StatusOr<std::vector<SparseWeight>>> results(num_seqs);
  int64_t first = 0, last = 0;  // tokens whose logits are computed
  for (int64_t seq = 0; seq < num_seqs; ++seq) {
    // log1p(relu(x)) is monotonic, so the largest logit has the largest weight.
    std::fill(largest.begin(), largest.end(), -std::numeric_limits<float>::infinity());
    for (int64_t token = states.seq_begin[seq]; token < states.seq_begin[seq + 1];) {
      if (token == last) {
        first = token;
        last = std::min(first + rows_at_once, num_tokens);
        head_.Logits(states.data + first * states.hidden, last - first, logits.data(), pool);
      }
      const int64_t end = std::min<int64_t>(last, states.seq_begin[seq + 1]);
      pool.ParallelFor(vocab_size, kGrain, [&](int64_t id_begin, int64_t id_end) {
        for (int64_t row = token - first; row < end - first; ++row) {
          const float* const of_row = logits.data() + row * vocab_size;
          for (int64_t id = id_begin; id < id_end; ++id) {
            // NaN is kept, although it compares neither less nor greater.
            const bool stays = largest[id] >= of_row[id] || std::isnan(largest[id]);
            largest[id] = stays ? largest[id] : of_row[id];
          }
        }
      });
      token = end;
    }
    if (absl::Status status = CheckStates(states, seq); !status.ok()) {
      results[seq] = std::move(status);
    } else {
      results[seq] = Collect(largest, cuts[seq], seq);
    }
  }
  return results;
}

}  // namespace shortlist

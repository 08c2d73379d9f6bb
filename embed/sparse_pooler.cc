#include "embed/sparse_pooler.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "model/checkpoint.h"

namespace shortlist {
namespace {

bool IdBefore(const SparseWeight& a, const SparseWeight& b) { return a.id < b.id; }

}  // namespace

void CutWeights(const SparseCut& cut, std::vector<SparseWeight>& weights) {
  std::erase_if(weights, [&](const SparseWeight& w) { return !(w.weight > cut.threshold); });
  if (cut.top_n == 0 || std::ssize(weights) <= cut.top_n) return;
  const auto end = weights.begin() + cut.top_n;
  std::nth_element(weights.begin(), end, weights.end(),
                   [](const SparseWeight& a, const SparseWeight& b) {
                     return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
                   });
  weights.erase(end, weights.end());
  std::sort(weights.begin(), weights.end(), IdBefore);
}

float SparseDot(std::span<const SparseWeight> a, std::span<const SparseWeight> b) {
  double sum = 0.0;
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    if (a[i].id == b[k].id) sum += static_cast<double>(a[i].weight) * b[k].weight;
    const bool advances_a = a[i].id <= b[k].id, advances_b = b[k].id <= a[i].id;
    i += advances_a ? 1 : 0;
    k += advances_b ? 1 : 0;
  }
  return static_cast<float>(sum);
}

absl::StatusOr<std::unique_ptr<TokenWeightPooler>> TokenWeightPooler::Load(
    const ModelSource& source, int64_t hidden, std::vector<TokenId> uncounted, ThreadPool& pool) {
  SHORTLIST_CHECK(std::is_sorted(uncounted.begin(), uncounted.end()));
  std::unique_ptr<TokenWeightPooler> pooler;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc(source.path(), [&]() -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(Checkpoint checkpoint,
                               Checkpoint::OpenStateDict(source.PathOf("sparse_linear.pt")));
    const DenseShape shape = {
        .in_features = hidden, .out_features = 1, .activation = HeadActivation::kRelu};
    SHORTLIST_ASSIGN_OR_RETURN(DenseLayer linear,
                               DenseLayer::Load(checkpoint, /*name=*/"", shape, pool));
    SHORTLIST_RETURN_IF_ERROR(checkpoint.CheckNothingUnknown());
    pooler.reset(new TokenWeightPooler(std::move(linear), std::move(uncounted)));
    return absl::OkStatus();
  }));
  return pooler;
}

std::vector<absl::StatusOr<std::vector<SparseWeight>>> TokenWeightPooler::Run(
    const HiddenStates& states, std::span<const TokenId> ids, std::span<const SparseCut> cuts,
    ThreadPool& pool) const {
  const int64_t num_seqs = states.num_seqs();
  const int64_t num_tokens = states.seq_begin.back();
  SHORTLIST_CHECK(states.hidden == linear_.shape().in_features);
  SHORTLIST_CHECK(std::ssize(ids) == num_tokens && std::ssize(cuts) == num_seqs);
  const std::vector<float> weights = linear_.Apply(
      {states.data, static_cast<size_t>(num_tokens * states.hidden)}, num_tokens, pool);

  std::vector<absl::StatusOr<std::vector<SparseWeight>>> results(num_seqs);
  const auto pool_sequence = [&](int64_t seq) -> absl::StatusOr<std::vector<SparseWeight>> {
    std::vector<SparseWeight> kept;
    SHORTLIST_RETURN_IF_ERROR(CheckStates(states, seq));
    for (int64_t token = states.seq_begin[seq]; token < states.seq_begin[seq + 1]; ++token) {
      if (!std::isfinite(weights[token])) {
        return absl::InternalError(absl::StrCat("sequence ", seq, ": the weight of token ",
                                                token - states.seq_begin[seq], " is ",
                                                weights[token]));
      }
      const bool counts = !std::binary_search(uncounted_.begin(), uncounted_.end(), ids[token]);
      if (counts && weights[token] > 0.0f) kept.push_back({ids[token], weights[token]});
    }
    // Of equal ids the largest weight comes first and is kept.
    std::sort(kept.begin(), kept.end(), [](const SparseWeight& a, const SparseWeight& b) {
      return a.id != b.id ? a.id < b.id : a.weight > b.weight;
    });
    const auto same = [](const SparseWeight& a, const SparseWeight& b) { return a.id == b.id; };
    kept.erase(std::unique(kept.begin(), kept.end(), same), kept.end());
    CutWeights(cuts[seq], kept);
    return kept;
  };
  pool.ParallelFor(num_seqs, /*grain=*/1, [&](int64_t first, int64_t last) {
    for (int64_t seq = first; seq < last; ++seq) results[seq] = pool_sequence(seq);
  });
  return results;
}

}  // namespace shortlist

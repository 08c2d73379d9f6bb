#include "cli/vocab/head_time.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "base/status_macros.h"
#include "head/cpu_head.h"
#include "head/pruned_head.h"
#include "head/row_tails.h"
#include "kernels/quant.h"

namespace shortlist {
namespace {

/// One call, ready to be repeated. Each has its own head, as engines do.
class Caller {
 public:
  static absl::StatusOr<Caller> Create(Models& models, const HeadCall& call) {
    const std::shared_ptr<const HeadRows> rows = models.head_rows();
    const HeadWeight weight = models.draft_head();
    const int64_t num_rows = rows != nullptr ? rows->NumBelow(models.num_ids())
                                             : std::min(models.num_ids(), weight.vocab_size);
    SHORTLIST_ASSIGN_OR_RETURN(PrunedHead head,
                               PrunedHead::Create(weight, num_rows, models.pool(), rows));
    return Caller(models, call, std::move(head));
  }

  absl::Status Call(const Matrix& hidden) {
    tails_.Clear(*active_);
    std::span<const int32_t> chosen;
    if (sketch_ && !active_->is_full_head()) {
      SHORTLIST_RETURN_IF_ERROR(sketch_->Choose(hidden.floats(), /*num_tokens=*/1, {}));
      chosen = sketch_->of_token(0);
    }
    tails_.Add(own_rows_, /*last=*/TokenId{0}, chosen);
    return head_.Argmax(HeadInput::Of(hidden), {*active_, tails_.of_tokens()}).status();
  }

 private:
  Caller(Models& models, const HeadCall& call, PrunedHead head)
      : head_(std::move(head)),
        active_(
            std::make_shared<const ActiveVocab>(/*version=*/1, call.base, std::vector<int32_t>())) {
    if (call.sketch != nullptr) sketch_.emplace(call.sketch, call.num_sketch_rows, models.pool());
    if (active_->is_full_head()) return;
    // Any ids outside the base, scattered as such rows are in practice.
    const int64_t num_ids = std::min(models.num_ids(), head_.vocab_size());
    const int64_t stride = std::max<int64_t>(num_ids / std::max<int64_t>(call.num_own_rows, 1), 1);
    for (int64_t first = 0; first < stride; ++first) {
      for (int64_t id = first; id < num_ids; id += stride) {
        if (std::ssize(own_rows_) == call.num_own_rows) return;
        const TokenId token{static_cast<int32_t>(id)};
        if (!active_->Contains(token) && head_.Scores(token)) own_rows_.push_back(Raw(token));
      }
    }
  }

  PrunedHead head_;
  std::shared_ptr<const ActiveVocab> active_;
  std::optional<SketchChooser> sketch_;
  std::vector<int32_t> own_rows_;
  RowTails tails_;
};

}  // namespace

absl::StatusOr<std::vector<double>> HeadMs(Models& models, const std::vector<HeadCall>& calls,
                                           int64_t num_rounds) {
  const HeadWeight weight = models.draft_head();
  const Matrix hidden(1, weight.hidden);
  std::mt19937_64 random(/*seed=*/1);
  std::normal_distribution<float> normal;
  std::generate_n(hidden.floats(), weight.hidden, [&] { return normal(random); });
  std::vector<Caller> callers;
  for (const HeadCall& call : calls) {
    SHORTLIST_ASSIGN_OR_RETURN(Caller caller, Caller::Create(models, call));
    callers.push_back(std::move(caller));
    // A copy of the base, if one is made, is made in parts over several calls.
    const int64_t bytes = call.base->size() * RowBytes(weight.dtype, weight.hidden);
    for (int64_t copied = 0; copied <= bytes; copied += CpuHead::kPackedBytesOfCall) {
      SHORTLIST_RETURN_IF_ERROR(callers.back().Call(hidden));
    }
  }
  std::vector<std::vector<double>> times(calls.size());
  for (int64_t round = 0; round < num_rounds; ++round) {
    for (size_t i = 0; i < callers.size(); ++i) {
      const auto begin = std::chrono::steady_clock::now();
      SHORTLIST_RETURN_IF_ERROR(callers[i].Call(hidden));
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - begin;
      times[i].push_back(took.count());
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& of_call : times) {
    const auto middle = of_call.begin() + std::ssize(of_call) / 2;
    std::nth_element(of_call.begin(), middle, of_call.end());
    medians.push_back(*middle);
  }
  return medians;
}

}  // namespace shortlist

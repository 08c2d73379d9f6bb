#include "head/cpu_head.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "kernels/quant.h"
#include "kernels/sampling.h"

namespace shortlist {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Makes k draws of a token with noise from the logits of its rows. Each winner leaves the race,
/// and the others repeat it with the same noise. So the draws are the first k to arrive, at any
/// distance.
void DrawRows(std::span<float> scored, const int32_t* row_ids, const HeadDraw& draw,
              uint32_t stream, int64_t k, int32_t* ids, float* logits) {
  const RaceRow row = {scored.data(), row_ids, std::ssize(scored),
                       InverseTemperature(draw.temperature)};
  for (int64_t i = 0; i < k; ++i) {
    const int64_t winner = SampleRaceCpu(row, {draw.seed, draw.position, stream});
    if (winner < 0) {
      std::fill(ids + i, ids + k, -1);
      std::fill(logits + i, logits + k, -kInfinity);
      return;
    }
    ids[i] = row_ids != nullptr ? row_ids[winner] : static_cast<int32_t>(winner);
    logits[i] = scored[winner] / draw.Divisor();
    scored[winner] = -kInfinity;
  }
}

float LogSumExpOfDivided(std::span<const float> logits, float divisor,
                         std::vector<float>& divided) {
  divided.assign(logits.begin(), logits.end());
  for (float& logit : divided) logit /= divisor;
  return static_cast<float>(LogSumExpCpu(divided.data(), std::ssize(divided)));
}

}  // namespace

void CpuHead::ToTokenIds(std::span<int32_t> rows) const {
  if (head_rows_ == nullptr) return;
  for (int32_t& row : rows) {
    if (row >= 0) row = head_rows_->ids()[row];
  }
}

/// Sets `ids` to the token ids of the rows of token m; empty if row s is token s.
void CpuHead::CopyTokenIds(const HeadArgs& args, int64_t m, std::vector<int32_t>& ids) const {
  ids.clear();
  if (args.row_ids == nullptr) {
    if (head_rows_ == nullptr) return;
    const std::span<const int32_t> all = head_rows_->ids().first(args.num_rows);
    ids.assign(all.begin(), all.end());
    return;
  }
  ids.assign(args.row_ids, args.row_ids + args.num_rows);
  if (args.tail_indptr != nullptr) {
    ids.insert(ids.end(), args.tail_ids + args.tail_indptr[m],
               args.tail_ids + args.tail_indptr[m + 1]);
  }
  ToTokenIds(ids);
}

HeadArgs CpuHead::Arguments(HeadInput hidden, const HeadSelection& selection) {
  HeadArgs args;
  args.weight = weight_.rows;
  args.dtype = weight_.dtype;
  args.vocab_size = weight_.vocab_size;
  args.hidden = weight_.hidden;
  args.x = hidden.data;
  args.num_tokens = hidden.num_tokens;
  const ActiveVocab& active = selection.active;
  if (active.is_full_head()) {
    args.num_rows = num_rows_;
    return args;
  }
  args.row_ids = active.rows().data();
  args.num_rows = active.size();
  if (head_rows_ != nullptr) {
    row_ids_.clear();
    for (const int32_t id : active.rows()) row_ids_.push_back(RowOf(id));
    args.row_ids = row_ids_.data();
  }
  if (packs_base_) {
    if (const Packed* const packed = PackedRows(active.base()); packed != nullptr) {
      args.packed = packed->rows.data();
      args.num_packed = packed->num_rows;
    }
  }
  if (!selection.tails.empty()) {
    tail_indptr_.assign(1, 0);
    tail_ids_.clear();
    for (const std::span<const int32_t> tail : selection.tails) {
      for (const int32_t id : tail) tail_ids_.push_back(RowOf(id));
      tail_indptr_.push_back(static_cast<int32_t>(tail_ids_.size()));
    }
    args.tail_indptr = tail_indptr_.data();
    args.tail_ids = tail_ids_.data();
  }
  return args;
}

const CpuHead::Packed* CpuHead::PackedRows(const std::shared_ptr<const VocabBase>& base) {
  ++num_calls_;
  const auto packed = std::find_if(packed_.begin(), packed_.end(),
                                   [&](const Packed& kept) { return kept.base == base; });
  if (packed != packed_.end()) {
    packed->last_call = num_calls_;
    PackMore(*packed);
    return &*packed;
  }
  if (base->size() == 0) return nullptr;
  std::erase_if(packed_, [](const Packed& kept) { return kept.base.use_count() == 1; });
  if (std::ssize(packed_) == kMaxPacked) {
    // More bases are in use than there is room for. The others are read in place, since a copy for
    // each call costs more.
    const auto oldest = std::min_element(
        packed_.begin(), packed_.end(),
        [](const Packed& a, const Packed& b) { return a.last_call < b.last_call; });
    if (num_calls_ - oldest->last_call < kCallsInUse) return nullptr;
    packed_.erase(oldest);
  }
  const int64_t row_bytes = RowBytes(weight_.dtype, weight_.hidden);
  ++num_packings_;
  packed_.push_back(Packed{base, Arena(base->size() * row_bytes), /*num_rows=*/0, num_calls_});
  PackMore(packed_.back());
  return &packed_.back();
}

/// Copies a part of a new base: a small cost for each call instead of a large one for one call.
void CpuHead::PackMore(Packed& packed) const {
  const std::span<const int32_t> ids = packed.base->ids();
  const int64_t row_bytes = RowBytes(weight_.dtype, weight_.hidden);
  const int64_t end = std::min<int64_t>(
      std::ssize(ids), packed.num_rows + std::max<int64_t>(kPackedBytesOfCall / row_bytes, 1));
  const char* const from = static_cast<const char*>(weight_.rows);
  char* const to = static_cast<char*>(packed.rows.data());
  for (; packed.num_rows < end; ++packed.num_rows) {
    std::memcpy(to + packed.num_rows * row_bytes, from + RowOf(ids[packed.num_rows]) * row_bytes,
                row_bytes);
  }
}

absl::Status CpuHead::Logits(HeadInput hidden, const HeadSelection& selection,
                             std::vector<float>& logits, int64_t& stride) {
  const HeadArgs args = Arguments(hidden, selection);
  stride = HeadMaxRows(args);
  const auto size = static_cast<size_t>(args.num_tokens * stride);
  if (logits.size() < size) logits.resize(size);
  HeadLogitsCpu(args, logits.data(), stride, pool_);
  return absl::OkStatus();
}

absl::Status CpuHead::TopK(HeadInput hidden, const HeadSelection& selection, int64_t k,
                           const HeadDraws& draws, int32_t* ids, float* logits,
                           float* log_sum_exp) {
  const HeadArgs args = Arguments(hidden, selection);
  const auto has_noise = [](const HeadDraw& draw) { return draw.temperature > 0.0; };
  if (std::ranges::any_of(draws.of_tokens, has_noise)) {
    Draw(args, k, draws, ids, logits, log_sum_exp);
    return absl::OkStatus();
  }
  if (k == 1 && log_sum_exp == nullptr) {
    HeadArgmaxCpu(args, ids, logits, pool_);
  } else {
    sums_.resize(args.num_tokens);
    HeadTopKCpu(args, k, ids, logits, log_sum_exp != nullptr ? log_sum_exp : sums_.data(), pool_);
  }
  ToTokenIds({ids, static_cast<size_t>(args.num_tokens * k)});
  return absl::OkStatus();
}

void CpuHead::Draw(const HeadArgs& args, int64_t k, const HeadDraws& draws, int32_t* ids,
                   float* logits, float* log_sum_exp) {
  const int64_t stride = HeadMaxRows(args);
  const auto size = static_cast<size_t>(args.num_tokens * stride);
  if (scored_.size() < size) scored_.resize(size);
  HeadLogitsCpu(args, scored_.data(), stride, pool_);
  pool_.ParallelFor(args.num_tokens, /*grain=*/1, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> row_ids;
    std::vector<float> divided;
    for (int64_t m = begin; m < end; ++m) {
      const HeadDraw& draw = draws.of_tokens[m];
      float* const row = scored_.data() + m * stride;
      float sum = 0.0f;
      if (draw.temperature > 0.0) {
        CopyTokenIds(args, m, row_ids);
        const std::span<float> scored(row, row_ids.empty() ? args.num_rows : row_ids.size());
        if (log_sum_exp != nullptr) sum = LogSumExpOfDivided(scored, draw.Divisor(), divided);
        DrawRows(scored, row_ids.empty() ? nullptr : row_ids.data(), draw, draws.stream, k,
                 ids + m * k, logits + m * k);
      } else {
        HeadTopKOfLogitsCpu(args, m, row, k, ids + m * k, logits + m * k, &sum);
        ToTokenIds({ids + m * k, static_cast<size_t>(k)});
      }
      if (log_sum_exp != nullptr) log_sum_exp[m] = sum;
    }
  });
}

absl::Status CpuHead::RowLogits(HeadInput hidden, std::span<const TokenId> ids, float* logits) {
  const char* rows = static_cast<const char*>(weight_.rows);
  const int64_t row_bytes = RowBytes(weight_.dtype, weight_.hidden);
  for (size_t m = 0; m < ids.size(); ++m) {
    logits[m] = HeadDotCpu(rows + RowOf(Raw(ids[m])) * row_bytes, weight_.dtype,
                           hidden.data + static_cast<int64_t>(m) * weight_.hidden, weight_.hidden);
  }
  return absl::OkStatus();
}

}  // namespace shortlist

#include "sketch/sketch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/status_macros.h"
#include "kernels/quant.h"
#include "kernels/sketch_rank.h"

namespace shortlist {
namespace {

// Maximum error of a basis's probes, as a share of their length. The head's rows in int4 have an
// error of a tenth, another head's of more than 1.
constexpr double kMostProbeError = 0.4;

absl::Status CheckProbes(const SketchBasis& basis, const Matrix& projected, int64_t num_rows) {
  double error = 0.0, length = 0.0;
  for (size_t i = 0; i < basis.probe_ids.size(); ++i) {
    const int64_t id = basis.probe_ids[i];
    if (id >= num_rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("sketch of another head: it has a row ", id, ", this one ", num_rows));
    }
    for (int64_t k = 0; k < basis.rank(); ++k) {
      const double of_head = projected.floats()[k * num_rows + id];
      const double of_basis = basis.probes.floats()[i * basis.rank() + k];
      error += (of_head - of_basis) * (of_head - of_basis);
      length += of_basis * of_basis;
    }
  }
  if (error <= kMostProbeError * kMostProbeError * length) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("sketch of another head: its rows are off by ",
                                                 std::sqrt(error / length),
                                                 " of their length, more than ", kMostProbeError));
}

constexpr float kMostCode = 7.0f;

/// Subtracts its mean from each row of `projected`: a term common to all rows of the head does not
/// change their order.
void Centre(const Matrix& projected) {
  const int64_t count = projected.cols();
  for (int64_t k = 0; k < projected.rows(); ++k) {
    float* const values = projected.floats() + k * count;
    const double sum = std::accumulate(values, values + count, 0.0);
    const auto mean = static_cast<float>(sum / static_cast<double>(count));
    std::transform(values, values + count, values, [mean](float value) { return value - mean; });
  }
}

absl::Status CheckRows(const Matrix& projected) {
  const int64_t num_rows = projected.cols();
  const float* const values = projected.floats();
  for (int64_t i = 0; i < projected.num_elements(); ++i) {
    // Centring at most doubles a value, and a scale is a seventh of the largest one.
    if (std::abs(values[i]) <= kMaxSketchScale) continue;
    return absl::InvalidArgumentError(absl::StrCat("sketch: row ", i % num_rows,
                                                   " of the head comes to ", values[i],
                                                   ", not within ", kMaxSketchScale));
  }
  return absl::OkStatus();
}

/// Scale of dimensions first .. first + count - 1 of a row.
struct RowScale {
  RowScale(const Matrix& projected, int64_t row, int64_t first, int64_t count)
      : values(projected.floats() + first * projected.cols() + row), stride(projected.cols()) {
    float largest = 0.0f;
    for (int64_t k = 0; k < count; ++k) largest = std::max(largest, std::abs(values[k * stride]));
    bits = FloatToBf16(largest / kMostCode);
    scale = Bf16ToFloat(bits);
  }

  /// Returns the stored code of dimension k.
  int CodeAt(int64_t k) const {
    const float code = scale > 0.0f ? std::nearbyint(values[k * stride] / scale) : 0.0f;
    return static_cast<int>(std::clamp(code, -kMostCode, kMostCode)) + 8;
  }

  const float* const values;
  const int64_t stride;
  uint16_t bits;
  float scale;
};

// The reciprocal share of rows whose further dimensions are read.
constexpr int64_t kCandidateShare = 8;
// With fewer first dimensions too many of the best rows are lost.
constexpr int64_t kLeastFirstRank = 24;

/// Number of dimensions stored for all rows; there are kSketchFineRank others, or none.
int64_t FirstRank(int64_t rank) {
  return rank >= kLeastFirstRank + kSketchFineRank ? rank - kSketchFineRank : rank;
}
int64_t CandidatesOf(int64_t num_rows, int64_t num_ranked) {
  return std::clamp(num_rows / kCandidateShare, num_ranked, num_rows);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Sketch>> Sketch::Create(const SketchBasis& basis,
                                                             const HeadWeight& head,
                                                             int64_t num_rows, ThreadPool& pool) {
  if (basis.hidden() != head.hidden) {
    return absl::InvalidArgumentError(absl::StrCat("sketch of another head: of hidden states of ",
                                                   basis.hidden(), ", not ", head.hidden));
  }
  std::shared_ptr<Sketch> sketch(new Sketch());
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc("sketch", [&]() -> absl::Status {
    const int64_t rank = basis.rank();
    const Matrix projected = ProjectRows(head, num_rows, basis.rows, pool);
    SHORTLIST_RETURN_IF_ERROR(CheckProbes(basis, projected, num_rows));
    SHORTLIST_RETURN_IF_ERROR(CheckRows(projected));
    Centre(projected);

    sketch->rank_ = rank;
    sketch->hidden_ = basis.hidden();
    sketch->num_rows_ = num_rows;
    sketch->num_states_ = basis.num_states;
    sketch->states_ = basis.states;
    sketch->has_fine_ = FirstRank(rank) < rank;
    sketch->FillRows(projected);
    if (sketch->has_fine_) sketch->FillFine(projected);
    return absl::OkStatus();
  }));
  return sketch;
}

void Sketch::FillRows(const Matrix& projected) {
  const int64_t rank = FirstRank(rank_);
  const int64_t padded = rows().num_panels() * kSketchPanelRows;
  codes_ = Arena(padded * rank / 2);
  scales_ = Arena(padded * static_cast<int64_t>(sizeof(uint16_t)));
  auto* const codes = static_cast<uint8_t*>(codes_.data());
  auto* const scales = static_cast<uint16_t*>(scales_.data());
  for (int64_t row = 0; row < num_rows_; ++row) {
    const RowScale scale(projected, row, /*first=*/0, rank);
    scales[row] = scale.bits;
    uint8_t* const panel = codes + row / kSketchPanelRows * kSketchPanelRows * rank / 2;
    for (int64_t k = 0; k < rank; ++k) {
      const int64_t word = k / kSketchStep * kSketchPanelRows + row % kSketchPanelRows;
      const int shift = k % kSketchStep < 4 ? 0 : 4;
      panel[word * 4 + k % 4] |= static_cast<uint8_t>(scale.CodeAt(k) << shift);  // zero before
    }
  }
}

void Sketch::FillFine(const Matrix& projected) {
  fine_codes_ = Arena(num_rows_ * kSketchFineRank / 2);
  fine_scales_ = Arena(num_rows_ * static_cast<int64_t>(sizeof(uint16_t)));
  auto* codes = static_cast<uint8_t*>(fine_codes_.data());
  auto* const scales = static_cast<uint16_t*>(fine_scales_.data());
  for (int64_t row = 0; row < num_rows_; ++row, codes += kSketchFineRank / 2) {
    const RowScale scale(projected, row, FirstRank(rank_), kSketchFineRank);
    scales[row] = scale.bits;
    for (int64_t k = 0; k < kSketchFineRank; ++k) {
      const int shift = k % kSketchStep < 4 ? 0 : 4;
      codes[k / kSketchStep * 4 + k % 4] |= static_cast<uint8_t>(scale.CodeAt(k) << shift);
    }
  }
}

SketchRows Sketch::rows() const {
  return {static_cast<const uint8_t*>(codes_.data()), static_cast<const uint16_t*>(scales_.data()),
          num_rows_, FirstRank(rank_)};
}

SketchFine Sketch::fine() const {
  return {static_cast<const uint8_t*>(fine_codes_.data()),
          static_cast<const uint16_t*>(fine_scales_.data())};
}

int64_t Sketch::NumCandidates(int64_t num_ranked) const {
  return has_fine_ ? CandidatesOf(num_rows_, num_ranked) : num_ranked;
}

int64_t Sketch::Bytes(int64_t num_rows, int64_t rank, int64_t hidden) {
  const int64_t num_panels = (num_rows + kSketchPanelRows - 1) / kSketchPanelRows;
  const auto scale_bytes = static_cast<int64_t>(sizeof(uint16_t));
  const int64_t num_fine = FirstRank(rank) < rank ? CandidatesOf(num_rows, /*num_ranked=*/0) : 0;
  return num_panels * kSketchPanelRows * (FirstRank(rank) / 2 + scale_bytes) +
         num_fine * (kSketchFineRank / 2 + scale_bytes) +
         rank * hidden * static_cast<int64_t>(sizeof(float));
}

bool Sketch::Halves(const HeadWeight& head, int64_t num_rows, int64_t num_scored) {
  const int64_t row_bytes = RowBytes(head.dtype, head.hidden);
  const int64_t rank = SketchBasis::DefaultRank(head.hidden);
  return Bytes(num_rows, rank, head.hidden) + num_scored * row_bytes <=
         head.vocab_size * row_bytes / 2;
}

SketchChooser::SketchChooser(std::shared_ptr<const Sketch> sketch, int64_t num_ranked,
                             ThreadPool& pool, std::shared_ptr<const HeadOnDevice> device)
    : sketch_(std::move(sketch)),
      num_ranked_(std::min(num_ranked, sketch_->rows().num_rows)),
      num_candidates_(sketch_->NumCandidates(num_ranked_)),
      num_chosen_(num_ranked_),
      pool_(pool),
      device_(std::move(device)) {}

void SketchChooser::set_num_chosen(int64_t num_rows) {
  num_chosen_ = std::clamp<int64_t>(num_rows, 1, num_ranked_);
}

absl::Status SketchChooser::Choose(const float* hidden, int64_t num_tokens,
                                   std::span<const SketchRace> races) {
  const auto size = static_cast<size_t>(num_tokens);
  const SketchRows rows = sketch_->rows();
  const auto grow = [size](auto& values, int64_t of_token) {
    if (values.size() < size * of_token) values.resize(size * of_token);
  };
  grow(queries_, rows.rank);
  grow(ids_, num_ranked_);
  grow(keys_, num_ranked_);
  HeadArgs args;
  args.weight = sketch_->states();
  args.vocab_size = args.num_rows = rows.rank;
  args.hidden = sketch_->hidden();
  args.x = hidden;
  args.num_tokens = num_tokens;
  HeadLogitsCpu(args, queries_.data(), rows.rank, pool_);
  if (sketch_->has_fine()) {
    grow(fine_queries_, kSketchFineRank);
    grow(candidate_ids_, num_candidates_);
    grow(candidate_keys_, num_candidates_);
    args.weight = sketch_->states() + rows.rank * sketch_->hidden();
    args.vocab_size = args.num_rows = kSketchFineRank;
    HeadLogitsCpu(args, fine_queries_.data(), kSketchFineRank, pool_);
  }
  std::vector<int32_t>& ids = sketch_->has_fine() ? candidate_ids_ : ids_;
  std::vector<uint32_t>& keys = sketch_->has_fine() ? candidate_keys_ : keys_;
  const SketchRace* const given = races.empty() ? nullptr : races.data();
  SHORTLIST_RETURN_IF_ERROR(RankAll(given, num_tokens, ids.data(), keys.data()));
  if (!sketch_->has_fine()) return absl::OkStatus();
  SketchRefineCpu(rows, sketch_->fine(), queries_.data(), fine_queries_.data(), given, num_tokens,
                  num_candidates_, ids.data(), keys.data(), num_ranked_, ids_.data(), keys_.data(),
                  pool_);
  return absl::OkStatus();
}

absl::Status SketchChooser::RankAll(const SketchRace* races, int64_t num_tokens, int32_t* ids,
                                    uint32_t* keys) {
  const SketchRows rows = sketch_->rows();
  if (device_ == nullptr) {
    SketchRankCpu(rows, queries_.data(), races, num_tokens, num_candidates_, ids, keys, pool_);
    return absl::OkStatus();
  }
  if (ranker_ == nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(ranker_, device_->NewSketchRanker(rows));
  }
  return ranker_->Rank(queries_.data(), races, num_tokens, num_candidates_, ids, keys);
}

SketchChooser::Ranked SketchChooser::ranked_of_token(int64_t m) const {
  return {std::span(ids_).subspan(m * num_ranked_, num_ranked_),
          std::span(keys_).subspan(m * num_ranked_, num_ranked_)};
}

std::span<const int32_t> SketchChooser::of_token(int64_t m) {
  const Ranked all = ranked_of_token(m);
  if (num_chosen_ == num_ranked_) return all.ids;
  order_.assign(all.keys.begin(), all.keys.end());
  const auto last = order_.begin() + num_chosen_ - 1;
  std::nth_element(order_.begin(), last, order_.end(), std::greater<>());
  const uint32_t least = *last;
  int64_t num_ties = num_chosen_ - std::count_if(order_.begin(), last,
                                                 [least](uint32_t key) { return key > least; });
  chosen_.clear();
  for (int64_t i = 0; i < num_ranked_; ++i) {
    if (all.keys[i] > least || (all.keys[i] == least && num_ties-- > 0)) {
      chosen_.push_back(all.ids[i]);
    }
  }
  return chosen_;
}

}  // namespace shortlist

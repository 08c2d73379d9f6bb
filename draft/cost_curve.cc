#include "draft/cost_curve.h"

#include <algorithm>
#include <cmath>

namespace shortlist {
namespace {

constexpr int64_t kMaxRows = 4096;
// Weight of a pass, per pass since the last one of that size.
constexpr double kRate = 1.0 / 64;
constexpr double kLeastRate = 1.0 / 24;
constexpr double kMostRate = 0.25;
// If only one number of rows is measured, each further row is assumed to cost this share of an
// average row.
constexpr double kUnknownSlope = 1.0 / 16;

}  // namespace

CostCurve::CostCurve() {
  // Each number up to 8 has its own knot; above 8, each octave has four.
  for (int64_t rows = 1; rows <= kMaxRows;) {
    knots_.push_back({rows});
    int64_t octave = 1;
    while (octave * 2 <= rows) octave *= 2;
    rows += std::max<int64_t>(1, octave / 4);
  }
}

void CostCurve::Add(int64_t num_rows, double ms) {
  if (num_rows < 1 || !(ms > 0.0) || !std::isfinite(ms)) return;
  const auto after = std::ranges::upper_bound(knots_, num_rows, {}, &Knot::rows);
  Knot& knot = *std::prev(after);
  if (num_passes_++ == 0) {
    knot = {knot.rows, 1, num_passes_, ms};
    return Fit();
  }
  ms = std::min(ms, kHeldUp * Of(num_rows));
  const auto since = static_cast<double>(num_passes_ - knot.latest);
  const double rate = std::max(1.0 / static_cast<double>(++knot.num_passes),
                               std::clamp(kRate * since, kLeastRate, kMostRate));
  knot.ms += (ms - knot.ms) * rate;
  knot.latest = num_passes_;
  Fit();
}

/// Pool adjacent violators (Ayer et al. 1955): neighbouring levels out of order share their mean.
void CostCurve::Fit() {
  constexpr int64_t kMostWeight = 64;
  levels_.clear();
  for (const Knot& knot : knots_) {
    if (knot.num_passes == 0) continue;
    Level level = {knot.rows, knot.rows,
                   static_cast<double>(std::min(knot.num_passes, kMostWeight)), knot.ms};
    while (!levels_.empty() && levels_.back().ms >= level.ms) {
      const Level& before = levels_.back();
      const double weight = before.weight + level.weight;
      level = {before.first_rows, level.last_rows, weight,
               (before.ms * before.weight + level.ms * level.weight) / weight};
      levels_.pop_back();
    }
    levels_.push_back(level);
  }
}

double CostCurve::Of(int64_t num_rows) const {
  if (num_passes_ == 0) return 0.0;
  num_rows = std::max<int64_t>(num_rows, 1);
  const auto rows = static_cast<double>(num_rows);
  const Level* below = nullptr;
  for (const Level& level : levels_) {
    if (num_rows < level.first_rows) {
      if (below == nullptr) return level.ms;
      const auto from = static_cast<double>(below->last_rows);
      const double share = (rows - from) / (static_cast<double>(level.first_rows) - from);
      return below->ms + (level.ms - below->ms) * share;
    }
    if (num_rows <= level.last_rows) return level.ms;
    below = &level;
  }
  const Level& first = levels_.front();
  const auto from = static_cast<double>(below->last_rows);
  const double slope = below != &first
                           ? (below->ms - first.ms) / (from - static_cast<double>(first.last_rows))
                           : kUnknownSlope * below->ms / from;
  return below->ms + slope * (rows - from);
}

}  // namespace shortlist

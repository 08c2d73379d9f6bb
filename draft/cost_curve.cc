#include "draft/cost_curve.h"

#include <algorithm>
#include <cmath>

namespace shortlist {
namespace {

constexpr int64_t kMaxRows = 4096;
// Late passes count most: the scale follows in some tens of steps, the shape in some hundreds.
constexpr double kScaleRate = 1.0 / 16;
constexpr double kShapeRate = 1.0 / 64;
// Of one measured number of rows alone nothing is known of more rows but that they cost more: so
// much of a row each.
constexpr double kUnknownSlope = 1.0 / 16;

}  // namespace

CostCurve::CostCurve() {
  // Each number up to 8 has a knot of its own, then four to an octave.
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
    knot = {knot.rows, 1, ms};
    return Fit();
  }
  const double expected = Of(num_rows);
  const double seen = std::min(ms, kHeldUp * expected);
  const double shape = seen / scale_;
  // The first passes of a knot are its average; they say little of the scale.
  const double rate = std::max(1.0 / static_cast<double>(++knot.num_passes), kShapeRate);
  if (knot.num_passes > 2) scale_ *= 1.0 + kScaleRate * (seen / expected - 1.0);
  knot.shape += (shape - knot.shape) * rate;
  Fit();
}

/// Pool adjacent violators (Ayer et al. 1955): neighbours that would fall share their mean.
void CostCurve::Fit() {
  constexpr int64_t kMostWeight = 64;
  levels_.clear();
  for (const Knot& knot : knots_) {
    if (knot.num_passes == 0) continue;
    Level level = {knot.rows, knot.rows,
                   static_cast<double>(std::min(knot.num_passes, kMostWeight)), knot.shape};
    while (!levels_.empty() && levels_.back().shape >= level.shape) {
      const Level& before = levels_.back();
      const double weight = before.weight + level.weight;
      level = {before.first_rows, level.last_rows, weight,
               (before.shape * before.weight + level.shape * level.weight) / weight};
      levels_.pop_back();
    }
    levels_.push_back(level);
  }
}

double CostCurve::ShapeOf(int64_t num_rows) const {
  const auto rows = static_cast<double>(num_rows);
  const Level* below = nullptr;
  for (const Level& level : levels_) {
    if (num_rows < level.first_rows) {
      if (below == nullptr) return level.shape;
      const auto from = static_cast<double>(below->last_rows);
      const double share = (rows - from) / (static_cast<double>(level.first_rows) - from);
      return below->shape + (level.shape - below->shape) * share;
    }
    if (num_rows <= level.last_rows) return level.shape;
    below = &level;
  }
  const Level& first = levels_.front();
  const auto from = static_cast<double>(below->last_rows);
  const double slope =
      below != &first ? (below->shape - first.shape) / (from - static_cast<double>(first.last_rows))
                      : kUnknownSlope * below->shape / from;
  return below->shape + slope * (rows - from);
}

double CostCurve::Of(int64_t num_rows) const {
  return num_passes_ == 0 ? 0.0 : scale_ * ShapeOf(std::max<int64_t>(num_rows, 1));
}

}  // namespace shortlist

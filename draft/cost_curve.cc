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
    return;
  }
  const double expected = Of(num_rows);
  const double seen = std::min(ms, kHeldUp * expected);
  const double shape = seen / scale_;
  // The first passes of a knot are its average; they say little of the scale.
  const double rate = std::max(1.0 / static_cast<double>(++knot.num_passes), kShapeRate);
  if (knot.num_passes > 2) scale_ *= 1.0 + kScaleRate * (seen / expected - 1.0);
  knot.shape += (shape - knot.shape) * rate;
}

double CostCurve::ShapeOf(int64_t num_rows) const {
  const auto rows = static_cast<double>(num_rows);
  double below = 0.0, below_rows = 0.0, first = 0.0, first_rows = 0.0;
  for (const Knot& knot : knots_) {
    if (knot.num_passes == 0) continue;
    const auto at = static_cast<double>(knot.rows);
    const double shape = std::max(knot.shape, below);
    if (first == 0.0) first = shape, first_rows = at;
    if (at >= rows) {
      if (below == 0.0) return shape;
      return below + (shape - below) * (rows - below_rows) / (at - below_rows);
    }
    below = shape, below_rows = at;
  }
  const double slope = below_rows > first_rows ? (below - first) / (below_rows - first_rows)
                                               : kUnknownSlope * below / below_rows;
  return below + slope * (rows - below_rows);
}

double CostCurve::Of(int64_t num_rows) const {
  return num_passes_ == 0 ? 0.0 : scale_ * ShapeOf(std::max<int64_t>(num_rows, 1));
}

}  // namespace shortlist

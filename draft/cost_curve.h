#ifndef SHORTLIST_DRAFT_COST_CURVE_H_
#define SHORTLIST_DRAFT_COST_CURVE_H_

#include <cstdint>
#include <vector>

namespace shortlist {

/// Milliseconds of a pass by its number of rows, learned from passes.
///
/// Each number of rows (from 8 on: each quarter of an octave) has an average of its late passes.
/// The machine, its neighbours and the length of the context change; so a pass counts the more, the
/// longer ago such rows were met.
///
/// A pure function of what it is told: no clock, no randomness. Used by one thread.
class CostCurve {
 public:
  CostCurve();

  /// A pass over `num_rows` rows took `ms`. A pass that took kHeldUp times what was expected, or
  /// more, was held up (the process was stopped, say): it counts as kHeldUp times. Ignored unless
  /// num_rows >= 1 and ms is positive and finite.
  void Add(int64_t num_rows, double ms);

  /// Expected milliseconds; never falls as rows grow (isotonic regression, weighted by passes).
  /// Between measured numbers of rows it is a line; above the largest, the line goes on; below the
  /// least it is flat. 0 before any pass.
  double Of(int64_t num_rows) const;

  bool empty() const { return num_passes_ == 0; }

  static constexpr double kHeldUp = 3.0;

 private:
  struct Knot {
    int64_t rows;
    int64_t num_passes = 0;
    int64_t latest = 0;  // which pass of all
    double ms = 0.0;
  };
  struct Level {
    int64_t first_rows, last_rows;  // of the knots that share it
    double weight, ms;
  };
  void Fit();

  std::vector<Knot> knots_;    // by rows, rising
  std::vector<Level> levels_;  // of the measured knots, rising
  int64_t num_passes_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_COST_CURVE_H_

#ifndef SHORTLIST_DRAFT_COST_CURVE_H_
#define SHORTLIST_DRAFT_COST_CURVE_H_

#include <cstdint>
#include <vector>

namespace shortlist {

/// Milliseconds of a pass by its number of rows, learned from passes.
///
/// Each number of rows (from 8 on: each quarter of an octave) has a moving average of its recent
/// passes. The load of the machine and the context length change. A pass therefore has the more
/// weight, the longer ago the previous pass of that size was.
///
/// A pure function of its input: no clock, no randomness. Used by one thread.
class CostCurve {
 public:
  CostCurve();

  /// Records that a pass over `num_rows` rows took `ms`. A pass that took at least kHeldUp times
  /// the expected time (for instance because the process was stopped) counts as kHeldUp times.
  /// Ignored unless num_rows >= 1 and ms is positive and finite.
  void Add(int64_t num_rows, double ms);

  /// Expected milliseconds; never falls as rows grow (isotonic regression, weighted by passes).
  /// Linear between measured numbers of rows and beyond the largest; constant below the smallest. 0
  /// before any pass.
  double Of(int64_t num_rows) const;

  bool empty() const { return num_passes_ == 0; }

  static constexpr double kHeldUp = 3.0;

 private:
  struct Knot {
    int64_t rows;
    int64_t num_passes = 0;
    int64_t latest = 0;  // number of the latest pass, counted over all knots
    double ms = 0.0;
  };
  struct Level {
    int64_t first_rows, last_rows;  // of the knots merged into this level
    double weight, ms;
  };
  void Fit();

  std::vector<Knot> knots_;    // by rows, ascending
  std::vector<Level> levels_;  // of the measured knots, ascending
  int64_t num_passes_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_COST_CURVE_H_

#ifndef SHORTLIST_CLI_VOCAB_CURVE_PLOT_H_
#define SHORTLIST_CLI_VOCAB_CURVE_PLOT_H_

#include <string>
#include <utility>
#include <vector>

namespace shortlist {

/// A line of a plot.
struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // finite, ascending in x
};

/// What stands above a plot and along its axes.
struct PlotTitles {
  std::string plot, x, y;
};

/// Values at which an axis from `low` to `high` is marked: multiples of 1, 2 or 5 times a power of
/// ten, at most nine of them, the first at most `low` and the last at least `high`. Where both are
/// equal, values around them. Precondition: both are finite, low <= high.
std::vector<double> RoundTicks(double low, double high);

/// An SVG document of some curves, each with its points marked and its name beside it.
std::string CurvePlot(const PlotTitles& titles, const std::vector<Curve>& curves);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_CURVE_PLOT_H_

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

/// Titles of a plot and of its axes.
struct PlotTitles {
  std::string plot, x, y;
};

/// Returns tick values for an axis from `low` to `high`: multiples of 1, 2 or 5 times a power of
/// ten, at most nine, the first at most `low` and the last at least `high`. If both are equal,
/// values around them. Precondition: both are finite, low <= high.
std::vector<double> RoundTicks(double low, double high);

/// Returns an SVG document of curves, each with marked points and its name next to it.
std::string CurvePlot(const PlotTitles& titles, const std::vector<Curve>& curves);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_CURVE_PLOT_H_

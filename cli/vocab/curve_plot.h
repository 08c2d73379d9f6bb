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

/// An SVG document of some curves, each with its points marked and its name beside it.
std::string CurvePlot(const std::string& x_title, const std::string& y_title,
                      const std::vector<Curve>& curves);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_CURVE_PLOT_H_

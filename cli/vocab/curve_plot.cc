#include "cli/vocab/curve_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace shortlist {
namespace {

constexpr double kWidth = 760, kHeight = 420, kLeft = 70, kRight = 210, kTop = 40, kBottom = 50;
constexpr std::array kColours = {"#1b6ca8", "#c0392b", "#27803b", "#8e44ad", "#d38b00", "#2c3e50"};

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

/// Values of one axis and their positions in the drawing.
struct Axis {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double from = 0, to = 0;  // positions of the first and the last tick
  std::vector<double> ticks;

  void Include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void MakeTicks() { ticks = low <= high ? RoundTicks(low, high) : RoundTicks(0, 1); }
  double Place(double value) const {
    return from + (value - ticks.front()) / (ticks.back() - ticks.front()) * (to - from);
  }
};

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                         Escaped(text));
}

/// A line across the plot at each tick, and the tick's value outside.
std::string Grid(const Axis& x, const Axis& y) {
  std::string svg;
  for (const double tick : y.ticks) {
    const double at = y.Place(tick);
    absl::StrAppend(
        &svg, absl::StrFormat("<path d=\"M%.1f %.1fH%.1f\" stroke=\"#ddd\"/>\n", x.from, at, x.to),
        Text(x.from - 6, at + 4, "end", absl::StrFormat("%.10g", tick)));
  }
  for (const double tick : x.ticks) {
    const double at = x.Place(tick);
    absl::StrAppend(
        &svg, absl::StrFormat("<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ddd\"/>\n", at, y.from, y.to),
        Text(at, y.from + 16, "middle", absl::StrFormat("%.10g", tick)));
  }
  return svg;
}

std::string Titles(const PlotTitles& titles, const Axis& x, const Axis& y) {
  const double middle = (x.from + x.to) / 2;
  return absl::StrCat(
      absl::StrFormat("<title>%s</title>\n<g font-size=\"15\" font-weight=\"bold\">",
                      Escaped(titles.plot)),
      Text(middle, 22, "middle", titles.plot), "</g>\n",
      Text(middle, kHeight - 12, "middle", titles.x),
      absl::StrFormat("<text transform=\"translate(16 %.1f) rotate(-90)\" "
                      "text-anchor=\"middle\">%s</text>\n",
                      (y.from + y.to) / 2, Escaped(titles.y)));
}

}  // namespace

std::vector<double> RoundTicks(double low, double high) {
  constexpr double kMostSteps = 7;
  if (high <= low) {
    const double margin = low == 0 ? 1 : 0.1 * std::abs(low);
    low -= margin;
    high += margin;
  }
  // The smallest of 1, 2, 5, 10, ... times a power of ten that gives no more steps than that.
  const double power = std::pow(10, std::floor(std::log10((high - low) / kMostSteps)));
  double step = power;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = factor * power;
    if (std::ceil(high / step) - std::floor(low / step) <= kMostSteps) break;
  }
  std::vector<double> ticks;
  for (double i = std::floor(low / step); i <= std::ceil(high / step); ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

std::string CurvePlot(const PlotTitles& titles, const std::vector<Curve>& curves) {
  Axis x{.from = kLeft, .to = kWidth - kRight}, y{.from = kHeight - kBottom, .to = kTop};
  for (const Curve& curve : curves) {
    for (const auto& [at_x, at_y] : curve.points) {
      x.Include(at_x);
      y.Include(at_y);
    }
  }
  x.MakeTicks();
  y.MakeTicks();
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
      "fill=\"white\"/>\n",
      kWidth, kHeight);
  svg += Titles(titles, x, y) + Grid(x, y);
  for (size_t i = 0; i < curves.size(); ++i) {
    const char* const colour = kColours[i % kColours.size()];
    std::string path, dots;
    for (const auto& [at_x, at_y] : curves[i].points) {
      const double px = x.Place(at_x), py = y.Place(at_y);
      absl::StrAppend(&path, path.empty() ? "M" : "L", absl::StrFormat("%.1f %.1f", px, py));
      absl::StrAppend(&dots, absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", px, py));
    }
    absl::StrAppend(&svg, "<g stroke=\"", colour, "\" fill=\"", colour, "\"><path d=\"",
                    path.empty() ? "M0 0" : path, "\" fill=\"none\" stroke-width=\"2\"/>", dots,
                    "</g>\n");
    const double legend_y = kTop + 14 + 18 * static_cast<double>(i);
    absl::StrAppend(&svg,
                    absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" "
                                    "fill=\"%s\"/>\n",
                                    x.to + 12, legend_y - 9, colour),
                    Text(x.to + 28, legend_y, "start", curves[i].name));
  }
  return svg + "</svg>\n";
}

}  // namespace shortlist

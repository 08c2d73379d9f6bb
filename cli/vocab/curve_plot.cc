#include "cli/vocab/curve_plot.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace shortlist {
namespace {

constexpr double kWidth = 760, kHeight = 420, kLeft = 70, kRight = 210, kTop = 20, kBottom = 50;
constexpr int kNumTicks = 5;
constexpr std::array kColours = {"#1b6ca8", "#c0392b", "#27803b", "#8e44ad", "#d38b00", "#2c3e50"};

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

/// Values of one axis and where they are drawn.
struct Axis {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double from = 0, to = 0;  // places of low and high

  void Include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// One value, or none, has room about it too.
  void Widen() {
    if (low > high) low = high = 0;
    const double margin = high > low ? 0.05 * (high - low) : 1;
    low -= margin;
    high += margin;
  }
  double Place(double value) const { return from + (value - low) / (high - low) * (to - from); }
  double Tick(int i) const { return low + (high - low) * i / (kNumTicks - 1); }
};

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                         Escaped(text));
}

std::string Frame(const Axis& x, const Axis& y, const std::string& x_title,
                  const std::string& y_title) {
  std::string svg;
  for (int i = 0; i < kNumTicks; ++i) {
    const double at_x = x.Place(x.Tick(i)), at_y = y.Place(y.Tick(i));
    absl::StrAppend(
        &svg,
        absl::StrFormat("<path d=\"M%.1f %.1fH%.1fM%.1f %.1fV%.1f\" stroke=\"#ddd\"/>\n", x.from,
                        at_y, x.to, at_x, y.from, y.to),
        Text(x.from - 6, at_y + 4, "end", absl::StrFormat("%.1f", y.Tick(i))),
        Text(at_x, y.from + 16, "middle", absl::StrFormat("%.0f", x.Tick(i))));
  }
  absl::StrAppend(&svg, Text((x.from + x.to) / 2, kHeight - 12, "middle", x_title),
                  absl::StrFormat("<text transform=\"translate(16 %.1f) rotate(-90)\" "
                                  "text-anchor=\"middle\">%s</text>\n",
                                  (y.from + y.to) / 2, Escaped(y_title)));
  return svg;
}

}  // namespace

std::string CurvePlot(const std::string& x_title, const std::string& y_title,
                      const std::vector<Curve>& curves) {
  Axis x{.from = kLeft, .to = kWidth - kRight}, y{.from = kHeight - kBottom, .to = kTop};
  for (const Curve& curve : curves) {
    for (const auto& [at_x, at_y] : curve.points) {
      x.Include(at_x);
      y.Include(at_y);
    }
  }
  x.Widen();
  y.Widen();
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
      "fill=\"white\"/>\n",
      kWidth, kHeight);
  svg += Frame(x, y, x_title, y_title);
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

#include "image/resize.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace shortlist {
namespace {

/// Weights are integers with so many fractional bits: besides the 8 bits of a value, two remain for
/// a sum above 255 or below 0.
constexpr int kWeightBits = 32 - 8 - 2;

double Weight(Resampling resampling, double x) {
  x = std::abs(x);
  if (resampling == Resampling::kBilinear) return x < 1.0 ? 1.0 - x : 0.0;
  constexpr double a = -0.5;
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

/// The source pixels that make one pixel of the result.
struct Taps {
  int64_t begin = 0;
  std::vector<int32_t> weights;
};

/// A line of `source` pixels is resized to `size`, of which `count` from `first` on are needed.
struct Axis {
  Resampling resampling;
  int64_t source, size, first, count;

  double scale() const { return static_cast<double>(source) / static_cast<double>(size); }
  double widening() const { return std::max(scale(), 1.0); }
  double reach() const { return (resampling == Resampling::kBilinear ? 1.0 : 2.0) * widening(); }
  double centre(int64_t i) const { return (static_cast<double>(first + i) + 0.5) * scale(); }
};

/// Range of pixels in a line.
struct Span {
  int64_t begin;
  int64_t end;
};

/// Returns the source pixels of needed pixel i. Truncates towards zero, as PIL does.
Span Reached(const Axis& axis, int64_t i) {
  const double centre = axis.centre(i), reach = axis.reach();
  return {std::max<int64_t>(static_cast<int64_t>(centre - reach + 0.5), 0),
          std::min(static_cast<int64_t>(centre + reach + 0.5), axis.source)};
}

/// Returns the source pixels of all needed pixels. The ranges of later pixels never begin or end
/// earlier.
Span Used(const Axis& axis) { return {Reached(axis, 0).begin, Reached(axis, axis.count - 1).end}; }

Taps MakeTaps(const Axis& axis, int64_t i) {
  const double inverse = 1.0 / axis.widening(), centre = axis.centre(i);
  const Span span = Reached(axis, i);
  std::vector<double> weights;
  double sum = 0.0;
  for (int64_t x = span.begin; x < span.end; ++x) {
    weights.push_back(Weight(axis.resampling, (static_cast<double>(x) - centre + 0.5) * inverse));
    sum += weights.back();
  }
  Taps taps{.begin = span.begin, .weights = {}};
  taps.weights.reserve(weights.size());
  for (double weight : weights) {
    if (sum != 0.0) weight /= sum;
    const double scaled = weight * (1 << kWeightBits);
    taps.weights.push_back(static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
  }
  return taps;
}

uint8_t Rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

/// Computes one pixel. The pixels in `source` that the taps weight are `stride` bytes apart.
void Mix(const Taps& taps, const uint8_t* source, int64_t stride, uint8_t* out) {
  constexpr int32_t kHalf = 1 << (kWeightBits - 1);
  int32_t sums[] = {kHalf, kHalf, kHalf};
  for (const int32_t weight : taps.weights) {
    for (int c = 0; c < 3; ++c) sums[c] += source[c] * weight;
    source += stride;
  }
  for (int c = 0; c < 3; ++c) out[c] = Rounded(sums[c]);
}

/// Part of a picture: its pixel (x, y) is pixel (left + x, top + y) of the picture.
struct Part {
  const uint8_t* pixels;  // [..., stride]
  int64_t stride;         // bytes from row to row
  int64_t left = 0, top = 0;

  const uint8_t* At(int64_t x, int64_t y) const {
    return pixels + (y - top) * stride + (x - left) * 3;
  }
};

/// Resizes rows `rows` to the needed columns: [rows, columns.count, 3].
std::vector<uint8_t> MixColumns(const Part& from, const Axis& columns, const Span& rows) {
  // Limits the taps in memory: of a picture of millions of columns, those of a few.
  constexpr int64_t kMaxWeights = int64_t{1} << 20;
  const auto each = static_cast<int64_t>(2 * columns.reach()) + 2;
  const int64_t most = std::max<int64_t>(kMaxWeights / each, 1);
  std::vector<uint8_t> result(static_cast<size_t>((rows.end - rows.begin) * columns.count * 3));
  for (int64_t first = 0; first < columns.count; first += most) {
    std::vector<Taps> taps;
    for (int64_t i = first; i < std::min(first + most, columns.count); ++i) {
      taps.push_back(MakeTaps(columns, i));
    }
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      uint8_t* out = result.data() + ((y - rows.begin) * columns.count + first) * 3;
      for (const Taps& of_column : taps) {
        Mix(of_column, from.At(of_column.begin, y), 3, out);
        out += 3;
      }
    }
  }
  return result;
}

/// Resizes columns `columns` to the needed rows: [rows.count, columns, 3].
std::vector<uint8_t> MixRows(const Part& from, const Axis& rows, const Span& columns) {
  std::vector<uint8_t> result(static_cast<size_t>(rows.count * (columns.end - columns.begin) * 3));
  uint8_t* out = result.data();
  for (int64_t i = 0; i < rows.count; ++i) {
    const Taps taps = MakeTaps(rows, i);
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      Mix(taps, from.At(x, taps.begin), from.stride, out);
      out += 3;
    }
  }
  return result;
}

}  // namespace

std::vector<uint8_t> ResizeWindow(const Picture& picture, int64_t width, int64_t height,
                                  Resampling resampling, const PixelWindow& window) {
  SHORTLIST_CHECK(window.left >= 0 && window.top >= 0 && window.width >= 1 && window.height >= 1);
  SHORTLIST_CHECK(window.width <= width - window.left && window.height <= height - window.top);
  const Axis columns{resampling, picture.width, width, window.left, window.width};
  const Axis rows{resampling, picture.height, height, window.top, window.height};
  const Part whole{.pixels = picture.rgb.data(), .stride = picture.width * 3};
  const int64_t rows_lost = picture.height - height;
  if (rows_lost > 0 && rows_lost > 2 * (picture.width - width)) {
    const Span used = Used(columns);
    const std::vector<uint8_t> low = MixRows(whole, rows, used);
    const Part part{
        .pixels = low.data(), .stride = (used.end - used.begin) * 3, .left = used.begin};
    return MixColumns(part, columns, {0, window.height});
  }
  const Span used = Used(rows);
  const std::vector<uint8_t> narrow = MixColumns(whole, columns, used);
  const Part part{.pixels = narrow.data(), .stride = window.width * 3, .top = used.begin};
  return MixRows(part, rows, {0, window.width});
}

}  // namespace shortlist

#include "image/resize.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace shortlist {
namespace {

/// Weights are integers of so many bits behind the point: two more than 8 remain for a sum above
/// 255 or below 0.
constexpr int kWeightBits = 32 - 8 - 2;

double Weight(Resampling resampling, double x) {
  x = std::abs(x);
  if (resampling == Resampling::kBilinear) return x < 1.0 ? 1.0 - x : 0.0;
  constexpr double a = -0.5;
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

/// The pixels of a line that one of the result is made of.
struct Taps {
  int64_t begin = 0;
  std::vector<int32_t> weights;
};

/// Of pixels [first, first + count) of the result, where `source` pixels become `size`.
std::vector<Taps> MakeTaps(Resampling resampling, int64_t source, int64_t size, int64_t first,
                           int64_t count) {
  const double scale = static_cast<double>(source) / static_cast<double>(size);
  const double widening = std::max(scale, 1.0);
  const double reach = (resampling == Resampling::kBilinear ? 1.0 : 2.0) * widening;
  const double inverse = 1.0 / widening;
  std::vector<Taps> result(static_cast<size_t>(count));
  std::vector<double> weights;
  for (int64_t i = 0; i < count; ++i) {
    const double centre = (static_cast<double>(first + i) + 0.5) * scale;
    // Cut towards zero, not rounded down.
    const int64_t begin = std::max<int64_t>(static_cast<int64_t>(centre - reach + 0.5), 0);
    const int64_t end = std::min(static_cast<int64_t>(centre + reach + 0.5), source);
    weights.clear();
    double sum = 0.0;
    for (int64_t x = begin; x < end; ++x) {
      weights.push_back(Weight(resampling, (static_cast<double>(x) - centre + 0.5) * inverse));
      sum += weights.back();
    }
    Taps& taps = result[static_cast<size_t>(i)];
    taps.begin = begin;
    for (double weight : weights) {
      if (sum != 0.0) weight /= sum;
      const double scaled = weight * (1 << kWeightBits);
      taps.weights.push_back(static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
    }
  }
  return result;
}

uint8_t Rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

/// One pixel; those of `source` that the taps weigh lie `stride` bytes apart.
void Mix(const Taps& taps, const uint8_t* source, int64_t stride, uint8_t* out) {
  constexpr int32_t kHalf = 1 << (kWeightBits - 1);
  int32_t sums[] = {kHalf, kHalf, kHalf};
  for (const int32_t weight : taps.weights) {
    for (int c = 0; c < 3; ++c) sums[c] += source[c] * weight;
    source += stride;
  }
  for (int c = 0; c < 3; ++c) out[c] = Rounded(sums[c]);
}

/// Pixels of a line.
struct Span {
  int64_t begin;
  int64_t end;
};
/// Those that are weighed: taps of later pixels begin and end no earlier.
Span Used(const std::vector<Taps>& taps) {
  return {taps.front().begin, taps.back().begin + std::ssize(taps.back().weights)};
}

/// Part of a picture: its pixel (x, y) is that of the whole at (left + x, top + y).
struct Part {
  const uint8_t* pixels;  // [..., stride]
  int64_t stride;         // bytes from row to row
  int64_t left = 0, top = 0;

  const uint8_t* At(int64_t x, int64_t y) const {
    return pixels + (y - top) * stride + (x - left) * 3;
  }
};

/// Rows `rows` of the result's columns. [rows, columns.size(), 3]
std::vector<uint8_t> MixColumns(const Part& from, const std::vector<Taps>& columns,
                                const Span& rows) {
  std::vector<uint8_t> result(static_cast<size_t>((rows.end - rows.begin)) * columns.size() * 3);
  uint8_t* out = result.data();
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (const Taps& taps : columns) {
      Mix(taps, from.At(taps.begin, y), 3, out);
      out += 3;
    }
  }
  return result;
}

/// Columns `columns` of the result's rows. [rows.size(), columns, 3]
std::vector<uint8_t> MixRows(const Part& from, const std::vector<Taps>& rows, const Span& columns) {
  std::vector<uint8_t> result(rows.size() * static_cast<size_t>(columns.end - columns.begin) * 3);
  uint8_t* out = result.data();
  for (const Taps& taps : rows) {
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
  const std::vector<Taps> columns =
      MakeTaps(resampling, picture.width, width, window.left, window.width);
  const std::vector<Taps> rows =
      MakeTaps(resampling, picture.height, height, window.top, window.height);
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

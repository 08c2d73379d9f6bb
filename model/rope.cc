#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace shortlist {
namespace {

/// Llama 3.1's scaling: wavelengths above original / low_freq_factor are stretched by `factor`,
/// those below original / high_freq_factor kept, and those between blended linearly.
double ScaleLlama3(double frequency, const RopeScaling& scaling) {
  const double original = static_cast<double>(scaling.original_max_position_embeddings);
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  if (wavelength > original / scaling.low_freq_factor) return frequency / scaling.factor;
  if (wavelength < original / scaling.high_freq_factor) return frequency;
  const double smooth = (original / wavelength - scaling.low_freq_factor) /
                        (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1.0 - smooth) * frequency / scaling.factor + smooth * frequency;
}

}  // namespace

RopeTable::RopeTable(const ModelConfig& config) : context_len_(config.context_len) {
  const RopeScaling& scaling = config.rope_scaling;
  for (int64_t i = 0; i < config.head_dim / 2; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(config.head_dim);
    double frequency = 1.0 / std::pow(config.rope_theta, exponent);
    if (scaling.type == RopeScaling::Type::kLinear) frequency /= scaling.factor;
    if (scaling.type == RopeScaling::Type::kLlama3) frequency = ScaleLlama3(frequency, scaling);
    inverse_frequency_.push_back(static_cast<float>(frequency));
  }
}

void RopeTable::Reserve(int64_t num_positions) {
  SHORTLIST_CHECK(num_positions <= context_len_);
  if (num_positions <= num_positions_) return;
  constexpr int64_t kFewestPositions = 1024;
  const int64_t target =
      std::min(context_len_, std::max({num_positions, 2 * num_positions_, kFewestPositions}));
  const int64_t half = static_cast<int64_t>(inverse_frequency_.size());
  std::vector<float> cos, sin;
  cos.reserve(static_cast<size_t>(target * half));
  sin.reserve(static_cast<size_t>(target * half));
  for (int64_t position = 0; position < target; ++position) {
    for (const float frequency : inverse_frequency_) {
      // Frequency and angle are rounded to f32 as in transformers: far positions see the trained
      // angles.
      const float angle = static_cast<float>(position) * frequency;
      cos.push_back(static_cast<float>(std::cos(static_cast<double>(angle))));
      sin.push_back(static_cast<float>(std::sin(static_cast<double>(angle))));
    }
  }
  cos_ = std::move(cos);
  sin_ = std::move(sin);
  num_positions_ = target;
}

}  // namespace shortlist

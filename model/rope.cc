#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "base/check.h"

namespace shortlist {
namespace {

/// Llama 3.1's scaling: wavelengths above original / low_freq_factor are stretched by `factor`,
/// those below original / high_freq_factor are kept, and those between are blended linearly.
double ScaleLlama3(double frequency, const RopeScaling& scaling) {
  const double original = static_cast<double>(scaling.original_max_position_embeddings);
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  if (wavelength > original / scaling.low_freq_factor) return frequency / scaling.factor;
  if (wavelength < original / scaling.high_freq_factor) return frequency;
  const double smooth = (original / wavelength - scaling.low_freq_factor) /
                        (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1.0 - smooth) * frequency / scaling.factor + smooth * frequency;
}

/// YaRN's blend (Peng et al. 2023, "YaRN", section 3.2). Dimensions that turn more than beta_fast
/// times over the original context keep their frequency. Those that turn less than beta_slow times
/// are stretched by `factor`. A ramp lies between.
class YarnRamp {
 public:
  explicit YarnRamp(const ModelConfig& config) : factor_(config.rope_scaling.factor) {
    const RopeScaling& scaling = config.rope_scaling;
    const double dim = static_cast<double>(config.rotary_dim);
    const double original = static_cast<double>(scaling.original_max_position_embeddings);
    const auto turning = [&](double num_turns) {
      return dim * std::log(original / (num_turns * 2.0 * std::numbers::pi)) /
             (2.0 * std::log(config.rope_theta));
    };
    const double low = turning(scaling.beta_fast), high = turning(scaling.beta_slow);
    low_ = std::max(scaling.truncate ? std::floor(low) : low, 0.0);
    high_ = std::min(scaling.truncate ? std::ceil(high) : high, dim - 1.0);
    if (low_ == high_) high_ += 0.001;  // avoids a division by zero like the reference
  }

  double Scale(double frequency, int64_t pair) const {
    const double ramp = std::clamp((static_cast<double>(pair) - low_) / (high_ - low_), 0.0, 1.0);
    return frequency / factor_ * ramp + frequency * (1.0 - ramp);
  }

 private:
  double factor_, low_, high_;
};

/// Returns the factor of queries at `position`, computed in f32 like the reference.
float QueryScale(const RopeScaling& scaling, int64_t position) {
  const int64_t num_lengths = position / scaling.original_max_position_embeddings;
  return 1.0f +
         static_cast<float>(scaling.query_beta) * std::log(1.0f + static_cast<float>(num_lengths));
}

/// Returns the base of "dynamic NTK" scaling for a sequence of `length`.
double DynamicTheta(const ModelConfig& config, int64_t length) {
  const RopeScaling& scaling = config.rope_scaling;
  const double original = static_cast<double>(scaling.original_max_position_embeddings);
  const double stretched = std::max(static_cast<double>(length), original) / original;
  const double dim = static_cast<double>(config.rotary_dim);
  return config.rope_theta *
         std::pow(scaling.factor * stretched - (scaling.factor - 1.0), dim / (dim - 2.0));
}

}  // namespace

std::vector<float> RopeFrequencies(const ModelConfig& config, int64_t length) {
  const RopeScaling& scaling = config.rope_scaling;
  const bool is_dynamic = scaling.type == RopeScaling::Type::kDynamic;
  const double theta = is_dynamic ? DynamicTheta(config, length) : config.rope_theta;
  std::optional<YarnRamp> ramp;
  if (scaling.type == RopeScaling::Type::kYarn) ramp.emplace(config);
  std::vector<float> frequencies;
  for (int64_t i = 0; i < config.rotary_dim / 2; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(config.rotary_dim);
    double frequency = 1.0 / std::pow(theta, exponent);
    if (scaling.type == RopeScaling::Type::kLinear) frequency /= scaling.factor;
    if (scaling.type == RopeScaling::Type::kLlama3) frequency = ScaleLlama3(frequency, scaling);
    if (scaling.type == RopeScaling::Type::kLongRope) frequency /= scaling.short_factors[i];
    if (ramp) frequency = ramp->Scale(frequency, i);
    frequencies.push_back(static_cast<float>(frequency));
  }
  return frequencies;
}

RopeTable::RopeTable(const ModelConfig& config)
    : config_(config), frequencies_(RopeFrequencies(config, /*length=*/1)) {}

void RopeTable::Reserve(int64_t num_positions) {
  SHORTLIST_CHECK(num_positions <= config_.context_len);
  if (num_positions <= num_positions_) return;
  constexpr int64_t kFewestPositions = 1024;
  const int64_t target = std::min(config_.context_len,
                                  std::max({num_positions, 2 * num_positions_, kFewestPositions}));
  const RopeScaling& scaling = config_.rope_scaling;
  const bool is_dynamic = scaling.type == RopeScaling::Type::kDynamic;
  const float magnitude = static_cast<float>(scaling.attention_factor);
  std::vector<float> cos, sin;
  cos.reserve(static_cast<size_t>(target) * frequencies_.size());
  sin.reserve(static_cast<size_t>(target) * frequencies_.size());
  std::vector<float> own;
  for (int64_t position = 0; position < target; ++position) {
    const bool is_stretched = is_dynamic && position >= scaling.original_max_position_embeddings;
    if (is_stretched) own = RopeFrequencies(config_, position + 1);
    for (const float frequency : is_stretched ? own : frequencies_) {
      // Frequency and angle are rounded to f32 as in transformers, so that far positions get the
      // trained angles.
      const float angle = static_cast<float>(position) * frequency;
      cos.push_back(static_cast<float>(std::cos(static_cast<double>(angle))) * magnitude);
      sin.push_back(static_cast<float>(std::sin(static_cast<double>(angle))) * magnitude);
    }
  }
  cos_ = std::move(cos);
  sin_ = std::move(sin);
  num_positions_ = target;
  if (scaling.query_beta == 0.0) return;
  query_scale_.clear();
  for (int64_t i = 0; i < target; ++i) query_scale_.push_back(QueryScale(scaling, i));
}

}  // namespace shortlist

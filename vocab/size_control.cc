#include "vocab/size_control.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace shortlist {
namespace {

// Averages cover about the last 500 steps and 2,000 tokens: a change of traffic shows within some
// requests.
constexpr double kStepDecay = 1.0 - 1.0 / 512;
constexpr double kTokenDecay = 1.0 - 1.0 / 2048;
constexpr double kPassDecay = 1.0 - 1.0 / 512;
// A pass slower than so many times the average was delayed by something else.
constexpr double kHeldUp = 3.0;
constexpr double kFewPasses = 16.0;
// More passes than this do not make an average more certain.
constexpr double kSureWeight = 256.0;
constexpr double kSurest = 0.98;  // maximum acceptance of a token that the vocabulary contains

/// Returns the expected number of emitted tokens for a chain of `length`, each accepted with
/// probability `p`: those up to the first rejected one, plus the target's own token.
double AcceptLength(double p, double length) {
  return (1.0 - std::pow(p, length + 1.0)) / (1.0 - p);
}

}  // namespace

SizeControl::SizeControl(Options options)
    : options_(std::move(options)),
      choice_(ChoiceOf(options_.start, options_.start_share)),
      waits_(options_.waits),
      tokens_((options_.rows.size() + 1) * (options_.shares.size() + 1)),
      pass_times_(options_.rows.size() * options_.shares.size()),
      pass_ms_(pass_times_.size()) {
  SHORTLIST_CHECK(options_.start < num_sizes() && options_.start_share < num_shares());
  SHORTLIST_CHECK(std::ranges::is_sorted(options_.rows) && std::ranges::is_sorted(options_.shares));
  for (size_t choice = 0; choice < pass_times_.size(); ++choice) {
    // All shares of the full head are one choice.
    const bool is_full_head =
        options_.ends_with_full_head && choice / num_shares() + 1 == num_sizes();
    if (!is_full_head || choice % num_shares() + 1 == num_shares()) by_rows_.push_back(choice);
  }
  std::ranges::stable_sort(by_rows_, {}, [this](size_t choice) { return RowsOf(choice); });
}

void SizeControl::CountToken(size_t first_size, std::optional<size_t> first_share) {
  SHORTLIST_CHECK(first_size <= num_sizes() && first_share.value_or(0) <= num_shares());
  for (double& count : tokens_) count *= kTokenDecay;
  const size_t width = num_shares() + 1;
  double* const of_size = &tokens_[first_size * width];
  if (first_share.has_value() || first_size == 0) {
    of_size[first_share.value_or(num_shares())] += 1.0;
    return;
  }
  std::vector<double> usual(width);  // of tokens that the smallest base does not contain
  for (size_t i = width; i < tokens_.size(); ++i) usual[i % width] += tokens_[i];
  const double all = std::accumulate(usual.begin(), usual.end(), 0.0);
  if (all == 0.0) usual[num_shares()] = 1.0;
  for (size_t share = 0; share < width; ++share) {
    of_size[share] += usual[share] / (all > 0.0 ? all : 1.0);
  }
}

double SizeControl::Coverage(size_t size, size_t share) const {
  double all = 0.0, held = 0.0;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const size_t first_size = i / (num_shares() + 1), first_share = i % (num_shares() + 1);
    all += tokens_[i];
    if (first_size <= size || first_share <= share) held += tokens_[i];
  }
  return all > 0.0 ? held / all : 1.0;
}

/// Returns the rows of a choice. Only the full head does not use the sketch's rows.
double SizeControl::RowsOf(size_t choice) const {
  const size_t size = choice / num_shares();
  const bool is_full_head = options_.ends_with_full_head && size + 1 == num_sizes();
  return static_cast<double>(options_.rows[size] +
                             (is_full_head ? 0 : options_.shares[choice % num_shares()]));
}

double SizeControl::PassMs(size_t size, size_t share) const {
  return pass_ms_[ChoiceOf(size, share)];
}

/// Returns the measured time of a choice combined with the line through all choices, which counts
/// as kFewPasses passes.
double SizeControl::Blended(size_t choice) const {
  const PassTime& measured = pass_times_[choice];
  const double line = std::max(line_base_ + line_slope_ * RowsOf(choice), 0.0);
  return (measured.ms * measured.num_passes + line * kFewPasses) /
         (measured.num_passes + kFewPasses);
}

/// Assumes that a chain ends where acceptance is unlikely, so its length is proportional to -1 /
/// log(acceptance). An error of the model for the size in use applies to the other sizes as well.
double SizeControl::PredictedSpeed(size_t size, size_t share) const {
  if (steps_ == 0.0 || passes_ == 0.0 || judged_ == 0.0) return 0.0;
  const double in_use = std::clamp(coverage_ / steps_, 1e-3, 1.0);
  const double now = std::clamp(accepted_ / judged_, 1e-3, kSurest);
  const double held = std::min(now / in_use, kSurest);
  const double then = std::clamp(held * Coverage(size, share), 1e-3, kSurest);
  const double most = static_cast<double>(options_.max_draft_tokens);
  const double length_now = std::clamp(drafted_ / requests_, 0.1, most);
  const double length_then =
      std::clamp(length_now * std::log(now) / std::log(then), std::min(length_now, 1.0), most);
  const double tokens_now = emitted_ / steps_;
  const double tokens_then =
      tokens_now * AcceptLength(then, length_then) / AcceptLength(now, length_now);
  const double passes_then = passes_ / steps_ * length_then / length_now;
  return tokens_then / std::max(verify_ms_ / steps_ + passes_then * PassMs(size, share), 1e-9);
}

/// Fits a line by least squares over the measured choices, weighted by their passes. One choice
/// alone gives no slope: the previous slope stays.
void SizeControl::Fit() {
  double weight = 0.0, x = 0.0, y = 0.0;
  for (size_t i = 0; i < pass_times_.size(); ++i) {
    const double w = std::min(pass_times_[i].num_passes, kSureWeight);
    weight += w;
    x += w * RowsOf(i);
    y += w * pass_times_[i].ms;
  }
  if (weight == 0.0) return;
  x /= weight, y /= weight;
  double spread = 0.0, together = 0.0;
  for (size_t i = 0; i < pass_times_.size(); ++i) {
    const double w = std::min(pass_times_[i].num_passes, kSureWeight);
    const double dx = RowsOf(i) - x;
    spread += w * dx * dx;
    together += w * dx * (pass_times_[i].ms - y);
  }
  if (spread > 0.0) line_slope_ = std::max(together / spread, 0.0);
  line_base_ = y - line_slope_ * x;

  // Pool adjacent violators (Ayer et al. 1955): choices whose time would fall with more rows share
  // their mean.
  struct Level {
    size_t count;
    double weight, ms;
  };
  std::vector<Level> levels;
  for (const size_t choice : by_rows_) {
    Level level = {1, std::min(pass_times_[choice].num_passes, kSureWeight) + kFewPasses,
                   Blended(choice)};
    while (!levels.empty() && levels.back().ms >= level.ms) {
      const Level& before = levels.back();
      const double sum = before.weight + level.weight;
      level = {before.count + level.count, sum,
               (before.ms * before.weight + level.ms * level.weight) / sum};
      levels.pop_back();
    }
    levels.push_back(level);
  }
  auto choice = by_rows_.begin();
  for (const Level& level : levels) {
    for (size_t i = 0; i < level.count; ++i) pass_ms_[*choice++] = level.ms;
  }
}

/// Returns a second choice to measure: far from the first, preferably smaller, as that is faster.
size_t SizeControl::Probe() const {
  const auto far_from = [](size_t index, size_t count) {
    const size_t half = count / 2;
    return index >= half ? index - half : std::min(index + half, count - 1);
  };
  return num_sizes() > 1 ? ChoiceOf(far_from(size(), num_sizes()), share())
                         : ChoiceOf(size(), far_from(share(), num_shares()));
}

void SizeControl::ChangeTo(size_t choice) {
  if (choice == choice_) return;
  choice_ = choice;
  steps_here_ = 0;
  ++num_changes_;
}

void SizeControl::Go() {
  if (!std::exchange(waits_, false)) return;
  std::ranges::fill(tokens_, 0.0);  // counted without the sketch's ranks
  Fit();
  has_probed_ = true;
  ChangeTo(Probe());
}

/// Returns the choice of the fewest rows among those about as fast as the fastest.
size_t SizeControl::Best() const {
  const auto speed_of = [this](size_t choice) {
    return PredictedSpeed(choice / num_shares(), choice % num_shares());
  };
  double most = 0.0;
  for (const size_t choice : by_rows_) most = std::max(most, speed_of(choice));
  for (const size_t choice : by_rows_) {
    if (speed_of(choice) >= most * (1.0 - options_.min_gain)) return choice;
  }
  return choice_;
}

void SizeControl::AddStep(const Step& step) {
  if (step.num_passes <= 0 || step.num_requests <= 0) return;  // nothing was drafted
  if (!(step.draft_ms >= 0.0) || !(step.verify_ms >= 0.0)) return;
  ++steps_here_;
  PassTime& here = pass_times_[choice_];
  const auto num_passes = static_cast<double>(step.num_passes);
  double ms = step.draft_ms / num_passes;
  if (here.num_passes >= kFewPasses) ms = std::min(ms, kHeldUp * here.ms);
  here.num_passes = here.num_passes * kPassDecay + num_passes;
  here.ms += (ms - here.ms) * num_passes / here.num_passes;

  double verify_ms = step.verify_ms;
  if (steps_ >= kFewPasses) verify_ms = std::min(verify_ms, kHeldUp * verify_ms_ / steps_);
  const auto add = [](double& sum, double value) { sum = sum * kStepDecay + value; };
  add(steps_, 1.0);
  add(requests_, static_cast<double>(step.num_requests));
  add(passes_, num_passes);
  add(verify_ms_, verify_ms);
  add(emitted_, static_cast<double>(step.num_emitted));
  add(drafted_, static_cast<double>(step.num_drafted));
  add(accepted_, static_cast<double>(step.num_accepted));
  add(judged_, static_cast<double>(step.num_judged));
  add(coverage_, Coverage(size(), share()));

  const int64_t least = probes_ ? options_.probe_steps : options_.min_steps;
  if (waits_ || steps_here_ < least || pass_times_.size() == 1) return;
  Fit();
  if (!has_probed_) {
    has_probed_ = probes_ = true;
    return ChangeTo(Probe());
  }
  probes_ = false;
  const double now = PredictedSpeed(size(), share());
  const size_t best = Best();
  const double then = PredictedSpeed(best / num_shares(), best % num_shares());
  const bool is_smaller = RowsOf(best) < RowsOf(choice_);
  if (then > now * (is_smaller ? 1.0 - options_.min_gain : 1.0 + options_.min_gain)) ChangeTo(best);
}

}  // namespace shortlist

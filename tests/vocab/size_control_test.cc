#include "vocab/size_control.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxDraftTokens = 8;
constexpr int kRequests = 200, kStepsOfRequest = 40;

/// A draft, a target and their traffic, in virtual time. Requests differ in difficulty. A chain
/// continues while its acceptance is likely. A token is accepted if the vocabulary holds the
/// target's token and the draft agrees. SizeControl assumes a different model.
struct World {
  std::string name;
  double pass_base_ms, row_ms, verify_ms;
  double rank_scale;     // number of first ranks with half of the coverage of a list
  double not_listed;     // share of tokens that only the full head holds
  double easy;           // mean chance that the draft agrees
  double noise = 0.1;    // of times
  double hiccups = 0.0;  // share of steps that something else holds up for 30 times as long
};

std::vector<int64_t> Sizes() {
  std::vector<int64_t> rows;
  for (double size = 256; size < 15000; size *= std::sqrt(2.0)) rows.push_back(std::llround(size));
  rows.push_back(16384);  // the full head
  return rows;
}

class Simulation {
 public:
  Simulation(const World& world, uint32_t seed) : world_(world), random_(seed) {}

  /// One request at `size()` of a controller, or at a fixed size where it is null.
  void RunRequest(SizeControl* control, size_t fixed) {
    const double easy = std::clamp(world_.easy + 0.25 * (Uniform() - 0.5), 0.05, 0.97);
    for (int i = 0; i < kStepsOfRequest; ++i) RunStep(control, fixed, easy);
  }

  double tokens = 0.0, ms = 0.0;

 private:
  double Uniform() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }

  /// The first size that holds the target's next token.
  size_t FirstSize() {
    if (Uniform() < world_.not_listed) return rows_.size() - 1;
    const double rank = world_.rank_scale * (std::exp2(1.0 / (1.0 - Uniform()) - 1.0) - 1.0);
    return std::lower_bound(rows_.begin(), rows_.end() - 1, rank) - rows_.begin();
  }

  void RunStep(SizeControl* control, size_t fixed, double easy) {
    const size_t size = control != nullptr ? control->size() : fixed;
    SizeControl::Step step{.num_requests = 1};
    double likely = 1.0;
    bool stands = true;
    while (step.num_passes < kMaxDraftTokens && likely >= 0.35) {
      const double agrees = std::clamp(easy + 0.3 * (Uniform() - 0.5), 0.02, 0.98);
      likely *= agrees * coverage_;
      ++step.num_passes, ++step.num_drafted;
      if (!stands) continue;
      const size_t needed = FirstSize();
      Count(control, needed, size);
      stands = needed <= size && Uniform() < agrees;
      ++step.num_judged;
      if (stands) ++step.num_accepted;
    }
    step.num_emitted = step.num_accepted + 1;
    if (stands) Count(control, FirstSize(), size);  // the bonus
    const double pass_ms = world_.pass_base_ms + world_.row_ms * static_cast<double>(rows_[size]);
    const double busy = (1.0 + world_.noise * Uniform()) * (Uniform() < world_.hiccups ? 30 : 1);
    step.draft_ms = busy * pass_ms * static_cast<double>(step.num_passes);
    step.verify_ms = world_.verify_ms * (1.0 + world_.noise * Uniform());
    tokens += static_cast<double>(step.num_emitted);
    ms += pass_ms * static_cast<double>(step.num_passes) + world_.verify_ms;
    if (control != nullptr) control->AddStep(step);
  }

  void Count(SizeControl* control, size_t needed, size_t size) {
    coverage_ += ((needed <= size ? 1.0 : 0.0) - coverage_) / 200;
    if (control != nullptr) control->CountToken(needed, 1);
  }

  const World& world_;
  const std::vector<int64_t> rows_ = Sizes();
  std::mt19937 random_;
  double coverage_ = 1.0;
};

double FixedSpeed(const World& world, size_t size, uint32_t seed) {
  Simulation simulation(world, seed);
  for (int i = 0; i < kRequests; ++i) simulation.RunRequest(nullptr, size);
  return simulation.tokens / simulation.ms;
}

const World kWorlds[] = {
    {"small_head", 0.3, 0.00003, 8.0, 300, 0.01, 0.75},
    {"large_head", 0.5, 0.0006, 20.0, 300, 0.01, 0.75},
    {"head_is_all", 0.05, 0.002, 15.0, 100, 0.02, 0.8},
    {"flat_list", 0.3, 0.0002, 10.0, 4000, 0.02, 0.7},
    {"wrong_list", 0.3, 0.0002, 12.0, 1000, 0.6, 0.75},
    {"hard_text", 0.2, 0.0002, 10.0, 400, 0.05, 0.35},
    {"busy_machine", 0.3, 0.0003, 12.0, 400, 0.02, 0.75, 0.5, 0.02},
};

/// For any initial size, after 200 requests the size is within 10 % of the best of a sweep of fixed
/// sizes.
TEST(SizeControlTest, FindsNearlyBestSize) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  for (const World& world : kWorlds) {
    std::vector<double> speeds;
    for (size_t size = 0; size < Sizes().size(); ++size) {
      speeds.push_back(FixedSpeed(world, size, seed));
    }
    const double best = *std::max_element(speeds.begin(), speeds.end());
    for (const size_t start : {size_t{0}, Sizes().size() / 2, Sizes().size() - 1}) {
      SizeControl control({.rows = Sizes(), .start = start, .max_draft_tokens = kMaxDraftTokens});
      Simulation simulation(world, seed + 1);
      for (int i = 0; i < kRequests; ++i) simulation.RunRequest(&control, 0);
      EXPECT_GE(speeds[control.size()], 0.9 * best)
          << world.name << " from " << Sizes()[start] << " to " << Sizes()[control.size()];
      if (world.not_listed > 0.5) {
        EXPECT_GE(speeds[control.size()], 0.98 * speeds.back()) << "the full head is faster";
      }
      EXPECT_LE(control.num_changes(), 40) << world.name;
    }
  }
}

/// Traffic turns to what the list does not hold.
TEST(SizeControlTest, FollowsTraffic) {
  World world{"turns", 0.3, 0.0002, 12.0, 200, 0.01, 0.75};
  SizeControl control({.rows = Sizes(), .start = 3, .max_draft_tokens = kMaxDraftTokens});
  Simulation simulation(world, /*seed=*/1);
  for (int i = 0; i < kRequests; ++i) simulation.RunRequest(&control, 0);
  const size_t before = control.size();
  EXPECT_LT(before, Sizes().size() - 1);
  world.not_listed = 0.6;
  for (int i = 0; i < kRequests; ++i) simulation.RunRequest(&control, 0);
  EXPECT_EQ(control.size(), Sizes().size() - 1);
  world.not_listed = 0.01;
  for (int i = 0; i < kRequests; ++i) simulation.RunRequest(&control, 0);
  EXPECT_LT(control.size(), Sizes().size() - 1);
}

TEST(SizeControlTest, IsDeterministic) {
  const World& world = kWorlds[1];
  SizeControl a({.rows = Sizes(), .start = 3}), b({.rows = Sizes(), .start = 3});
  Simulation of_a(world, /*seed=*/7), of_b(world, /*seed=*/7);
  for (int i = 0; i < 50; ++i) {
    of_a.RunRequest(&a, 0);
    of_b.RunRequest(&b, 0);
    ASSERT_EQ(a.size(), b.size());
  }
  EXPECT_EQ(a.num_changes(), b.num_changes());
}

/// Tokens that a sketch covers need no base, and rows without further coverage are not scored.
TEST(SizeControlTest, FindsSketchShare) {
  const std::vector<int64_t> sizes = {0, 1000, 8000}, shares = {32, 64, 128, 256, 512};
  const auto run = [&](size_t first_size, size_t first_share, bool is_known) {
    SizeControl control({.rows = sizes, .start = 2, .shares = shares, .start_share = 4});
    for (int i = 0; i < 5000; ++i) {
      // The first token in four is of the kind; others are held anyway.
      control.CountToken(i % 4 == 0 ? first_size : 0, std::nullopt);
      if (i % 4 == 0 && is_known) control.CountToken(first_size, first_share);
      const bool is_held = control.size() >= first_size || control.share() >= first_share;
      const double rows = static_cast<double>(sizes[control.size()] + shares[control.share()]);
      control.AddStep({.num_requests = 1,
                       .num_passes = 3,
                       .draft_ms = 3 * (0.05 + 0.0002 * rows),
                       .verify_ms = 1.0,
                       .num_emitted = is_held ? 3 : 2,
                       .num_drafted = 3,
                       .num_accepted = is_held ? 2 : 1,
                       .num_judged = is_held ? 2 : 2});
    }
    return std::pair(control.size(), control.share());
  };
  EXPECT_EQ(run(3, 2, true), (std::pair<size_t, size_t>(0, 2)));  // only the sketch holds them
  EXPECT_EQ(run(1, 5, true), (std::pair<size_t, size_t>(1, 0)));  // only a base does
  EXPECT_EQ(run(1, 0, true), (std::pair<size_t, size_t>(0, 0)));  // the least share does
}

TEST(SizeControlTest, FindsShareForFixedBase) {
  SizeControl control({.rows = {0}, .shares = {32, 64, 128, 256}, .start_share = 3});
  for (int i = 0; i < 3000; ++i) {
    control.CountToken(1, 1);
    control.AddStep({.num_requests = 1,
                     .num_passes = 3,
                     .draft_ms = 0.01 * static_cast<double>(32 << control.share()),
                     .verify_ms = 1.0,
                     .num_emitted = 3,
                     .num_drafted = 3,
                     .num_accepted = 2,
                     .num_judged = 3});
  }
  EXPECT_EQ(control.share(), 1u);
  EXPECT_EQ(control.size(), 0u);
}

TEST(SizeControlTest, SingleSizeIsKept) {
  SizeControl control({.rows = {512}});
  for (int i = 0; i < 1000; ++i) {
    control.CountToken(1, std::nullopt);
    control.AddStep({1, 3, 1.0, 1.0, 2, 3, 1, 2});
  }
  EXPECT_EQ(control.size(), 0u);
}

TEST(SizeControlTest, InvalidMeasurementsAreIgnored) {
  SizeControl control({.rows = {256, 512, 1024}, .start = 1});
  for (int i = 0; i < 1000; ++i) {
    control.AddStep({1, 0, 1.0, 1.0, 1, 0, 0, 0});
    control.AddStep({1, 3, std::nan(""), 1.0, 2, 3, 1, 2});
    control.AddStep({1, 3, -1.0, 1.0, 2, 3, 1, 2});
  }
  EXPECT_EQ(control.size(), 1u);
  EXPECT_EQ(control.PredictedSpeed(0, 0), 0.0);
}

/// The full head until a sketch is there, then the sketch, then whichever of them is faster.
TEST(SizeControlTest, WaitsForSketchAndKeepsItIfFaster) {
  for (const bool sketch_is_faster : {true, false}) {
    SCOPED_TRACE(sketch_is_faster);
    SizeControl control({.rows = {0, 16384},
                         .start = 1,
                         .ends_with_full_head = true,
                         .shares = {1024},
                         .probe_steps = 8,
                         .waits = true});
    // A pass over all rows takes four times as long; or a quarter of the tokens is outside of the
    // sketch's choice, which is hardly faster.
    const auto run = [&](int num_steps) {
      for (int i = 0; i < num_steps; ++i) {
        const bool full = control.size() == 1;
        for (int token = 0; token < 4; ++token) {
          const std::optional<size_t> share = sketch_is_faster || token < 3 ? 0 : 1;
          control.CountToken(/*first_size=*/1, full ? std::nullopt : share);
        }
        const bool holds_all = full || sketch_is_faster;
        control.AddStep({.num_requests = 1,
                         .num_passes = 4,
                         .draft_ms = full               ? 40.0
                                     : sketch_is_faster ? 10.0
                                                        : 39.0,
                         .verify_ms = 40.0,
                         .num_emitted = holds_all ? 4 : 3,
                         .num_drafted = 4,
                         .num_accepted = holds_all ? 3 : 2,
                         .num_judged = 4});
      }
    };
    run(500);
    EXPECT_EQ(control.size(), 1u);  // it waits
    control.Go();
    EXPECT_EQ(control.size(), 0u);
    control.Go();
    EXPECT_EQ(control.size(), 0u);
    run(63);
    EXPECT_EQ(control.size(), 0u);
    run(2000);
    EXPECT_EQ(control.size(), sketch_is_faster ? 0u : 1u);
  }
}

/// A control that begins with a sketch probes the full head for a few steps.
TEST(SizeControlTest, ProbesHaveRequestedLength) {
  SizeControl control(
      {.rows = {0, 16384}, .ends_with_full_head = true, .shares = {1024}, .probe_steps = 8});
  int num_full = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool full = control.size() == 1;
    num_full += full ? 1 : 0;
    control.CountToken(/*first_size=*/1, full ? std::nullopt : std::optional<size_t>(0));
    control.AddStep({.num_requests = 1,
                     .num_passes = 4,
                     .draft_ms = full ? 40.0 : 10.0,
                     .verify_ms = 40.0,
                     .num_emitted = 4,
                     .num_drafted = 4,
                     .num_accepted = 3,
                     .num_judged = 4});
  }
  EXPECT_EQ(num_full, 8);
  EXPECT_EQ(control.size(), 0u);
}

}  // namespace
}  // namespace shortlist

#ifndef SHORTLIST_VOCAB_SIZE_CONTROL_H_
#define SHORTLIST_VOCAB_SIZE_CONTROL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace shortlist {

/// Chooses the number of rows that a draft scores, so that tokens come fastest: one of a few sizes
/// of the base and, with a sketch, one of a few numbers of rows that the sketch chooses.
///
/// More rows cost time and contain more of what the target emits. Both are measured while requests
/// run, without trying each size. The ranks of an emitted token show which sizes and shares would
/// have contained it. The time of a draft pass is a line over rows, known from two choices; more
/// rows never take less time, so measurements to the contrary are noise. Acceptance follows from
/// coverage by a model (PredictedSpeed). This cancels the noise between requests, which differ far
/// more than sizes do.
///
/// Depends only on its inputs: no clock, no randomness. Used by one thread.
class SizeControl {
 public:
  struct Options {
    std::vector<int64_t> rows;          // of each size, rising; at least one
    size_t start = 0;                   // an index into `rows`
    bool ends_with_full_head = false;   // the last size does not use a sketch
    std::vector<int64_t> shares = {0};  // rows chosen by the sketch, rising; at least one
    size_t start_share = 0;             // an index into `shares`
    int64_t max_draft_tokens = 8;
    // Steps at a size before it may change again. The first change, to a second size whose time is
    // measured, also comes after that many steps.
    int64_t min_steps = 64;
    // Steps at that second size; may be fewer than min_steps.
    int64_t probe_steps = 64;
    bool waits = false;  // true: keeps the start until Go()
    // Relative. Predicted speeds that differ by less count as equal, and the choice of fewer rows
    // is taken.
    double min_gain = 0.02;
  };

  /// Measurements of one step of the engine, over all of its requests.
  struct Step {
    int64_t num_requests = 0;
    int64_t num_passes = 0;  // of the draft
    double draft_ms = 0.0, verify_ms = 0.0;
    int64_t num_emitted = 0;
    int64_t num_drafted = 0;
    int64_t num_accepted = 0;  // of the drafted
    int64_t num_judged = 0;    // of the drafted: accepted, or replaced by the target's token
  };

  explicit SizeControl(Options options);

  /// Counts one emitted token. `first_size`: smallest size that contains the token, num_sizes() if
  /// none, 0 if every choice has it (such as in a request's tail). `first_share`: smallest index of
  /// a share with the token, num_shares() if none, nullopt if the sketch did not score this
  /// position (then the usual distribution is assumed).
  void CountToken(size_t first_size, std::optional<size_t> first_share);

  /// Counts one step that was drafted at size() and share().
  void AddStep(const Step& step);

  /// Ends Options::waits: changes to another size, which is measured next.
  void Go();

  /// The size and share to draft with from now on. They change only in AddStep and Go, and seldom.
  size_t size() const { return choice_ / num_shares(); }
  size_t share() const { return choice_ % num_shares(); }
  size_t num_sizes() const { return options_.rows.size(); }
  size_t num_shares() const { return options_.shares.size(); }
  int64_t num_changes() const { return num_changes_; }

  // The estimates that decide.
  double Coverage(size_t size, size_t share) const;  // share of recent tokens contained
  double PassMs(size_t size, size_t share) const;    // of the draft; measured and from the line
  /// Returns tokens per millisecond; 0 without measurements.
  double PredictedSpeed(size_t size, size_t share) const;

 private:
  struct PassTime {
    double num_passes = 0.0;  // decayed
    double ms = 0.0;          // average of recent passes
  };
  size_t ChoiceOf(size_t size, size_t share) const { return size * num_shares() + share; }
  double RowsOf(size_t choice) const;
  void Fit();
  double Blended(size_t choice) const;
  size_t Best() const;
  void ChangeTo(size_t choice);
  size_t Probe() const;

  const Options options_;
  size_t choice_;  // ChoiceOf(size, share)
  int64_t num_changes_ = 0;
  int64_t steps_here_ = 0;
  bool waits_;
  bool has_probed_ = false;
  bool probes_ = false;  // at the second size, for a measurement
  // [num_sizes + 1, num_shares + 1] tokens by the first size and share that contain them, decayed.
  std::vector<double> tokens_;
  std::vector<size_t> by_rows_;                // choices by rising number of rows
  std::vector<PassTime> pass_times_;           // [num_sizes * num_shares] by choice
  std::vector<double> pass_ms_;                // [num_sizes * num_shares] PassMs by choice
  double line_base_ = 0.0, line_slope_ = 0.0;  // ms of a pass, and of one of its rows
  // Sums over recent steps, decayed.
  double steps_ = 0.0, requests_ = 0.0, passes_ = 0.0, verify_ms_ = 0.0, emitted_ = 0.0;
  double drafted_ = 0.0, accepted_ = 0.0, judged_ = 0.0;
  double coverage_ = 0.0;  // sum over steps of the coverage in use
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_SIZE_CONTROL_H_

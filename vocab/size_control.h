#ifndef SHORTLIST_VOCAB_SIZE_CONTROL_H_
#define SHORTLIST_VOCAB_SIZE_CONTROL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace shortlist {

/// Chooses how many rows a draft scores, of a few sizes of its base and, where it has a sketch, a
/// few shares that the sketch may choose, so that tokens come fastest.
///
/// More rows cost time and hold more of what the target emits. Both are measured while requests
/// run, and neither needs a size to be tried: which of the sizes and shares would have held an
/// emitted token its ranks tell, and the time of a draft pass is a line over rows, known from two
/// choices; more rows never take less time, so what contradicts that is noise. What acceptance
/// follows from coverage is a model (PredictedSpeed), so that the noise of requests, which differ
/// by far more than sizes do, cancels out.
///
/// A pure function of what it is told: no clock, no randomness. Used by one thread.
class SizeControl {
 public:
  struct Options {
    std::vector<int64_t> rows;          // of each size, rising; at least one
    size_t start = 0;                   // an index into them
    bool ends_with_full_head = false;   // the last size has no use for a sketch
    std::vector<int64_t> shares = {0};  // rows of the sketch, rising; at least one
    size_t start_share = 0;             // an index into them
    int64_t max_draft_tokens = 8;
    // Steps at a size before it may change again. The first change, to a second size whose time
    // is measured, comes after that many too.
    int64_t min_steps = 64;
    int64_t probe_steps = 64;  // fewer, of that second size
    bool waits = false;        // at the start until Go
    // Predicted. Speeds that differ by less are alike, and the choice of fewer rows is taken.
    double min_gain = 0.02;
  };

  /// What one step of the engine measured, over all of its requests.
  struct Step {
    int64_t num_requests = 0;
    int64_t num_passes = 0;  // of the draft
    double draft_ms = 0.0, verify_ms = 0.0;
    int64_t num_emitted = 0;
    int64_t num_drafted = 0;
    int64_t num_accepted = 0;  // of these
    int64_t num_judged = 0;    // of these, accepted, or where the target's token came instead
  };

  explicit SizeControl(Options options);

  /// Tells of an emitted token which size is the first that holds it: an index, or num_sizes() for
  /// none. A token that every size holds (in a request's tail, say) is 0. Likewise the first share,
  /// up to num_shares() for none; nullopt where the sketch did not come to it: it counts as such
  /// tokens otherwise do.
  void CountToken(size_t first_size, std::optional<size_t> first_share);

  /// Tells of a step that was drafted at size() and share().
  void AddStep(const Step& step);

  /// One that waits need do so no longer: it goes on at another size, which it has to measure.
  void Go();

  /// What to draft with from now on. It changes in AddStep and Go alone, and seldom.
  size_t size() const { return choice_ / num_shares(); }
  size_t share() const { return choice_ % num_shares(); }
  size_t num_sizes() const { return options_.rows.size(); }
  size_t num_shares() const { return options_.shares.size(); }
  int64_t num_changes() const { return num_changes_; }

  // What it goes by.
  double Coverage(size_t size, size_t share) const;  // part of late tokens that these hold
  double PassMs(size_t size, size_t share) const;    // of the draft; measured, else from the line
  /// Tokens per millisecond; 0 before anything is known.
  double PredictedSpeed(size_t size, size_t share) const;

 private:
  struct PassTime {
    double num_passes = 0.0;  // decayed
    double ms = 0.0;          // of one pass, the average of late ones
  };
  size_t ChoiceOf(size_t size, size_t share) const { return size * num_shares() + share; }
  double RowsOf(size_t choice) const;
  void Fit();
  double Blended(size_t choice) const;
  size_t Best() const;
  void ChangeTo(size_t choice);
  size_t Probe() const;

  const Options options_;
  size_t choice_;  // ChoiceOf size and share
  int64_t num_changes_ = 0;
  int64_t steps_here_ = 0;
  bool waits_;
  bool has_probed_ = false;
  bool probes_ = false;  // at the second size, which nobody chose
  // [num_sizes + 1, num_shares + 1] tokens by the first that hold them, decayed.
  std::vector<double> tokens_;
  std::vector<size_t> by_rows_;                // choices, rising
  std::vector<PassTime> pass_times_;           // [num_sizes * num_shares] by choice
  std::vector<double> pass_ms_;                // likewise: PassMs
  double line_base_ = 0.0, line_slope_ = 0.0;  // ms of a pass, and of one of its rows
  // Sums over late steps, decayed.
  double steps_ = 0.0, requests_ = 0.0, passes_ = 0.0, verify_ms_ = 0.0, emitted_ = 0.0;
  double drafted_ = 0.0, accepted_ = 0.0, judged_ = 0.0;
  double coverage_ = 0.0;  // sum over steps of the coverage in use
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_SIZE_CONTROL_H_

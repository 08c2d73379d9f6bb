#ifndef SHORTLIST_CLI_PROGRESS_H_
#define SHORTLIST_CLI_PROGRESS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "base/clock.h"

namespace shortlist {

/// Formats a duration for people: "8 s", "95 s", "12 min", "3.5 h".
std::string FormatSeconds(double seconds);

/// "12 of 96 prompts, 3.1 a second, 27 s left": `done` of `total` after `seconds`. `unit` is
/// singular. Omits the rate if `done` is 0.
std::string FormatProgress(int64_t done, int64_t total, const std::string& unit, double seconds);

/// Schedules progress notes of long work: one every five seconds, so that short work writes none.
class NoteTimer {
 public:
  /// True if a note is due; the next one is due five seconds later.
  bool IsDue();
  /// Time since construction.
  double seconds() const { return SteadySeconds() - begin_s_; }

 private:
  const double begin_s_ = SteadySeconds();
  double last_note_s_ = begin_s_;
};

/// Reports progress of work with a known number of steps on stderr, timed by a NoteTimer.
class Progress {
 public:
  /// `unit`: what is counted, in the singular.
  Progress(std::string unit, int64_t total) : unit_(std::move(unit)), total_(total) {}

  void Advance();

 private:
  const std::string unit_;
  const int64_t total_;
  int64_t done_ = 0;
  NoteTimer timer_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_PROGRESS_H_

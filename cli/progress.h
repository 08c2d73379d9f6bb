#ifndef SHORTLIST_CLI_PROGRESS_H_
#define SHORTLIST_CLI_PROGRESS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "base/clock.h"

namespace shortlist {

/// A span of time for people: "8 s", "95 s", "12 min", "3.5 h".
std::string FormatSeconds(double seconds);

/// "12 of 96 prompts, 3.1 a second, 27 s left": `done` of `total`, after `seconds`. `unit` is
/// singular. Without a rate where nothing is done yet.
std::string FormatProgress(int64_t done, int64_t total, const std::string& unit, double seconds);

/// When long work notes how far it has come: every five seconds, so that short work notes nothing.
class NoteTimer {
 public:
  /// Whether a note is due; then the next one is five seconds later.
  bool IsDue();
  /// Since this was made.
  double seconds() const { return SteadySeconds() - begin_s_; }

 private:
  const double begin_s_ = SteadySeconds();
  double last_note_s_ = begin_s_;
};

/// Notes on stderr how far work of a known number of steps has come, by a NoteTimer.
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

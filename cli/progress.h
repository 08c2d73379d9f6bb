#ifndef SHORTLIST_CLI_PROGRESS_H_
#define SHORTLIST_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace shortlist {

/// A span of time for people: "8 s", "95 s", "12 min", "3.5 h".
std::string FormatSeconds(double seconds);

/// "12 of 96 prompts, 3.1 a second, 27 s left": `done` of `total`, after `seconds`. `unit` is
/// singular. Without a rate where nothing is done yet.
std::string FormatProgress(int64_t done, int64_t total, const std::string& unit, double seconds);

/// Notes on stderr how far long work has come: one line every few seconds, none for short work.
class Progress {
 public:
  /// `unit`: what is counted, in the singular.
  Progress(std::string unit, int64_t total) : unit_(std::move(unit)), total_(total) {}

  void Advance();

 private:
  using Clock = std::chrono::steady_clock;

  const std::string unit_;
  const int64_t total_;
  int64_t done_ = 0;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point last_note_ = begin_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_PROGRESS_H_

#ifndef SHORTLIST_CLI_PROGRESS_H_
#define SHORTLIST_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace shortlist {

/// Notes on stderr how far long work has come: one line every few seconds, none for short work.
class Progress {
 public:
  /// `unit`: what is counted, in the plural.
  Progress(std::string unit, int64_t total) : unit_(std::move(unit)), total_(total) {}

  void Advance();

 private:
  const std::string unit_;
  const int64_t total_;
  int64_t done_ = 0;
  std::chrono::steady_clock::time_point last_note_ = std::chrono::steady_clock::now();
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_PROGRESS_H_

#include "cli/progress.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"

namespace shortlist {

std::string FormatSeconds(double seconds) {
  if (seconds < 100) return absl::StrFormat("%.0f s", seconds);
  if (seconds < 100 * 60) return absl::StrFormat("%.0f min", seconds / 60);
  return absl::StrFormat("%.1f h", seconds / 3600);
}

std::string FormatProgress(int64_t done, int64_t total, const std::string& unit, double seconds) {
  std::string note = absl::StrCat(done, " of ", Counted(total, unit));
  if (done <= 0 || seconds <= 0) return note;
  const double rate = static_cast<double>(done) / seconds;
  // Slow work shows the time per unit instead.
  absl::StrAppend(&note, rate >= 1 ? absl::StrFormat(", %.1f a second", rate)
                                   : absl::StrFormat(", %.1f s each", 1 / rate));
  return absl::StrCat(note, ", ", FormatSeconds(static_cast<double>(total - done) / rate), " left");
}

bool NoteTimer::IsDue() {
  constexpr double kNoteEvery = 5.0;
  const double now = SteadySeconds();
  if (now - last_note_s_ < kNoteEvery) return false;
  last_note_s_ = now;
  return true;
}

void Progress::Advance() {
  ++done_;
  if (!timer_.IsDue()) return;
  std::cerr << FormatProgress(done_, total_, unit_, timer_.seconds()) << "\n";
}

}  // namespace shortlist

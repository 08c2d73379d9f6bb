#include "cli/progress.h"

#include <iostream>

namespace shortlist {

void Progress::Advance() {
  ++done_;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_note_ < std::chrono::seconds(5)) return;
  last_note_ = now;
  std::cerr << done_ << " of " << total_ << " " << unit_ << "\n";
}

}  // namespace shortlist

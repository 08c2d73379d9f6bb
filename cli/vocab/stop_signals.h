#ifndef SHORTLIST_CLI_VOCAB_STOP_SIGNALS_H_
#define SHORTLIST_CLI_VOCAB_STOP_SIGNALS_H_

#include <csignal>

namespace shortlist {

/// As long as this lives, the first SIGINT or SIGTERM is noted and ends nothing, so that work can
/// be kept; a second one ends the process. Signals that are ignored stay so. At most one at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that came; 0: none yet.
  static int Given();

  /// Ends the process by the signal that came, as if nobody had caught it: a shell tells 128 plus
  /// its number. Precondition: one came.
  [[noreturn]] static void EndProcess();

 private:
  struct sigaction before_int_ {};
  struct sigaction before_term_ {};
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_STOP_SIGNALS_H_

#ifndef SHORTLIST_CLI_VOCAB_STOP_SIGNALS_H_
#define SHORTLIST_CLI_VOCAB_STOP_SIGNALS_H_

#include <csignal>

namespace shortlist {

/// While it lives, the first SIGINT or SIGTERM is recorded and does not end the process, so that
/// work can be saved; a second signal of either kind ends it. Ignored signals stay ignored. At most
/// one instance at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The recorded signal; 0 if none.
  static int Given();

  /// Ends the process by the recorded signal, as if it had not been caught: a shell reports 128
  /// plus its number. Precondition: a signal was recorded.
  [[noreturn]] static void EndProcess();

 private:
  struct sigaction before_int_ {};
  struct sigaction before_term_ {};
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_STOP_SIGNALS_H_

#include "cli/vocab/stop_signals.h"

#include <unistd.h>

namespace shortlist {
namespace {

volatile std::sig_atomic_t given = 0;

void Note(int signal, struct sigaction& before) {
  struct sigaction action {};
  action.sa_handler = [](int number) {
    if (given != 0) {
      std::signal(number, SIG_DFL);
      std::raise(number);  // ends the process when the handler returns
    }
    given = number;
  };
  // Reads of a pipe are restarted: an interrupted one would look like the end of its text.
  action.sa_flags = SA_RESTART;
  sigaction(signal, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignals::StopSignals() {
  given = 0;
  Note(SIGINT, before_int_);
  Note(SIGTERM, before_term_);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &before_int_, nullptr);
  sigaction(SIGTERM, &before_term_, nullptr);
}

int StopSignals::Given() { return given; }

void StopSignals::EndProcess() {
  const int signal = given;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  _exit(128 + signal);
}

}  // namespace shortlist

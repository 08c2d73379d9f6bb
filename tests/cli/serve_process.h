#ifndef SHORTLIST_TESTS_CLI_SERVE_PROCESS_H_
#define SHORTLIST_TESTS_CLI_SERVE_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "tests/cli/cli_testing.h"
#include "tests/support/temp_dir.h"

namespace shortlist {

/// `shortlist serve` as a process of its own, on a free port, started from another directory.
class ServeProcess {
 public:
  /// `setup`: what a shell does before; `err`: a descriptor in place of Log's file.
  explicit ServeProcess(const Args& args, const std::string& setup = "true", int err = -1,
                        uint16_t port = 0);
  ~ServeProcess();
  ServeProcess(const ServeProcess&) = delete;
  ServeProcess& operator=(const ServeProcess&) = delete;

  /// The port it says to be ready on; 0 when it never does.
  uint16_t AwaitPort();

  /// Sends the signal.
  void Send(int signal) const;

  /// Sends the signal and waits for the end, half a minute at most; the exit code, or minus the
  /// signal.
  int Signal(int signal);

  std::string Log() const;

 private:
  const TempDir dir_;
  std::string log_;
  pid_t child_ = -1;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_CLI_SERVE_PROCESS_H_

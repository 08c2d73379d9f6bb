// The program: keeps the standard descriptors open, and runs one command.

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <system_error>

#include "cli/command_line.h"
#include "cli/exit_code.h"

namespace {

/// Fills closed standard descriptors. Otherwise a file or a client could get descriptor 2, and
/// messages to stderr would go there. Reads and writes of these descriptors still fail.
void HoldStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free descriptor, which is `fd`. Without /dev/null it stays closed.
    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  HoldStandardDescriptors();
  // A write that would exceed `ulimit -f` then fails with an error instead of a signal.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return shortlist::CommandLine().Run(argc, argv);
  } catch (const std::system_error& error) {
    // Thrown by any std::thread constructor.
    const bool is_thread = error.code() == std::errc::resource_unavailable_try_again;
    std::cerr << "shortlist: "
              << (is_thread ? "the system starts no more threads (ulimit -u, or the container's "
                              "limit of processes): raise it, or give fewer --threads: "
                            : "")
              << error.what() << "\n";
    return is_thread ? shortlist::kExitBadInput : shortlist::kExitFailed;
  } catch (const std::exception& error) {
    std::cerr << "shortlist: " << error.what() << "\n";
    return shortlist::kExitFailed;
  }
}

// The program: holds the standard descriptors open, and runs one command.

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <system_error>

#include "cli/command_line.h"
#include "cli/exit_code.h"

namespace {

/// A descriptor that is closed at the start would become that of a file or a client, and what is
/// written to stderr would go there. These fail instead, as they would have.
void HoldStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest that is free, which is this one. Without /dev/null it stays as it was.
    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  HoldStandardDescriptors();
  // A file that would exceed `ulimit -f` is then a failed write, which says so.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return shortlist::CommandLine().Run(argc, argv);
  } catch (const std::system_error& error) {
    // Of std::thread, whoever makes one.
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

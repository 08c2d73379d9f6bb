// The program: holds the standard descriptors open, and runs one command.

#include <fcntl.h>
#include <unistd.h>

#include <exception>
#include <iostream>

#include "cli/command_line.h"

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
  try {
    return shortlist::CommandLine().Run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "shortlist: " << error.what() << "\n";
    return shortlist::kExitFailed;
  }
}

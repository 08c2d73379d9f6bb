#include "tests/cli/serve_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

namespace shortlist {

ServeProcess::ServeProcess(const Args& args, const std::string& setup, int err, uint16_t port) {
  log_ = dir_.Join("log");
  Args full = Args{"/bin/sh", "-c",     setup + "; exec \"$0\" \"$@\"", SHORTLIST_BINARY,
                   "serve",   "--port", std::to_string(port),           "--threads",
                   "1"} +
              args;
  std::vector<char*> argv;
  for (std::string& arg : full) argv.push_back(arg.data());
  argv.push_back(nullptr);
  const std::string elsewhere = dir_.Join("");
  child_ = fork();
  if (child_ == 0) {
    if (err < 0) err = open(log_.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(err, STDERR_FILENO);
    if (chdir(elsewhere.c_str()) != 0) _exit(126);
    execv(argv[0], argv.data());
    _exit(127);
  }
}

ServeProcess::~ServeProcess() {
  if (child_ > 0) Signal(SIGKILL);
}

uint16_t ServeProcess::AwaitPort() {
  for (int i = 0; i < 3000; ++i) {
    const std::string log = Log();
    const size_t ready = log.find("event=ready");
    const size_t port = log.find("port=", ready);
    if (ready != log.npos && log.find('\n', port) != log.npos) {
      return static_cast<uint16_t>(std::atoi(log.c_str() + port + 5));
    }
    if (waitpid(child_, nullptr, WNOHANG) != 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ADD_FAILURE() << Log();
  return 0;
}

void ServeProcess::Send(int signal) const { kill(child_, signal); }

int ServeProcess::Signal(int signal) {
  Send(signal);
  int status = 0;
  for (int i = 0; i < 3000 && waitpid(child_, &status, WNOHANG) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (kill(child_, 0) == 0) {  // it has not ended
    ADD_FAILURE() << "no end after signal " << signal;
    kill(child_, SIGKILL);
    waitpid(child_, &status, 0);
  }
  child_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string ServeProcess::Log() const {
  std::ifstream in(log_, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace shortlist

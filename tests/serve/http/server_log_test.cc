// Log lines of a running server other than requests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST_F(ServeTest, DraftFailuresAreLoggedAtEachDoubling) {
  const std::string path =
      (std::filesystem::temp_directory_path() / absl::StrCat("server_log.", ::getpid())).string();
  std::atomic<int64_t> num_failures = 0;
  Start([&](Server::Options& options) {
    options.log_file = path;
    options.generator.load = [&] {
      EngineLoad load = engine_.Load();
      load.num_draft_failures = num_failures;
      load.draft_error = absl::InternalError("no \"room\"");
      return load;
    };
  });
  HttpClient client = Connect();
  for (const int64_t failures : {0, 1, 1, 3, 5, 9}) {
    num_failures = failures;
    const json body{{"text", "a"}, {"sampling_params", {{"max_new_tokens", 1}}}};
    EXPECT_EQ(client.Post("/generate", body).status, 200);
  }
  EXPECT_TRUE(AwaitIdle());
  Stop();
  server_.reset();  // the log is written to its end
  std::ifstream file(path);
  const std::string log(std::istreambuf_iterator<char>(file), {});
  for (const int count : {1, 3, 9}) {
    const std::string line =
        absl::StrCat("event=draft_failed failures=", count, R"( status="no \"room\"")");
    EXPECT_THAT(log, HasSubstr(line));
    EXPECT_EQ(log.find(line), log.rfind(line)) << log;
  }
  EXPECT_THAT(log, Not(HasSubstr("failures=0")));
  EXPECT_THAT(log, Not(HasSubstr("failures=5")));
  std::filesystem::remove(path);
}

TEST_F(ServeTest, LogBeginsWithModelAndAddress) {
  const std::string path =
      (std::filesystem::temp_directory_path() / absl::StrCat("server_log.", ::getpid())).string();
  Start([&](Server::Options& options) {
    options.log_file = path;
    options.summary = "model=m rows=512";
  });
  EXPECT_EQ(Connect().Get("/health").status, 200);
  const std::string url = absl::StrCat("event=ready url=http://127.0.0.1:", port(), " ");
  Stop();
  server_.reset();  // the log is written to its end
  std::ifstream file(path);
  const std::string log(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(log, HasSubstr("event=serving model=m rows=512\n"));
  EXPECT_THAT(log, HasSubstr(url));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace shortlist

#include "serve/access_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shortlist {
namespace {

using testing::HasSubstr;

TEST(AccessLogTest, AClientsValuesForgeNoFields) {
  testing::internal::CaptureStderr();
  {
    AccessLog log;
    log.Write({.id = R"(a"_status=500_\)", .route = "/health", .method = "GET", .status = 200});
  }  // its thread has written all then
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_THAT(line, HasSubstr(R"(event=request id="a\"_status=500_\\" method=GET)"));
  EXPECT_THAT(line, HasSubstr(" route=/health status=200 "));
}

}  // namespace
}  // namespace shortlist

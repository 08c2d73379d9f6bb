#include "serve/model_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/http/api_error.h"

namespace shortlist {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ModelNameTest, RepositoryKeepsOrganisationDirectoryKeepsLastPart) {
  EXPECT_EQ(DefaultModelName("Org/Name"), "Org/Name");
  EXPECT_EQ(DefaultModelName("Org/Name@main"), "Org/Name");
  EXPECT_EQ(DefaultModelName("models/demo"), "demo");  // a directory
  EXPECT_EQ(DefaultModelName("models/demo/target/"), "target");
  EXPECT_EQ(DefaultModelName("/no/such/Name"), "Name");
  EXPECT_EQ(DefaultModelName("./Name"), "Name");
  EXPECT_EQ(DefaultModelName("../Name"), "Name");
}

TEST(ModelNameTest, LastPartIsAccepted) {
  EXPECT_THAT(ServedNames("Org/Name"), ElementsAre("Org/Name", "Name"));
  EXPECT_THAT(ServedNames("demo"), ElementsAre("demo"));
  EXPECT_THAT(ServedNames("demo/"), ElementsAre("demo/"));
}

TEST(ModelNameTest, UnknownModelErrorNamesServedModel) {
  for (const char* name : {"Org/Name", "Name", "default", ""}) {
    EXPECT_TRUE(CheckModelName("Org/Name", name).ok()) << name;
  }
  const absl::Status refused = CheckModelName("Org/Name", "gpt-4o");
  EXPECT_EQ(HttpStatusOf(refused), 404);
  EXPECT_EQ(CodeOf(refused), "model_not_found");
  EXPECT_EQ(ParamOf(refused), "model");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("`gpt-4o`"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("`Org/Name`"));
}

}  // namespace
}  // namespace shortlist

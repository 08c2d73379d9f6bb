#include "cli/flags/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using testing::HasSubstr;

/// Sets an environment variable while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* const name_;
};

ServeFlags Flags(std::vector<std::string> api_keys, std::string api_key_file,
                 std::string admin_key = "") {
  ServeFlags flags;
  flags.api_keys = std::move(api_keys);
  flags.api_key_file = std::move(api_key_file);
  flags.admin_key = std::move(admin_key);
  return flags;
}

/// Returns the error of ReadKeys, and its standard error in `warnings`.
std::string KeysError(const ServeFlags& flags, std::string& warnings) {
  testing::internal::CaptureStderr();
  const absl::Status status = ReadKeys(flags).status();
  warnings = testing::internal::GetCapturedStderr();
  return std::string(status.message());
}

TEST(KeysTest, EmptyKeyInEnvironmentIsRejected) {
  for (const char* name : {"SHORTLIST_API_KEY", "SHORTLIST_ADMIN_KEY"}) {
    for (const char* value : {"", " ", "two words", "key "}) {
      const Variable variable(name, value);
      const absl::Status status = ReadKeys({}).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(status.message()), HasSubstr(name)) << value;
    }
  }
}

TEST(KeysTest, FlagsOverrideEnvironmentAndFileAddsToBoth) {
  const TempDir dir;
  const std::string file = dir.Write("keys", "bob one\ntwo\n");
  chmod(file.c_str(), 0600);
  const Variable api("SHORTLIST_API_KEY", "of-the-environment");
  const Variable admin("SHORTLIST_ADMIN_KEY", "admin-of-the-environment");
  auto keys = ReadKeys(Flags({}, file));
  ASSERT_TRUE(keys.ok()) << keys.status();
  ASSERT_EQ(keys->api.size(), 3u);
  EXPECT_EQ(keys->api[0].key, "of-the-environment");
  EXPECT_EQ(keys->api[1].name, "bob");
  EXPECT_EQ(keys->api[2].key, "two");
  EXPECT_EQ(keys->admin, "admin-of-the-environment");
  keys = ReadKeys(Flags({"a", "b"}, "", "c"));
  ASSERT_TRUE(keys.ok()) << keys.status();
  ASSERT_EQ(keys->api.size(), 2u);
  EXPECT_EQ(keys->api[1].key, "b");
  EXPECT_EQ(keys->admin, "c");
}

TEST(KeysTest, KeysOfFlagsFileAndEnvironmentMustDiffer) {
  const TempDir dir;
  const std::string file = dir.Write("keys", "bob one\ntwo\n");
  chmod(file.c_str(), 0600);
  std::string warnings;
  EXPECT_THAT(KeysError(Flags({}, file, "one"), warnings),
              HasSubstr("\"bob\" and \"admin key\" are the same key"));
  EXPECT_EQ(warnings, "");
  const Variable variable("SHORTLIST_API_KEY", "two");
  EXPECT_THAT(KeysError(Flags({}, file), warnings),
              HasSubstr("\"key 1\" and \"key 3\" are the same key"));
  chmod(file.c_str(), 0640);
  EXPECT_EQ(KeysError(Flags({"three"}, file), warnings), "");
  EXPECT_THAT(warnings, HasSubstr(file + " is open to others than its owner (mode 640)"));
}

}  // namespace
}  // namespace shortlist

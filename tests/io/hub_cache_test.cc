#include "io/hub_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kVariables[] = {"HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HOME"};

/// A cache with one repository of two commits, laid out as huggingface_hub does.
class HubCacheTest : public testing::Test {
 protected:
  HubCacheTest() {
    for (const char* name : kVariables) {
      const char* value = std::getenv(name);
      before_[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
      unsetenv(name);
    }
    const std::string folder = "home/hub/models--org--name/";
    fs::create_directories(dir_.Join(folder + "refs/refs/pr"));
    fs::create_directories(dir_.Join(folder + "snapshots/c0ffee"));
    fs::create_directories(dir_.Join(folder + "snapshots/decade"));
    dir_.Write(folder + "refs/main", "c0ffee");
    dir_.Write(folder + "refs/v1.0", "decade\n");
    dir_.Write(folder + "refs/refs/pr/1", "decade");
    dir_.Write(folder + "refs/gone", "facade");
    dir_.Write(folder + "refs/evil", "../../../..");
    dir_.Write(folder + "refs/empty", "");
    fs::create_directories(dir_.Join("home/hub/models--gpt2/snapshots/abc"));
    dir_.Write("home/hub/models--gpt2/snapshots/abc/config.json", "{}");
    setenv("HF_HOME", dir_.Join("home").c_str(), 1);
  }
  ~HubCacheTest() override {
    for (const auto& [name, value] : before_) {
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    }
  }
  std::string Snapshot(const std::string& commit) {
    return dir_.Join("home/hub/models--org--name/snapshots/" + commit);
  }
  absl::Status Refused(const std::string& model) { return ResolveModelDir(model).status(); }

  TempDir dir_;
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(HubCacheTest, NamesAndRevisionsSelectSnapshot) {
  EXPECT_EQ(ResolveModelDir("org/name").value(), Snapshot("c0ffee"));
  EXPECT_EQ(ResolveModelDir("org/name@main").value(), Snapshot("c0ffee"));
  EXPECT_EQ(ResolveModelDir("org/name@v1.0").value(), Snapshot("decade"));
  EXPECT_EQ(ResolveModelDir("org/name@refs/pr/1").value(), Snapshot("decade"));
  EXPECT_EQ(ResolveModelDir("org/name@decade").value(), Snapshot("decade"));
  EXPECT_EQ(ResolveModelDir("gpt2@abc").value(), dir_.Join("home/hub/models--gpt2/snapshots/abc"));
}

TEST_F(HubCacheTest, DirectoriesComeFirst) {
  EXPECT_EQ(ResolveModelDir(dir_.path()).value(), dir_.path());
  EXPECT_EQ(ResolveModelDir(".").value(), ".");
}

TEST_F(HubCacheTest, FirstSetVariableNamesCache) {
  setenv("HF_HUB_CACHE", dir_.Join("home/hub").c_str(), 1);
  setenv("HF_HOME", "/nowhere", 1);
  EXPECT_TRUE(ResolveModelDir("org/name").ok());
  unsetenv("HF_HUB_CACHE");
  EXPECT_THAT(std::string(Refused("org/name").message()),
              HasSubstr("/nowhere/hub/models--org--name"));
  unsetenv("HF_HOME");
  fs::create_directories(dir_.Join("x/huggingface"));
  fs::create_directory_symlink(dir_.Join("home/hub"), dir_.Join("x/huggingface/hub"));
  setenv("XDG_CACHE_HOME", dir_.Join("x").c_str(), 1);
  EXPECT_TRUE(ResolveModelDir("org/name").ok());
  unsetenv("XDG_CACHE_HOME");
  fs::create_directory_symlink(dir_.Join("x"), dir_.Join(".cache"));
  setenv("HOME", dir_.path().c_str(), 1);
  EXPECT_TRUE(ResolveModelDir("org/name").ok());
  unsetenv("HOME");
  EXPECT_THAT(std::string(Refused("org/name").message()), HasSubstr("no Hugging Face cache"));
}

TEST_F(HubCacheTest, MissingEntriesAreNamed) {
  for (const auto& [model, message] :
       {std::pair("org/other", "models--org--other"), std::pair("org/name@v2", "revision v2"),
        std::pair("org/name@gone", "snapshots/facade"), std::pair("gpt2", "revision main"),
        std::pair("./org/name", "./org/name: no such directory"),
        std::pair("/org/name", "/org/name: no such directory")}) {
    const absl::Status status = Refused(model);
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

TEST_F(HubCacheTest, HostileNamesAreRejected) {
  using std::string_literals::operator""s;
  for (const std::string& model : {""s,
                                   "a/b/c"s,
                                   "org/.."s,
                                   "x/../../etc"s,
                                   "org//name"s,
                                   "org/"s,
                                   "org/na me"s,
                                   "org/name\n"s,
                                   "org/name\0"s,
                                   "org/n\xc3\xa4me"s,
                                   "org--x/name"s,
                                   "org/a..b"s,
                                   "org/name@"s,
                                   "org/name@../../x"s,
                                   "org/name@a//b"s,
                                   "org/name@.."s,
                                   "org/name@a\\b"s,
                                   "org/name@main@main"s,
                                   "org/name@/etc"s,
                                   std::string(200, 'a'),
                                   "org/name@" + std::string(300, 'a'),
                                   "org/name@empty"s,
                                   "org/name@evil"s}) {
    EXPECT_EQ(Refused(model).code(), absl::StatusCode::kInvalidArgument) << Refused(model);
  }
}

}  // namespace
}  // namespace shortlist

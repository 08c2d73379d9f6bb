#include "io/folder_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "io/model_source.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FolderVersionsTest : public testing::Test {
 protected:
  FolderVersionsTest() {
    fs::create_directories(dir_.Join("model/1_Pooling"));
    dir_.Write("model/config.json", "{}");
    dir_.Write("model/1_Pooling/config.json", "{}");
    dir_.Write("model/README.md", "text");
  }

  std::string Change(const FolderVersions& versions) {
    return std::string(versions.CheckUnchanged().message());
  }

  TempDir dir_;
};

TEST_F(FolderVersionsTest, UnchangedFilesPass) {
  const FolderVersions versions = FolderVersions::Of(dir_.Join("model"));
  EXPECT_TRUE(versions.CheckUnchanged().ok());
  dir_.Write("model/README.md", "another text");  // not part of the model
  EXPECT_TRUE(versions.CheckUnchanged().ok());
  EXPECT_TRUE(FolderVersions::Of(dir_.Join("absent")).CheckUnchanged().ok());
}

TEST_F(FolderVersionsTest, ChangedFileIsNamed) {
  const FolderVersions versions = FolderVersions::Of(dir_.Join("model"));
  dir_.Write("model/1_Pooling/config.json", "{\"a\": 1}");
  EXPECT_THAT(Change(versions), HasSubstr("1_Pooling/config.json: changed"));
  const FolderVersions later = FolderVersions::Of(dir_.Join("model"));
  fs::remove(dir_.Join("model/config.json"));
  EXPECT_THAT(Change(later), HasSubstr("model/config.json: changed"));
  const FolderVersions last = FolderVersions::Of(dir_.Join("model"));
  dir_.Write("model/tokenizer.json", "{}");
  EXPECT_THAT(Change(last), HasSubstr("tokenizer.json: changed"));
}

TEST_F(FolderVersionsTest, RetargetedLinkIsChange) {
  fs::create_directories(dir_.Join("other"));
  dir_.Write("other/config.json", "{}");
  fs::create_directory_symlink("model", dir_.Join("current"));
  const FolderVersions versions = FolderVersions::Of(dir_.Join("current"));
  fs::remove(dir_.Join("current"));
  fs::create_directory_symlink("other", dir_.Join("current"));
  EXPECT_THAT(Change(versions), HasSubstr("config.json: changed"));
}

TEST_F(FolderVersionsTest, FileOfAnotherVersionIsNamed) {
  const std::string path = dir_.Join("model//1_Pooling/./config.json");
  const FolderVersions versions = FolderVersions::Of(dir_.Join("model"));
  EXPECT_TRUE(versions.Check(path, *VersionOf(path)).ok());
  dir_.Write("other.json", "{}");
  const absl::Status other = versions.Check(path, *VersionOf(dir_.Join("other.json")));
  EXPECT_THAT(std::string(other.message()), HasSubstr("config.json: changed"));
}

/// Between two looks at the directory it is another one.
TEST_F(FolderVersionsTest, SourceNotesDirectoryThatIsReplacedAndPutBack) {
  fs::create_directories(dir_.Join("other"));
  dir_.Write("other/config.json", "[]");
  fs::create_directory_symlink("model", dir_.Join("current"));
  const ModelSource source = ModelSource::OfDirectory(dir_.Join("current"));
  EXPECT_EQ(source.Read("config.json", 100).value(), "{}");
  const auto point_to = [&](const char* folder) {
    fs::remove(dir_.Join("current"));
    fs::create_directory_symlink(folder, dir_.Join("current"));
  };
  point_to("other");
  EXPECT_THAT(std::string(source.Read("config.json", 100).status().message()),
              HasSubstr("current/config.json: changed while the model was read"));
  point_to("model");
  EXPECT_TRUE(source.CheckUnchanged().ok());
}

}  // namespace
}  // namespace shortlist

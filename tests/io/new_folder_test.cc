#include "io/new_folder.h"

#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class NewFolderTest : public ::testing::Test {
 protected:
  int64_t NumFiles() const {
    return std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator());
  }
  std::string Error(const std::string& path) const {
    return std::string(NewFolder::Create(path).status().message());
  }

  const TempDir dir_;
};

TEST_F(NewFolderTest, AppearsWhenItIsComplete) {
  auto folder = NewFolder::Create(dir_.Join("new/"));
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(folder->path(), dir_.Join("new"));
  ASSERT_TRUE(WriteFileAtomically(folder->Join("file"), "text").ok());
  EXPECT_FALSE(fs::exists(dir_.Join("new")));
  NewFolder moved = *std::move(folder);
  ASSERT_TRUE(moved.Commit().ok());
  EXPECT_EQ(*ReadFile(dir_.Join("new/file"), /*max_bytes=*/10), "text");
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(NewFolderTest, UncommittedFolderIsRemoved) {
  {
    const auto folder = NewFolder::Create(dir_.Join("new"));
    ASSERT_TRUE(folder.ok()) << folder.status();
    ASSERT_TRUE(WriteFileAtomically(folder->Join("file"), "text").ok());
    EXPECT_EQ(NumFiles(), 1);
  }
  EXPECT_EQ(NumFiles(), 0);
}

TEST_F(NewFolderTest, OnlyEmptyFolderIsReplaced) {
  fs::create_directory(dir_.Join("empty"));
  auto folder = NewFolder::Create(dir_.Join("empty"));
  ASSERT_TRUE(folder.ok()) << folder.status();
  ASSERT_TRUE(folder->Commit().ok());
  dir_.Write("empty/file", "text");
  EXPECT_THAT(Error(dir_.Join("empty")), HasSubstr("exists and is no empty folder"));
  EXPECT_THAT(Error(dir_.Write("file", "")), HasSubstr("exists and is no empty folder"));
  fs::create_directory_symlink(dir_.Join("nowhere"), dir_.Join("link"));
  EXPECT_THAT(Error(dir_.Join("link")), HasSubstr("exists and is no empty folder"));
  for (const std::string name : {"", "/", ".", "..", "//"}) {
    EXPECT_THAT(Error(name), HasSubstr("is no name of a new folder")) << name;
  }
  EXPECT_THAT(Error(dir_.Join("a/b")), HasSubstr("cannot make the folder: No such file"));
  // Another one was faster.
  auto late = NewFolder::Create(dir_.Join("taken"));
  ASSERT_TRUE(late.ok());
  fs::create_directory(dir_.Join("taken"));
  dir_.Write("taken/file", "text");
  EXPECT_THAT(std::string(late->Commit().message()), HasSubstr("cannot rename the folder"));
}

}  // namespace
}  // namespace shortlist

#include "base/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/file_pieces.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shortlist {
namespace {

using testing::HasSubstr;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    static int count = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("file_test." + std::to_string(getpid()) + "." + std::to_string(count++));
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  int64_t NumFiles() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

  std::filesystem::path folder_;
};

TEST_F(FileTest, VersionDetectsReplacedFile) {
  const std::string path = Path("a"), other = Path("b");
  EXPECT_EQ(VersionOf(path), std::nullopt);
  ASSERT_TRUE(WriteFileAtomically(path, "abc").ok());
  ASSERT_TRUE(WriteFileAtomically(other, "abc").ok());
  const auto before = VersionOf(path);
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(VersionOf(path), before);
  EXPECT_NE(VersionOf(other), before);
  // Written in place, its time set back.
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const auto time = std::filesystem::last_write_time(path);
  std::ofstream(path) << "xyz";
  std::filesystem::last_write_time(path, time);
  EXPECT_NE(VersionOf(path), before);
  const auto written = VersionOf(path);
  std::filesystem::rename(other, path);
  EXPECT_NE(VersionOf(path), written);
}

TEST_F(FileTest, RoundTrips) {
  for (const std::string& contents :
       {std::string(), std::string("a\0\r\nb", 5), std::string(70000, 'x')}) {
    ASSERT_TRUE(WriteFileAtomically(Path("f"), contents).ok());
    const auto read = ReadFile(Path("f"), /*max_bytes=*/70000);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, contents);
  }
}

TEST_F(FileTest, MissingFilesAreNotFound) {
  const auto read = ReadFile(Path("absent"), /*max_bytes=*/10);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr(Path("absent")));
  EXPECT_FALSE(ReadFile("", /*max_bytes=*/10).ok());
}

TEST_F(FileTest, DirectoriesAndDevicesAreRejected) {
  EXPECT_EQ(ReadFile(folder_.string(), /*max_bytes=*/10).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadFile("/dev/zero", /*max_bytes=*/10).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(FileTest, OversizedFilesAreRejectedWithBothSizes) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "12345678901").ok());
  const auto read = ReadFile(Path("f"), /*max_bytes=*/10);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("11 bytes, more than the 10"));
  EXPECT_TRUE(ReadFile(Path("f"), /*max_bytes=*/11).ok());
}

TEST_F(FileTest, WriteReplacesWholeFileAndLeavesNoOther) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "a long first text").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "short").ok());
  EXPECT_EQ(*ReadFile(Path("f"), /*max_bytes=*/100), "short");
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(FileTest, WriteKeepsModeOfReplacedFile) {
  namespace fs = std::filesystem;
  for (const fs::perms mode : {fs::perms(0600), fs::perms(0664), fs::perms(0444)}) {
    ASSERT_TRUE(WriteFileAtomically(Path("f"), "old").ok());
    fs::permissions(Path("f"), mode);
    ASSERT_TRUE(WriteFileAtomically(Path("f"), "new").ok());
    EXPECT_EQ(fs::status(Path("f")).permissions(), mode);
    EXPECT_EQ(*ReadFile(Path("f"), /*max_bytes=*/10), "new");
  }
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(FileTest, FailedWriteKeepsOldFileAndNamesPath) {
  std::filesystem::create_directory(folder_ / "taken");
  const absl::Status replaced = WriteFileAtomically(Path("taken"), "x");
  EXPECT_EQ(replaced.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(replaced.message()), HasSubstr(Path("taken")));
  EXPECT_EQ(NumFiles(), 1);
  EXPECT_EQ(WriteFileAtomically(Path("no/such/folder/f"), "x").code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(FileTest, WritesInPiecesAllOrNothing) {
  const auto write = [](const AppendBytes& append) {
    const absl::Status first = append("in ");
    return first.ok() ? append("pieces") : first;
  };
  ASSERT_TRUE(WriteFileAtomically(Path("f"), /*num_bytes=*/9, write).ok());
  EXPECT_EQ(*ReadFile(Path("f"), /*max_bytes=*/100), "in pieces");
  const auto fail = [](const AppendBytes& append) {
    EXPECT_TRUE(append("half").ok());
    return absl::DataLossError("the source ended");
  };
  EXPECT_EQ(WriteFileAtomically(Path("f"), /*num_bytes=*/9, fail),
            absl::DataLossError("the source ended"));
  EXPECT_EQ(*ReadFile(Path("f"), /*max_bytes=*/100), "in pieces");
  EXPECT_EQ(NumFiles(), 1);
  const absl::Status full = WriteFileAtomically("/dev/full", /*num_bytes=*/9, write);
  EXPECT_EQ(full.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(full.message()), HasSubstr("/dev/full: cannot write"));
}

TEST_F(FileTest, LinksUnderTemporaryNamesAreNotFollowed) {
  ASSERT_TRUE(WriteFileAtomically(Path("victim"), "precious").ok());
  const std::string planted = Path("f.tmp." + std::to_string(getpid()));
  std::filesystem::create_symlink(Path("victim"), planted);
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "new").ok());
  EXPECT_EQ(*ReadFile(Path("victim"), /*max_bytes=*/100), "precious");
  EXPECT_TRUE(std::filesystem::is_symlink(planted));
  EXPECT_EQ(NumFiles(), 3);
}

TEST_F(FileTest, NewFileModeFollowsUmask) {
  const mode_t before = umask(0027);
  EXPECT_TRUE(WriteFileAtomically(Path("f"), "x").ok());
  umask(before);
  EXPECT_EQ(std::filesystem::status(Path("f")).permissions(), std::filesystem::perms(0640));
}

TEST_F(FileTest, LongestNameIsWritten) {
  const std::string name(255, 'n');
  ASSERT_TRUE(WriteFileAtomically(Path(name), "old").ok());
  ASSERT_TRUE(WriteFileAtomically(Path(name), "new").ok());
  EXPECT_EQ(*ReadFile(Path(name), /*max_bytes=*/10), "new");
  EXPECT_THAT(std::string(WriteFileAtomically(Path(name + "n"), "x").message()),
              HasSubstr("File name too long"));
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(FileTest, FileSizeLimitKeepsOldFile) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "old").ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status above = WriteFileAtomically(Path("f"), std::string(1001, 'x'));
  const absl::Status at_limit = WriteFileAtomically(Path("g"), std::string(1000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(std::string(above.message()),
            Path("f") +
                ": cannot write: File too large (the limit of `ulimit -f`, or the file "
                "system's)");
  EXPECT_TRUE(at_limit.ok()) << at_limit;
  EXPECT_EQ(*ReadFile(Path("f"), /*max_bytes=*/10), "old");
  EXPECT_EQ(NumFiles(), 2);
}

TEST_F(FileTest, FullDeviceIsReported) {
  EXPECT_EQ(std::string(WriteFileAtomically("/dev/full", "x").message()),
            "/dev/full: cannot write: No space left on device");
}

TEST_F(FileTest, ConcurrentWritesLeaveOneWholeFile) {
  const auto contents = [](int thread) {
    return std::string(100000, static_cast<char>('a' + thread));
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(WriteFileAtomically(Path("f"), contents(t)).ok());
        const auto read = ReadFile(Path("f"), /*max_bytes=*/100000);
        ASSERT_TRUE(read.ok()) << read.status();
        EXPECT_EQ(*read, contents((*read)[0] - 'a'));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(FileTest, WriteFollowsLinkAndFillsPipe) {
  ASSERT_TRUE(WriteFileAtomically(Path("real"), "old").ok());
  std::filesystem::create_symlink(Path("real"), Path("link"));
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(*ReadFile(Path("real"), /*max_bytes=*/10), "new");

  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const int pipe = open(Path("pipe").c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_GE(pipe, 0);
  EXPECT_TRUE(WriteFileAtomically(Path("pipe"), "bytes").ok());
  char bytes[10];
  EXPECT_EQ(read(pipe, bytes, sizeof(bytes)), 5);
  close(pipe);
  EXPECT_TRUE(std::filesystem::is_fifo(Path("pipe")));
  EXPECT_EQ(NumFiles(), 3);
}

TEST_F(FileTest, CheckWritableDetectsUnwritablePath) {
  const auto refusal = [](const std::string& path) {
    const absl::Status status = CheckWritable(path);
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "old").ok());
  std::filesystem::create_directory(folder_ / "folder");
  std::filesystem::create_symlink(Path("f"), Path("link"));
  for (const std::string& path : {Path("new"), Path("f"), Path("link"), std::string("/dev/null"),
                                  std::string("a_name_in_this_folder")}) {
    EXPECT_EQ(refusal(path), "") << path;
  }
  EXPECT_THAT(refusal(""), HasSubstr("an empty name"));
  EXPECT_EQ(refusal(Path("folder")), Path("folder") + ": a directory");
  EXPECT_THAT(refusal(Path("absent/f")), HasSubstr("absent/: No such file or directory"));
  EXPECT_THAT(refusal(Path("f/below")), HasSubstr("/f/: Not a directory"));
  EXPECT_EQ(*ReadFile(Path("f"), /*max_bytes=*/10), "old");
  EXPECT_EQ(NumFiles(), 3);
}

TEST_F(FileTest, DanglingLinkIsNotMissingFile) {
  EXPECT_FALSE(FileExists(Path("link")));
  EXPECT_EQ(ReadFile(Path("link"), 10).status().code(), absl::StatusCode::kNotFound);
  std::filesystem::create_symlink(Path("nowhere"), Path("link"));
  EXPECT_TRUE(FileExists(Path("link")));
  const absl::Status status = ReadFile(Path("link"), 10).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), Path("link") + ": a symbolic link to nothing");
}

}  // namespace
}  // namespace shortlist

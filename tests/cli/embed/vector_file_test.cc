#include "cli/embed/vector_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/embed/npy.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const nlohmann::ordered_json kSettings = {{"model", "m"}, {"dtype", "f32"}, {"num_texts", 3}};

MATCHER_P(Holds, value, "") { return arg.ok() && *arg == value; }

std::string Contents(const std::string& path) { return ReadFile(path, 1 << 20).value(); }

/// A file of 3 rows, [3, 2].
class VectorFileTest : public ::testing::TestWithParam<const char*> {
 protected:
  absl::StatusOr<std::unique_ptr<VectorFile>> Open() {
    return VectorFile::Open(path_, kSettings, /*num_rows=*/3, /*width=*/2);
  }

  std::unique_ptr<VectorFile> OpenOrDie() {
    auto file = Open();
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }

  void ExpectRefused(const std::string& words) {
    const absl::Status status = Open().status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }

  bool is_npy() const { return std::strcmp(GetParam(), "npy") == 0; }

  const TempDir dir_;
  const std::string path_ = dir_.Join(std::string("v.") + GetParam());
  const std::string part_ = path_ + ".part";
  const std::vector<float> rows_[3] = {{0.5f, -1.0f}, {0.1f, 1e-30f}, {3.0f, 0.0f}};
};

INSTANTIATE_TEST_SUITE_P(Endings, VectorFileTest, ::testing::Values("npy", "jsonl"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(VectorFileTest, GetsFinalNameWhenComplete) {
  {
    const auto file = OpenOrDie();
    for (const auto& row : rows_) ASSERT_TRUE(file->Append(row).ok());
    EXPECT_FALSE(fs::exists(path_));
    ASSERT_TRUE(file->Finish().ok());
  }
  EXPECT_FALSE(fs::exists(part_) || fs::exists(SettingsPath(part_)));
  EXPECT_TRUE(CheckSettings(path_, kSettings).ok());
  if (is_npy()) {
    EXPECT_THAT(*ReadNpy(path_, 3, 2), ElementsAre(0.5f, -1.0f, 0.1f, 1e-30f, 3.0f, 0.0f));
  } else {
    EXPECT_EQ(Contents(path_),
              "{\"index\":0,\"embedding\":[0.5,-1]}\n{\"index\":1,\"embedding\":[0.1,1e-30]}\n"
              "{\"index\":2,\"embedding\":[3,0]}\n");
  }
}

TEST_P(VectorFileTest, ResumesAfterAnyTruncation) {
  {
    const auto file = OpenOrDie();
    for (const auto& row : rows_) ASSERT_TRUE(file->Append(row).ok());
    ASSERT_TRUE(file->Finish().ok());
  }
  const std::string whole = Contents(path_);
  for (size_t size = 0; size <= whole.size(); ++size) {
    SCOPED_TRACE(size);
    dir_.Write(fs::path(part_).filename(), whole.substr(0, size));
    dir_.Write(fs::path(SettingsPath(part_)).filename(), kSettings.dump());
    fs::remove(path_);
    const auto file = OpenOrDie();
    if (file->num_done() > 0) {
      EXPECT_TRUE(file->CheckFirstRow(rows_[0]).ok());
      EXPECT_FALSE(file->CheckFirstRow(rows_[1]).ok());
    }
    while (file->num_done() < 3) ASSERT_TRUE(file->Append(rows_[file->num_done()]).ok());
    ASSERT_TRUE(file->Finish().ok());
    EXPECT_EQ(Contents(path_), whole);
  }
}

TEST_P(VectorFileTest, RowsLostInPowerFailureAreRecomputed) {
  {
    const auto file = OpenOrDie();
    for (const auto& row : rows_) ASSERT_TRUE(file->Append(row).ok());
    ASSERT_TRUE(file->Finish().ok());
  }
  const std::string whole = Contents(path_);
  const size_t second = is_npy() ? whole.size() - 2 * 2 * sizeof(float) : whole.find('\n') + 1;
  // From within the first row and from the second one on there are zeros.
  for (const size_t begin : {second - 3, second}) {
    std::string empty = whole;
    std::fill(empty.begin() + static_cast<int64_t>(begin), empty.end(), '\0');
    dir_.Write(fs::path(part_).filename(), empty);
    dir_.Write(fs::path(SettingsPath(part_)).filename(), kSettings.dump());
    fs::remove(path_);
    fs::remove(SettingsPath(path_));
    const auto file = OpenOrDie();
    EXPECT_LE(file->num_done(), 1);
    while (file->num_done() < 3) ASSERT_TRUE(file->Append(rows_[file->num_done()]).ok());
    ASSERT_TRUE(file->Finish().ok());
    EXPECT_EQ(Contents(path_), whole);
  }
}

TEST_P(VectorFileTest, ResumesAfterInterruptedRename) {
  // A directory takes no file's name, so it stops there.
  for (const std::string& stop : {SettingsPath(path_), path_}) {
    SCOPED_TRACE(stop);
    {
      const auto file = OpenOrDie();
      while (file->num_done() < 3) ASSERT_TRUE(file->Append(rows_[file->num_done()]).ok());
      fs::create_directory(stop);
      EXPECT_FALSE(file->Finish().ok());
    }
    fs::remove(stop);
    // Between the name of the settings and that of the vectors.
    if (stop == path_) fs::copy(SettingsPath(part_), SettingsPath(path_));
    EXPECT_THAT(IsWritten(path_, kSettings), Holds(false));
    const auto again = Open();
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*again)->num_done(), 3);
    EXPECT_TRUE((*again)->Finish().ok());
    EXPECT_THAT(IsWritten(path_, kSettings), Holds(true));
    EXPECT_FALSE(fs::exists(part_) || fs::exists(SettingsPath(part_)));
    fs::remove(path_);
    fs::remove(SettingsPath(path_));
  }
  // Both have their names, and the settings that of the .part still.
  {
    const auto file = OpenOrDie();
    while (file->num_done() < 3) ASSERT_TRUE(file->Append(rows_[file->num_done()]).ok());
    ASSERT_TRUE(file->Finish().ok());
  }
  fs::copy(SettingsPath(path_), SettingsPath(part_));
  EXPECT_THAT(IsWritten(path_, kSettings), Holds(true));
}

TEST_P(VectorFileTest, WithoutRowsNothingIsLeft) {
  OpenOrDie();
  EXPECT_TRUE(fs::is_empty(dir_.path()));
}

TEST_P(VectorFileTest, FilesOfOtherRunAreRejected) {
  {
    const auto file = OpenOrDie();
    ASSERT_TRUE(file->Append(rows_[0]).ok());
    const auto second = Open();
    EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  }
  const std::string before = Contents(part_);
  dir_.Write(fs::path(SettingsPath(part_)).filename(), R"({"model": "m", "dtype": "bf16"})");
  ExpectRefused("was made with \"dtype\" \"bf16\", this run has \"f32\"; remove " + part_);
  dir_.Write(fs::path(SettingsPath(part_)).filename(), "[]");
  ExpectRefused("does not say with which \"model\"");
  dir_.Write(fs::path(SettingsPath(part_)).filename(), "{");
  ExpectRefused("not valid JSON");
  fs::remove(SettingsPath(part_));
  ExpectRefused(part_ + " is there already, and is not taken up without its settings, " +
                SettingsPath(part_) + "; remove it, or choose another name");
  EXPECT_EQ(Contents(part_), before);

  dir_.Write(fs::path(SettingsPath(part_)).filename(), kSettings.dump());
  if (is_npy()) {
    dir_.Write(fs::path(part_).filename(), NpyHeader(4, 2) + std::string(32, '\0'));
    ExpectRefused("[3, 2]");
    dir_.Write(fs::path(part_).filename(), NpyHeader(3, 2) + std::string(32, '\0'));
  } else {
    dir_.Write(fs::path(part_).filename(), "\n\n\n\n");
  }
  ExpectRefused("holds 4 rows, more than 3");
}

TEST_P(VectorFileTest, UnwritablePathIsRejected) {
  fs::create_directory(path_);
  ExpectRefused("not a regular file");
  fs::remove(path_);
  EXPECT_TRUE(
      absl::IsUnavailable(VectorFile::Open(dir_.Join("none/v.npy"), kSettings, 3, 2).status()));
}

TEST_P(VectorFileTest, ExistingFilesAreNotOverwritten) {
  const std::string elsewhere = dir_.Write("elsewhere", kSettings.dump());
  for (const std::string& name : {path_, SettingsPath(path_), part_, SettingsPath(part_)}) {
    SCOPED_TRACE(name);
    for (const std::string& target : {elsewhere, dir_.Join("nowhere")}) {
      fs::create_symlink(target, name);
      ExpectRefused(name + ": not a regular file");
      EXPECT_TRUE(fs::is_symlink(name));
      fs::remove(name);
    }
    fs::create_directory(name);
    ExpectRefused(name + ": not a regular file");
    EXPECT_TRUE(fs::is_directory(name));
    fs::remove(name);
    ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);  // which would wait for a writer
    ExpectRefused(name + ": not a regular file");
    fs::remove(name);
    for (const char* const contents : {"notes", "{\"model\": \"m\"}", "[]"}) {
      dir_.Write(fs::path(name).filename(), contents);
      ExpectRefused(name + " is there already, and ");
      EXPECT_EQ(Contents(name), contents);
      fs::remove(name);
    }
    EXPECT_EQ(Contents(elsewhere), kSettings.dump());
    EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()), 1);
  }
}

TEST_P(VectorFileTest, FilesCreatedDuringWriteAreNotOverwritten) {
  for (const std::string& name : {path_, SettingsPath(path_)}) {
    SCOPED_TRACE(name);
    const auto file = OpenOrDie();
    while (file->num_done() < 3) ASSERT_TRUE(file->Append(rows_[file->num_done()]).ok());
    dir_.Write(fs::path(name).filename(), "notes");
    const absl::Status status = file->Finish();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(Contents(name), "notes");
    fs::remove(name);
  }
  EXPECT_EQ(OpenOrDie()->num_done(), 3);
}

TEST_P(VectorFileTest, FailedSettingsWriteLeavesNothing) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  const absl::Status status = Open().status();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(fs::is_empty(dir_.path()));
}

TEST_P(VectorFileTest, ResumesRunStoppedBeforeFirstRow) {
  dir_.Write(fs::path(part_).filename(), "");
  OpenOrDie();  // killed before it wrote its settings
  dir_.Write(fs::path(part_).filename(), "");
  dir_.Write(fs::path(SettingsPath(part_)).filename(), kSettings.dump());
  OpenOrDie();
  EXPECT_TRUE(fs::is_empty(dir_.path()));
}

TEST(VectorFileNameTest, OtherExtensionsAreRejected) {
  const TempDir dir;
  for (const char* const name : {"v.csv", "v", "npy"}) {
    const auto file = VectorFile::Open(dir.Join(name), kSettings, 3, 2);
    EXPECT_TRUE(absl::IsInvalidArgument(file.status())) << file.status();
  }
}

TEST(NpyTest, HeaderMatchesNumpy) {
  // numpy.lib.format.magic(1, 0), then what numpy.save writes for np.zeros((3, 2), "<f4").
  const std::string header = NpyHeader(3, 2);
  EXPECT_EQ(header.size(), 128u);
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_THAT(header.substr(10),
              HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }  "));
  EXPECT_EQ(header.back(), '\n');
  EXPECT_EQ(NpyHeader(int64_t{1} << 40, 123456789).size() % 64, 0u);
}

TEST(NpyTest, OtherFilesAreRejected) {
  const TempDir dir;
  const std::string header = NpyHeader(1, 2);
  const auto refusal = [&dir](const std::string& contents) {
    const absl::Status status = ReadNpy(dir.Write("v.npy", contents), 1, 2).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal(""), HasSubstr("[1, 2]"));
  EXPECT_THAT(refusal("text"), HasSubstr("begins with \"text\""));
  EXPECT_THAT(refusal(NpyHeader(2, 1) + std::string(8, '\0')), HasSubstr("(2, 1)"));
  EXPECT_THAT(refusal(header + std::string(7, '\0')), HasSubstr("not 136"));
  EXPECT_THAT(refusal(header + std::string(9, '\0')), HasSubstr("137"));
  const float values[2] = {1.0f, std::numeric_limits<float>::quiet_NaN()};
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), values, 8);
  EXPECT_THAT(refusal(header + bytes), HasSubstr("row 0 holds nan"));
  EXPECT_TRUE(absl::IsNotFound(ReadNpy(dir.Join("none"), 1, 2).status()));
}

}  // namespace
}  // namespace shortlist

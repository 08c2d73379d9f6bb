#include "runtime/sketch_file.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/matrices.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

SketchBasis SmallBasis() {
  return {.rows = Rising(8, 10, 1.0f),
          .states = Rising(8, 10, -0.5f),
          .probe_ids = {0, 3, 9},
          .probes = Rising(3, 8, 1.0f)};
}

class SketchFileTest : public testing::Test {
 protected:
  std::string path() const { return dir_.Join("demo.sketch"); }

  /// The message with which the basis is refused that `spoil` has changed.
  std::string Refusal(const std::function<void(SketchBasis&)>& spoil) {
    SketchBasis basis = SmallBasis();
    spoil(basis);
    EXPECT_TRUE(WriteSketchFile(basis, path()).ok());
    const auto read = ReadSketchFile(path());
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(path()));
    return std::string(read.status().message());
  }

  TempDir dir_;
};

TEST_F(SketchFileTest, RoundTrips) {
  const SketchBasis basis = SmallBasis();
  ASSERT_TRUE(WriteSketchFile(basis, path()).ok());
  const auto read = ReadSketchFile(path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(std::ranges::equal(Values(read->rows), Values(basis.rows)));
  EXPECT_TRUE(std::ranges::equal(Values(read->states), Values(basis.states)));
  EXPECT_TRUE(std::ranges::equal(Values(read->probes), Values(basis.probes)));
  EXPECT_EQ(read->probe_ids, basis.probe_ids);
  EXPECT_EQ(read->rank(), 8);
  EXPECT_EQ(read->hidden(), 10);
}

TEST_F(SketchFileTest, KeepsNumberOfStates) {
  SketchBasis basis = SmallBasis();
  basis.num_states = 2048;
  ASSERT_TRUE(WriteSketchFile(basis, path()).ok());
  EXPECT_EQ(ReadSketchFile(path())->num_states, 2048);
  basis.num_states = 0;
  ASSERT_TRUE(WriteSketchFile(basis, path()).ok());
  EXPECT_EQ(ReadSketchFile(path())->num_states, 0);
}

TEST_F(SketchFileTest, DamageIsDetected) {
  SketchBasis basis = SmallBasis();
  basis.num_states = 2048;
  ASSERT_TRUE(WriteSketchFile(basis, path()).ok());
  const std::string whole = *ReadFile(path(), /*max_bytes=*/1 << 20);
  // A bit of each of the last 400 bytes, which are of the matrices.
  for (size_t i = whole.size() - 400; i < whole.size(); i += 7) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    dir_.Write("demo.sketch", damaged);
    EXPECT_FALSE(ReadSketchFile(path()).ok()) << i;
  }
  EXPECT_THAT(Refusal([](SketchBasis& of) { of.num_states = int64_t{1} << 50; }),
              HasSubstr("num_states is 1125899906842624, not in [0, 1099511627776]"));
}

TEST_F(SketchFileTest, CachePathsDifferForDraftsOfSameName) {
  setenv("XDG_CACHE_HOME", dir_.path().c_str(), 1);
  ASSERT_TRUE(std::filesystem::create_directories(dir_.Join("a/draft")));
  ASSERT_TRUE(std::filesystem::create_directories(dir_.Join("b/draft")));
  const std::string path = CachedSketchPath(dir_.Join("a/draft"), 100);
  EXPECT_THAT(path, AllOf(HasSubstr(dir_.Join("shortlist/sketches/draft-100-")),
                          ::testing::EndsWith(".safetensors")));
  EXPECT_EQ(CachedSketchPath(dir_.Join("a/../a/draft"), 100), path);
  EXPECT_NE(CachedSketchPath(dir_.Join("b/draft"), 100), path);
  EXPECT_NE(CachedSketchPath(dir_.Join("a/draft"), 101), path);
  EXPECT_EQ(CachedSketchPath(dir_.Join("none"), 100), "");
  unsetenv("XDG_CACHE_HOME");
}

TEST_F(SketchFileTest, NamesMismatch) {
  EXPECT_THAT(Refusal([](SketchBasis& of) { of.rows = Filled(6, 10, 0.0f); }),
              HasSubstr("rank 6 is not a multiple of 8 in [8, 10]"));
  EXPECT_THAT(Refusal([](SketchBasis& of) { of.states = Filled(8, 5, 0.0f); }),
              HasSubstr("states is F32 [8, 5], not F32 [8, 10]"));
  EXPECT_THAT(Refusal([](SketchBasis& of) { of.probes = Filled(2, 8, 0.0f); }),
              HasSubstr("probes is F32 [2, 8], not F32 [3, 8]"));
  EXPECT_THAT(Refusal([](SketchBasis& of) {
                of.probe_ids = {0, 3, 3};
              }),
              HasSubstr("probe_ids holds 3 at 2"));
  EXPECT_THAT(Refusal([](SketchBasis& of) { of.probe_ids[0] = -1; }),
              HasSubstr("probe_ids holds -1 at 0"));
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    EXPECT_THAT(Refusal([&](SketchBasis& of) { of.states.floats()[7] = value; }),
                AllOf(HasSubstr("states holds"), HasSubstr("at 7")));
  }
}

TEST_F(SketchFileTest, EveryTruncationIsAnError) {
  ASSERT_TRUE(WriteSketchFile(SmallBasis(), path()).ok());
  const auto whole = ReadFile(path(), 1 << 20);
  ASSERT_TRUE(whole.ok());
  for (size_t size = 0; size < whole->size(); size += 13) {
    ASSERT_TRUE(WriteFileAtomically(path(), whole->substr(0, size)).ok());
    const auto read = ReadSketchFile(path());
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << size << ": " << read.status();
  }
}

TEST_F(SketchFileTest, MissingTensorIsNamed) {
  ASSERT_TRUE(WriteSketchFile(SmallBasis(), path()).ok());
  auto contents = *ReadFile(path(), 1 << 20);
  contents.replace(contents.find("\"probes\""), std::strlen("\"probes\""), "\"robots\"");
  ASSERT_TRUE(WriteFileAtomically(path(), contents).ok());
  EXPECT_THAT(std::string(ReadSketchFile(path()).status().message()),
              HasSubstr("has no tensor probes"));
  EXPECT_TRUE(absl::IsNotFound(ReadSketchFile(dir_.Join("none")).status()));
}

TEST_F(SketchFileTest, MomentsRoundTripAndDamageIsReported) {
  StateMoments moments;
  ASSERT_TRUE(moments.Add(Rising(3, 10, 0.1f)).ok());
  ASSERT_TRUE(WriteMomentsFile(moments, path()).ok());
  const auto read = ReadMomentsFile(path(), /*hidden=*/10);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->num_states(), 3);
  const Matrix mean = read->Mean(), expected = moments.Mean();
  for (int64_t i = 0; i < expected.num_elements(); ++i) {
    EXPECT_FLOAT_EQ(mean.floats()[i], expected.floats()[i]);
  }
  EXPECT_THAT(std::string(ReadMomentsFile(path(), /*hidden=*/11).status().message()),
              HasSubstr("not F32 [11, 11]"));
  EXPECT_THAT(std::string(ReadSketchFile(path()).status().message()), HasSubstr("no tensor rows"));
  std::string damaged = *ReadFile(path(), 1 << 20);
  damaged.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path(), damaged).ok());
  EXPECT_THAT(std::string(ReadMomentsFile(path(), /*hidden=*/10).status().message()),
              HasSubstr("checksum"));
}

TEST_F(SketchFileTest, FailedWriteKeepsOldFile) {
  const std::string blocked = dir_.Join("no/such/folder/demo.sketch");
  const absl::Status status = WriteSketchFile(SmallBasis(), blocked);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(blocked));

  ASSERT_TRUE(WriteSketchFile(SmallBasis(), path()).ok());
  std::filesystem::create_directory(dir_.Join("folder"));
  std::filesystem::create_directory(dir_.Join("folder/inside"));
  EXPECT_FALSE(WriteSketchFile(SmallBasis(), dir_.Join("folder")).ok());
  EXPECT_TRUE(ReadSketchFile(path()).ok());
}

}  // namespace
}  // namespace shortlist

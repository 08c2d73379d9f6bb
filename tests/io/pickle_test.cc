#include "io/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/raw_file.h"
#include "io/zip_directory.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using testing::ElementsAre;
using Kind = PickleValue::Kind;

TEST(PickleTest, ReadsListOfNumbers) {
  const auto file = RawFile::Open(SourcePath("tests/reference/golden/torch/ints.pt"));
  ASSERT_TRUE(file.ok()) << file.status();
  const auto members = ReadZipDirectory(*file);
  ASSERT_TRUE(members.ok()) << members.status();
  const ZipMember& member = members->at("ints/data.pkl");
  std::string bytes(member.size, '\0');
  ASSERT_TRUE(file->Read(member.offset, member.size, bytes.data()).ok());
  const auto pickle = ParsePickle(bytes, {});
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  const PickleValue& list = pickle->at(pickle->root);
  ASSERT_EQ(list.kind, Kind::kList);
  std::vector<int64_t> numbers;
  for (const int32_t item : list.items) {
    EXPECT_EQ(pickle->at(item).kind, Kind::kInt);
    numbers.push_back(pickle->at(item).integer);
  }
  EXPECT_THAT(numbers, ElementsAre(3, 1, 4, int64_t{1} << 40, -5));
}

TEST(PickleTest, ReadsEveryKindOfValue) {
  const std::string bytes = std::string("\x80\x02(N\x88\x89K\xffM\x34\x12J\xfe\xff\xff\xff", 16) +
                            std::string("\x8a\x00\x8a\x01\xff\x8a\x02\x00\x80", 9) +
                            std::string("G\x3f\xf8\x00\x00\x00\x00\x00\x00", 9) +
                            std::string("X\x02\x00\x00\x00hi)\x85", 9) + "]}t.";
  const auto pickle = ParsePickle(bytes, {});
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  std::vector<Kind> kinds;
  std::vector<int64_t> integers;
  for (const int32_t item : pickle->at(pickle->root).items) {
    kinds.push_back(pickle->at(item).kind);
    integers.push_back(pickle->at(item).integer);
  }
  EXPECT_THAT(kinds, ElementsAre(Kind::kNone, Kind::kBool, Kind::kBool, Kind::kInt, Kind::kInt,
                                 Kind::kInt, Kind::kInt, Kind::kInt, Kind::kInt, Kind::kFloat,
                                 Kind::kString, Kind::kTuple, Kind::kList, Kind::kDict));
  EXPECT_THAT(integers, ElementsAre(0, 1, 0, 255, 0x1234, -2, 0, -1, -32768, 0, 0, 0, 0, 0));
  const PickleValue& root = pickle->at(pickle->root);
  EXPECT_EQ(pickle->at(root.items[9]).real, 1.5);
  EXPECT_EQ(pickle->at(root.items[10]).text, "hi");
  EXPECT_EQ(pickle->at(root.items[11]).items.size(), 1u);
}

TEST(PickleTest, RejectsOtherGlobals) {
  const std::string bytes =
      "\x80\x02"
      "ca.b\nC\n)R.";
  EXPECT_FALSE(ParsePickle(bytes, {}).ok());
  const std::vector<const char*> allowed = {"a.b.C"};
  const auto pickle = ParsePickle(bytes, allowed);
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  const PickleValue& call = pickle->at(pickle->root);
  EXPECT_EQ(call.kind, Kind::kCall);
  EXPECT_EQ(pickle->at(call.items[0]).text, "a.b.C");
}

}  // namespace
}  // namespace shortlist

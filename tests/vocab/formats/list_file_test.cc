#include "vocab/formats/list_file.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/npy.h"
#include "io/torch_file.h"
#include "io/torch_writer.h"
#include "tests/vocab/test_util.h"
#include "vocab/formats/draft_map.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Error(const std::string& name, const std::string& contents, int64_t vocab_size = 10) {
  const auto list = ReadListFile(WriteTemp(name, contents), {.vocab_size = vocab_size});
  EXPECT_FALSE(list.ok()) << name;
  EXPECT_THAT(std::string(list.status().message()), HasSubstr(name));
  return std::string(list.status().message());
}

/// A safetensors file of d2t (I64 or shorter) and, where there is one, t2d (BOOL).
template <typename Integer = int64_t>
std::string DraftMapFile(const std::vector<Integer>& d2t, const std::string& t2d = "") {
  std::string bytes(reinterpret_cast<const char*>(d2t.data()), d2t.size() * sizeof(Integer));
  std::string header = R"({"d2t":{"dtype":"I)" + std::to_string(8 * sizeof(Integer)) +
                       R"(","shape":[)" + std::to_string(d2t.size()) + R"(],"data_offsets":[0,)" +
                       std::to_string(bytes.size()) + "]}";
  if (!t2d.empty()) {
    header += R"(,"t2d":{"dtype":"BOOL","shape":[)" + std::to_string(t2d.size()) +
              R"(],"data_offsets":[)" + std::to_string(bytes.size()) + "," +
              std::to_string(bytes.size() + t2d.size()) + "]}";
  }
  header += "}";
  uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + header + bytes + t2d;
}

TEST(ListFileTest, RoundTripsBetweenAllFormatsAreExact) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const int64_t vocab_size : {1, 2, 300, 70000}) {
    std::vector<int32_t> ids(vocab_size);
    for (int32_t i = 0; i < vocab_size; ++i) ids[i] = i;
    std::ranges::shuffle(ids, random);
    ids.resize((vocab_size + 1) / 2);
    VocabList list{.vocab_size = vocab_size, .ids = Ids(ids)};
    // Through every format in turn; only d2t has an order of its own.
    std::string from = TempPath("start.vocab.json");
    ASSERT_TRUE(WriteListFile(from, list).ok());
    for (const std::string name : {"a.pt", "a.npy", "a.txt", "a.vocab.json.xz", "b.pt", "a.pth"}) {
      const auto read = ReadListFile(from, {.vocab_size = vocab_size});
      ASSERT_TRUE(read.ok()) << read.status();
      from = TempPath(name);
      ASSERT_TRUE(WriteListFile(from, *read).ok());
      EXPECT_EQ(ReadListFile(from, {.vocab_size = vocab_size})->ids, list.ids) << name;
      EXPECT_FALSE(ReadListFile(from, {.vocab_size = vocab_size})->ranked) << name;
    }
    const std::string map = TempPath("a.safetensors");
    ASSERT_TRUE(WriteListFile(map, list).ok());
    const auto read = ReadListFile(map, {});  // t2d gives the vocabulary's size
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->vocab_size, vocab_size);
    std::ranges::sort(list.ids);
    EXPECT_EQ(read->ids, list.ids);
  }
}

TEST(ListFileTest, TorchFileIsTensorOrIntegerList) {
  const std::vector<int64_t> values = {151935, 0, -3, int64_t{1} << 40};
  const std::string path = WriteTemp("values.pt", TorchFileOf(values));
  EXPECT_EQ(*ReadTorchIntegers(path), values);
  EXPECT_EQ(ReadTorchIntegers(WriteTemp("none.pt", TorchFileOf({})))->size(), 0u);
  EXPECT_THAT(Error("minus.pt", TorchFileOf(values), 151936), HasSubstr("token id -3 at index 2"));
  EXPECT_THAT(Error("twice.pt", TorchFileOf(std::vector<int64_t>{4, 4})),
              HasSubstr("ids[1]: token id 4 repeats"));
  EXPECT_THAT(Error("empty.pt", TorchFileOf({})), HasSubstr("no token id"));
  const std::string good = TorchFileOf(values);
  for (size_t size = 0; size < good.size(); size += 13) {
    EXPECT_FALSE(ReadTorchIntegers(WriteTemp("cut.pt", good.substr(0, size))).ok()) << size;
  }
  // Fields of CRC-32 that are 0 are not checked, so the pickles below are read.
  std::string unchecked = good;
  for (size_t at = good.find("PK\1\2"); at != std::string::npos; at = good.find("PK\1\2", at + 1)) {
    unchecked.replace(at + 16, 4, 4, '\0');
  }
  std::string bools = unchecked;
  bools.replace(bools.find("LongStorage"), 11, "BoolStorage");
  EXPECT_THAT(Error("bools.pt", bools), HasSubstr("a tensor of bool, a mask and not integers"));
  // A pickle that would run a command where pickles are executed.
  const std::string name = "torch._utils\n_rebuild_tensor_v2";
  std::string command = "posix\nsystem\n";
  command.resize(name.size(), 'N');  // members stay where they are
  std::string hostile = unchecked;
  hostile.replace(hostile.find(name), name.size(), command);
  EXPECT_THAT(Error("hostile.pt", hostile), HasSubstr("posix"));
}

TEST(ListFileTest, OtherNpyShapesAndTypesAreRejected) {
  const std::vector<int64_t> values = {3, 1, 2};
  const std::string good = NpyFileOf(values);
  EXPECT_EQ(good.size() % 64, 24u);  // the data begins at a multiple of 64
  EXPECT_EQ(*ParseNpyIntegers(good), values);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string file = good;
    return file.replace(file.find(from), from.size(), to);
  };
  EXPECT_THAT(Error("f.npy", with("<i8", "<f8")), HasSubstr("dtype \"<f8\" is not"));
  EXPECT_THAT(Error("b.npy", with("<i8", ">i8")), HasSubstr("dtype \">i8\" is not"));
  EXPECT_THAT(Error("o.npy", with("<i8", "|O'")), HasSubstr("dtype"));
  EXPECT_THAT(Error("s.npy", with("(3,)", "(3 )")), HasSubstr("shape"));
  EXPECT_THAT(Error("l.npy", with("(3,)", "(4,)")), HasSubstr("24 bytes of data, not the 32"));
  EXPECT_THAT(Error("n.npy", with("(3,)", "(-,)")), HasSubstr("shape"));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ParseNpyIntegers(good.substr(0, size)).ok()) << size;
  }
  std::string narrow =
      with("<i8", "<u2").substr(0, good.size() - 24) + std::string("\xFF\xFF\1\0\0\0", 6);
  EXPECT_THAT(*ParseNpyIntegers(narrow), ElementsAre(65535, 1, 0));
  EXPECT_EQ(*ParseNpyIntegers(with("<i8", "<u8")), values);
  std::string large = with("<i8", "<u8");
  large.back() = '\x80';
  EXPECT_THAT(Error("large.npy", large), HasSubstr("element 2: 9223372036854775810 is not below"));
  EXPECT_THAT(Error("bool.npy", with("<i8", "|b1")), HasSubstr("a mask of bool, not token ids"));
  EXPECT_THAT(Error("twice.npy", with("'fortran_order': False", "'descr': '<i4',       ")),
              HasSubstr("'descr' twice"));
}

/// Pinned ids keep their rank; those without one come last. Brute force: the document's order.
TEST(ListFileTest, IdOnlyFormatsKeepRank) {
  const VocabList list{.vocab_size = 20,
                       .ids = Ids({5, 3, 9, 1}),
                       .counts = {9, 7, 7, 2},
                       .pinned = Ids({9, 12, 5, 0}),
                       .ranked = true};
  for (const std::string name : {"r.txt", "r.npy", "r.pt", "r.pth"}) {
    const std::string path = TempPath(name);
    ASSERT_TRUE(WriteListFile(path, list).ok());
    EXPECT_THAT(RawIds(ReadListFile(path, {.vocab_size = 20})->ids), ElementsAre(5, 3, 9, 1, 12, 0))
        << name;
  }
}

TEST(ListFileTest, DraftMapsHoldOffsets) {
  const auto list =
      ReadListFile(WriteTemp("m.safetensors", DraftMapFile({2, 2, 5})), {.vocab_size = 10});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(RawIds(list->ids), ElementsAre(2, 3, 7));
  for (const std::string& narrow :
       {DraftMapFile<int32_t>({9, -1, 5}), DraftMapFile<int16_t>({9, -1, 5}),
        DraftMapFile<int8_t>({9, -1, 5})}) {
    const auto read = ReadListFile(WriteTemp("n.safetensors", narrow), {.vocab_size = 10});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_THAT(RawIds(read->ids), ElementsAre(9, 0, 7));
  }
  EXPECT_THAT(Error("neg.safetensors", DraftMapFile({0, -2})),
              HasSubstr("d2t[1]: offset -2 leads out"));
  EXPECT_THAT(Error("big.safetensors", DraftMapFile({0, INT64_MAX})), HasSubstr("d2t[1]: offset"));
  EXPECT_THAT(Error("out.safetensors", DraftMapFile({0, 0, 8})),
              HasSubstr("token id 10 at index 2 not in [0, 10)"));
  EXPECT_THAT(Error("two.safetensors", DraftMapFile({0, -1})), HasSubstr("token id 0 repeats"));
  EXPECT_THAT(Error("mask.safetensors", DraftMapFile({1, 1}, std::string("\0\1\0", 3))),
              HasSubstr("t2d[2] is 0, and d2t names it"));
  EXPECT_THAT(Error("short.safetensors", DraftMapFile({1, 1}, std::string("\0\1", 2))),
              HasSubstr("d2t[1]: token id 2 not in [0, 2) of t2d"));
  EXPECT_THAT(Error("size.safetensors", DraftMapFile({1, 1}, std::string("\0\1\1", 3)), 2000),
              HasSubstr("vocab_size 3 is not the target's 2000"));
}

TEST(ListFileTest, FailedWriteKeepsOldFile) {
  const VocabList list{.vocab_size = 10, .ids = Ids({7, 2})};
  const std::string path = TempPath("whole.pt");
  ASSERT_TRUE(WriteListFile(path, list).ok());
  const std::string before = *ReadFile(path, 1 << 20);
  EXPECT_EQ(WriteListFile(path, VocabList{.vocab_size = 10}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*ReadFile(path, 1 << 20), before);
  EXPECT_EQ(WriteListFile("/dev/full/x.pt", list).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(WriteListFile(TempPath("x.bin"), list).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace shortlist

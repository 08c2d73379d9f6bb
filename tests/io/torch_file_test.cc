#include "io/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "io/safetensors.h"
#include "io/torch_writer.h"
#include "io/weight_files.h"
#include "model/decoder.h"
#include "tests/io/torch_archive.h"
#include "tests/model/model_fixture.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using std::string_literals::operator""s;
using testing::HasSubstr;

std::string Golden(const std::string& name) {
  return SourcePath("tests/reference/golden/torch/" + name);
}

std::string ReadOrDie(const std::string& path) { return ReadFile(path, 1 << 20).value(); }

std::string BytesOf(const TensorFile& file, const std::string& name) {
  const TensorEntry& entry = file.entries().at(name);
  std::string bytes(entry.num_bytes, '\0');
  EXPECT_TRUE(file.Read(entry, 0, entry.num_bytes, bytes.data()).ok());
  return bytes;
}

TEST(TorchFileTest, HoldsTensorsSavedByTorch) {
  const auto want = OpenSafetensors(Golden("model.safetensors"));
  ASSERT_TRUE(want.ok()) << want.status();
  for (const char* name : {"state_dict.bin", "parameters.bin", "views.bin"}) {
    SCOPED_TRACE(name);
    const auto file = OpenTorchFile(Golden(name));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_EQ(file->entries().size(), want->entries().size());
    for (const auto& [tensor, entry] : want->entries()) {
      ASSERT_TRUE(file->entries().contains(tensor)) << tensor;
      EXPECT_EQ(file->entries().at(tensor).shape, entry.shape) << tensor;
      EXPECT_EQ(file->entries().at(tensor).dtype, DType::kF16) << tensor;
      EXPECT_EQ(BytesOf(*file, tensor), BytesOf(*want, tensor)) << tensor;
    }
  }
}

TEST(TorchFileTest, BinAndSafetensorsGiveSameLogits) {
  ThreadPool pool(/*num_threads=*/2);
  const auto logits_of = [&](const std::vector<std::pair<std::string, std::string>>& files) {
    const TempDir dir;
    dir.Write("config.json", ReadOrDie(Golden("config.json")));
    for (const auto& [from, to] : files) dir.Write(to, ReadOrDie(Golden(from)));
    const auto decoder = LoadOrDie(dir.path(), std::nullopt, pool);
    return Logits(*decoder, RunChain(*decoder, RandomTokens(20, 40, /*seed=*/1)), pool);
  };
  const std::vector<float> want = logits_of({{"model.safetensors", "model.safetensors"}});
  EXPECT_EQ(logits_of({{"state_dict.bin", "pytorch_model.bin"}}), want);
  const std::string index = "pytorch_model.bin.index.json";
  const std::string first = "pytorch_model-00001-of-00002.bin";
  const std::string second = "pytorch_model-00002-of-00002.bin";
  EXPECT_EQ(logits_of({{index, index}, {first, first}, {second, second}}), want);

  const TempDir dir;
  dir.Write("config.json", ReadOrDie(Golden("config.json")));
  dir.Write(index, ReadOrDie(Golden(index)));
  dir.Write(first, ReadOrDie(Golden(first)));
  const absl::Status missing =
      Decoder::Load(ModelSource::OfDirectory(dir.path()), std::nullopt, pool).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr(second));
}

TEST(TorchFileTest, KnowsEveryElementType) {
  const auto file = OpenTorchFile(Golden("dtypes.pt"));
  ASSERT_TRUE(file.ok()) << file.status();
  for (const auto& [name, dtype_name] :
       {std::pair("float64", "F64"), std::pair("int64", "I64"), std::pair("int32", "I32"),
        std::pair("int16", "I16"), std::pair("int8", "I8"), std::pair("uint8", "U8"),
        std::pair("bool", "BOOL"), std::pair("bfloat16", "BF16")}) {
    EXPECT_EQ(file->entries().at(name).dtype_name, dtype_name);
    EXPECT_EQ(file->entries().at(name).shape, (std::vector<int64_t>{2, 3}));
  }
  EXPECT_EQ(BytesOf(*file, "uint8"), std::string(6, '\1'));
}

/// The ids that make_torch_golden.py writes, as torch.load(weights_only=True) reads them.
const std::vector<int64_t> kMapIds = {7, 12, 99, 500, 900};

TEST(TorchFileTest, TokenMapsOfUnsignedDtypesAreRead) {
  for (const char* const name : {"map_uint16.pt", "map_attribute.pt"}) {
    const auto ids = ReadTorchIntegers(Golden(name));
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_EQ(*ids, kMapIds) << name;
  }
}

TEST(TorchFileTest, UnsignedTensorsOfADictAreRead) {
  const auto file = OpenTorchFile(Golden("unsigned.pt"));
  ASSERT_TRUE(file.ok()) << file.status();
  const auto integers = [&](const std::string& name) {
    return file->ReadIntegers(file->entries().at(name));
  };
  EXPECT_EQ(*integers("uint16"), kMapIds);
  EXPECT_EQ(*integers("uint32"), (std::vector<int64_t>{7, 12, 99, 500, 4294967295}));
  EXPECT_EQ(*integers("uint64"), (std::vector<int64_t>{7, 12, 99, 500, int64_t{1} << 40}));
  EXPECT_EQ(*integers("strided"), (std::vector<int64_t>{3, 12, 21, 30, 39}));
  EXPECT_EQ(integers("none")->size(), 0u);
  EXPECT_EQ(file->entries().at("float8").dtype_name, "F8_E4M3");
  EXPECT_THAT(std::string(integers("too_large").status().message()),
              HasSubstr("element 1: 9223372036854775813 is not below 2^63"));
  EXPECT_THAT(std::string(integers("float8").status().message()),
              HasSubstr("F8_E4M3 of shape [2], not at most"));
}

/// torch.load gives the negated values, which the storage does not hold.
TEST(TorchFileTest, NegatedViewsAreRejected) {
  EXPECT_THAT(std::string(ReadTorchIntegers(Golden("map_negated.pt")).status().message()),
              HasSubstr("a view that negates or conjugates its storage"));
}

TEST(TorchFileTest, DictsAreDistinguishedFromIntegers) {
  EXPECT_TRUE(*IsTorchDict(Golden("d2t.pt")));
  EXPECT_FALSE(*IsTorchDict(Golden("map_uint16.pt")));
  EXPECT_FALSE(*IsTorchDict(Golden("ints.pt")));
  EXPECT_THAT(std::string(ReadTorchIntegers(Golden("d2t.pt")).status().message()),
              HasSubstr("a dict, not a list of integers or a tensor of them"));
}

/// "w" of strided.pt is torch.arange(6.0).view(2, 3).T.
TEST(TorchFileTest, StridedTensorsAreReadInShapeOrder) {
  const auto file = OpenTorchFile(Golden("strided.pt"));
  ASSERT_TRUE(file.ok()) << file.status();
  const TensorEntry& entry = file->entries().at("w");
  EXPECT_EQ(entry.shape, (std::vector<int64_t>{3, 2}));
  const std::vector<float> want = {0, 3, 1, 4, 2, 5};
  for (size_t begin = 0; begin < want.size(); ++begin) {
    std::vector<float> values(want.size() - begin);
    ASSERT_TRUE(file->Read(entry, begin * 4, values.size() * 4, values.data()).ok());
    EXPECT_EQ(values, std::vector<float>(want.begin() + begin, want.end()));
  }
}

TEST(TorchFileTest, UnsupportedContentIsRejectedByName) {
  const TempDir dir;
  std::string tar(1024, '\0');
  tar.replace(257, 5, "ustar");
  for (const auto& [path, message] : {
           std::pair(Golden("legacy.bin"), "a bare pickle, the legacy format"),
           std::pair(dir.Write("old.bin", tar), "a tar archive, the legacy format"),
       }) {
    const absl::Status status = OpenTorchFile(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
  EXPECT_EQ(OpenTorchFile(dir.Join("nowhere")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenTorchFile(dir.path()).status().code(), absl::StatusCode::kInvalidArgument);
  for (const std::string bytes : {"", "PK", "\x80\x02.", "{}"}) {
    EXPECT_EQ(OpenTorchFile(dir.Write("x", bytes)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(std::string(OpenTorchFile(Golden("ints.pt")).status().message()),
              HasSubstr("holds no dict of tensors"));
}

class TorchArchiveTest : public testing::Test {
 protected:
  absl::Status Open(const std::string& bytes) {
    return OpenTorchFile(dir_.Write("model.bin", bytes)).status();
  }
  std::string MessageOf(const std::string& bytes) { return std::string(Open(bytes).message()); }
  /// With `pickle` as data.pkl and a storage "0" of 24 bytes.
  std::string MessageOfPickle(const std::string& pickle) {
    return MessageOf(TorchArchive(pickle, {{"data/0", std::string(24, '\1')}}));
  }
  TempDir dir_;
};

TEST_F(TorchArchiveTest, HandMadeArchiveOpens) {
  const std::string pickle = StateDictPickle(TensorPickle({.size = {2, 3}, .stride = {3, 1}}));
  EXPECT_EQ(MessageOfPickle(pickle), "");
  // After an offset, with meaningless strides of one-element dimensions.
  EXPECT_EQ(MessageOfPickle(StateDictPickle(
                TensorPickle({.offset = 2, .size = {1, 4, 1}, .stride = {77, 1, 99}}))),
            "");
  EXPECT_EQ(MessageOfPickle(
                StateDictPickle(TensorPickle({.offset = 1, .size = {2, 3}, .stride = {0, 2}}))),
            "");
  EXPECT_EQ(MessageOfPickle(
                StateDictPickle(TensorPickle({.offset = 6, .size = {0, 5}, .stride = {5, 1}}))),
            "");
}

TEST_F(TorchArchiveTest, TensorsOutsideStorageAreRejected) {
  constexpr int64_t kHuge = int64_t{1} << 60;
  struct Case {
    TensorShape tensor;
    const char* message;
  };
  for (const auto& [tensor, message] : {
           Case{{.size = {7}, .stride = {1}}, "7 elements from element 0 on end after"},
           Case{{.offset = 1, .size = {6}, .stride = {1}}, "6 elements from element 1 on end"},
           Case{{.offset = 7, .size = {0}, .stride = {1}}, "from element 7 on end after"},
           Case{{.offset = kHuge, .size = {1}, .stride = {1}}, "end after its storage of 6"},
           Case{{.offset = -1, .size = {1}, .stride = {1}}, "offset -1 is negative"},
           Case{{.size = {kHuge}, .stride = {1}}, "not a whole number of bytes below 2^60"},
           Case{{.size = {kHuge, kHuge}, .stride = {1, 1}}, "more than 2^63 elements"},
           Case{{.size = {-1}, .stride = {1}}, "size -1 is negative"},
           Case{{.size = {2, 3}, .stride = {1}}, "2 dimensions and 1 strides"},
           Case{{.size = {4, 2}, .stride = {0, 1}},
                "8 elements (shape [4, 2], strides [0, 1]) share a storage of 6"},
           Case{{.size = {2, 3}, .stride = {1, 3}}, "from element 0 on end after its storage"},
           Case{{.offset = 1, .size = {3, 2}, .stride = {1, 3}}, "from element 1 on end after"},
           Case{{.size = {2, 3}, .stride = {3, -1}}, "stride -1 is negative"},
           Case{{.size = {2, 3}, .stride = {kHuge, 1}}, "strides [1152921504606846976, 1])"},
           Case{{.size = {3, 3}, .stride = {kHuge * 4, kHuge * 4}},
                "on end after its storage of 6"},
           Case{{.storage_size = 7, .size = {1}, .stride = {1}}, "7 elements of 4 bytes, but"},
           Case{{.storage_size = kHuge, .size = {1}, .stride = {1}}, "elements of 4 bytes, but"},
           Case{{.storage_size = -1, .size = {1}, .stride = {1}}, "storage size -1 is negative"},
           Case{{.key = "1", .size = {1}, .stride = {1}},
                "\"archive/data/1\" is not in the archive"},
           Case{{.key = "../0", .size = {1}, .stride = {1}}, "is not in the archive"},
       }) {
    EXPECT_THAT(MessageOfPickle(StateDictPickle(TensorPickle(tensor))), HasSubstr(message));
  }
}

TEST_F(TorchArchiveTest, ByteTensorsWithDtypeStayInsideStorage) {
  // (storage of 24 bytes, offset, size, stride, requires_grad, hooks, dtype)
  const auto pickle = [](const std::string& function, const std::string& size,
                         const std::string& dtype) {
    return StateDictPickle("c" + function +
                           "\n((X\7\0\0\0storagectorch.storage\nUntypedStorage\n"s +
                           "X\1\0\0\0000X\3\0\0\0cpuK\x18tQK\0"s + size +
                           "\x85K\1\x85\x89"
                           "ccollections\nOrderedDict\n)R" +
                           dtype + "tR");
  };
  const std::string v3 = "torch._utils\n_rebuild_tensor_v3";
  const auto message = [&](const std::string& size, const std::string& dtype) {
    return MessageOfPickle(pickle(v3, size, dtype));
  };
  EXPECT_EQ(message("K\x0C", "ctorch\nuint16\n"), "");
  EXPECT_EQ(message("K\3", "ctorch\nuint64\n"), "");
  EXPECT_THAT(message("K\x0D", "ctorch\nuint16\n"),
              HasSubstr("13 elements from element 0 on end after its storage of 12"));
  EXPECT_THAT(message("K\4", "ctorch\nuint64\n"), HasSubstr("after its storage of 3"));
  EXPECT_THAT(message("K\1", "ctorch\nqint8\n"), HasSubstr("names the global \"torch.qint8\""));
  EXPECT_THAT(message("K\1", "N"), HasSubstr("dtype \"\" is not one of torch's"));
  EXPECT_THAT(message("K\1", "ctorch\nLongStorage\n"), HasSubstr("is not one of torch's"));
  EXPECT_THAT(message("K\1", ""), HasSubstr("is not a tensor"));
}

TEST_F(TorchArchiveTest, HostilePicklesAreRejectedUnexecuted) {
  const std::string proto = "\x80\x02";
  const std::string marker = dir_.Join("executed");
  const std::string command = "touch " + marker;
  const std::string string_command = "X" + LittleEndian<uint32_t>(command.size()) + command;
  struct Case {
    std::string pickle;
    const char* message;
  };
  for (const auto& [pickle, message] : {
           Case{proto + "cos\nsystem\n" + string_command + "\x85R.",
                "names the global \"os.system\""},
           Case{proto + "cposix\nsystem\n" + string_command + "\x85R.", "\"posix.system\""},
           Case{proto + "c__builtin__\neval\n" + string_command + "\x85R.", "\"__builtin__.eval\""},
           Case{proto + "(ios\nsystem\n.", "opcode 0x69"},
           Case{proto + "(os.", "opcode 0x6f"},
           Case{proto + std::string("\x82\x01", 2) + ".", "opcode 0x82"},
           Case{std::string("\x80\x04\x95", 3), "protocol 4"},
           Case{proto + "\x8d" + LittleEndian<uint64_t>(uint64_t{1} << 60) + "x.", "opcode 0x8d"},
           Case{proto + "X" + LittleEndian<uint32_t>(0xfffffff0) + "x.",
                "a string of 4294967280 bytes"},
           Case{proto + "\x8b" + LittleEndian<uint32_t>(1 << 30) + "x.", "opcode 0x8b"},
           Case{proto + "\x8a\x09" + std::string(9, '\1') + ".", "an integer of 9 bytes"},
           Case{proto + "c" + std::string(100'000, 'a') + "\n", "has no end within"},
           Case{proto + std::string(1'000'000, '('), "cut short"},
           Case{proto + std::string(1'000'000, '(') + ".", "does not end with one value"},
           Case{proto + std::string(2'000'000, ']'), "values admitted here"},
           Case{proto + "t.", "there is no mark"},
           Case{proto + "\x87.", "empty stack"},
           Case{proto + "q" + std::string(1, '\0') + ".", "empty stack"},
           Case{proto + "(N(\x86.", "empty stack"},
           Case{proto + "h\x05.", "nothing was stored under 5"},
           Case{proto + "NNs.", "empty stack"},
           Case{proto + "NNNs.", "no dict"},
           Case{proto + "}(Nu.", "a key without a value"},
           Case{proto + "NNa.", "no list"},
           Case{proto + "NNb.", "what is not a dict"},
           Case{proto + "N)R.", "calls what is not a global"},
           Case{proto + "}}.", "does not end with one value"},
           Case{proto + "}.x", "goes on after its end"},
           Case{proto + ".", "does not end with one value"},
           Case{proto + "N.", "holds no dict of tensors"},
           Case{proto + "}NNs.", "a key of the dict is not a string"},
           Case{StateDictPickle("N"), "\"w\": is not a tensor"},
           Case{StateDictPickle("}"), "\"w\": is not a tensor"},
           Case{StateDictPickle("ctorch._utils\n_rebuild_tensor_v2\n)R"), "is not a tensor"},
           Case{StateDictPickle("ctorch._utils\n_rebuild_parameter\n)R"), "a parameter of nothing"},
           Case{StateDictPickle("ctorch\nFloatStorage\n)R"), "is not a tensor"},
           Case{StateDictPickle("ctorch._utils\n_rebuild_tensor_v2\n(NNNNt R"), "opcode 0x20"},
           Case{StateDictPickle("ctorch._utils\n_rebuild_tensor_v2\n(NNNNtR"), "has no storage"},
       }) {
    EXPECT_THAT(MessageOfPickle(pickle), HasSubstr(message));
  }
  EXPECT_FALSE(std::filesystem::exists(marker));
}

TEST_F(TorchArchiveTest, CyclicValuesAreError) {
  const std::string one(1, '\1');
  // A list that holds itself, as the value of "w"; a dict that holds itself, as the state dict.
  EXPECT_THAT(MessageOfPickle(StateDictPickle("]q" + one + "h" + one + "a")),
              HasSubstr("not a tensor"));
  EXPECT_THAT(
      MessageOfPickle("\x80\x02}q" + one + "X" + LittleEndian<uint32_t>(1) + "wh" + one + "s."),
      HasSubstr("not a tensor"));
}

TEST_F(TorchArchiveTest, EveryTruncationIsError) {
  const std::string pickle = StateDictPickle(TensorPickle({.size = {2, 3}, .stride = {3, 1}}));
  for (size_t length = 0; length < pickle.size(); ++length) {
    EXPECT_NE(MessageOfPickle(pickle.substr(0, length)), "") << length;
  }
  const std::string good = ReadOrDie(Golden("dtypes.pt"));
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(Open(good.substr(0, length)).ok()) << length;
  }
}

TEST_F(TorchArchiveTest, DamagedArchivesAreRejectedWithReason) {
  const std::string pickle = StateDictPickle(TensorPickle({.size = {2, 3}, .stride = {3, 1}}));
  const std::vector<ZipContent> members = {{"archive/data.pkl", pickle},
                                           {"archive/data/0", std::string(24, '\1')}};
  EXPECT_EQ(MessageOf(ZipBytes(members)), "");
  EXPECT_EQ(MessageOf(ZipBytes(members, {.zip64 = true})), "");
  EXPECT_THAT(MessageOf(ZipBytes(members, {.method = 8})), HasSubstr("is compressed"));
  EXPECT_THAT(MessageOf(ZipBytes(members, {.flags = 1})), HasSubstr("is encrypted"));
  EXPECT_THAT(MessageOf(ZipBytes(members, {.extra_size = 1 << 20})),
              HasSubstr("ends after the file's"));
  EXPECT_THAT(MessageOf(ZipBytes(members, {.extra_size = int64_t{1} << 60, .zip64 = true})),
              HasSubstr("ends after the file's"));
  EXPECT_THAT(MessageOf(ZipBytes(members, {.extra_offset = 1})), HasSubstr("no local header"));
  EXPECT_THAT(MessageOf(ZipBytes(members, {.extra_members = 1})),
              HasSubstr("member 2 of 3 is not in the central directory"));
  EXPECT_THAT(MessageOf(ZipBytes(members) + "x"), HasSubstr("no end of central directory"));
  EXPECT_THAT(MessageOf(ZipBytes({members[0], members[0]})), HasSubstr("is there twice"));
  EXPECT_THAT(MessageOf(ZipBytes({members[1]})), HasSubstr("without data.pkl"));
  EXPECT_THAT(MessageOf(ZipBytes({members[0]})), HasSubstr("is not in the archive"));
  EXPECT_THAT(MessageOf(ZipBytes({members[0], members[1], {"archive/byteorder", "big"}})),
              HasSubstr("byteorder \"big\""));
}

/// Returns `bytes` with a bit flipped in byte `place` of `part`, which occurs in it once.
std::string WithFlip(std::string bytes, const std::string& part, size_t place) {
  const size_t begin = bytes.find(part);
  EXPECT_NE(begin, std::string::npos) << part;
  EXPECT_EQ(bytes.find(part, begin + 1), std::string::npos) << part;
  if (begin != std::string::npos) bytes[begin + place] ^= 1;
  return bytes;
}

/// Returns an archive with the CRC-32 fields of its central directory set to 0.
std::string WithoutChecksums(std::string bytes) {
  for (size_t at = bytes.find("PK\1\2"); at != std::string::npos;
       at = bytes.find("PK\1\2", at + 1)) {
    bytes.replace(at + 16, 4, 4, '\0');
  }
  return bytes;
}

std::string DamagedRecord(const std::string& path, const std::string& record) {
  return path + ": damaged zip archive: record \"" + record + "\" has CRC-32 ";
}

TEST_F(TorchArchiveTest, DamagedIdsAreRejectedByRecord) {
  const std::vector<int64_t> ids = {500, 300, 900, 77, 12};
  const std::string good = TorchFileOf(ids);
  const std::string path = dir_.Write("ids.pt", good);
  EXPECT_EQ(*ReadTorchIntegers(path), ids);
  const std::string stored(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof ids[0]);
  for (size_t place = 0; place < stored.size(); ++place) {
    dir_.Write("ids.pt", WithFlip(good, stored, place));
    const absl::Status status = ReadTorchIntegers(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(DamagedRecord(path, "list/data/0")),
                                                     HasSubstr("copy or download the file again")));
  }
  // The pickle stays well-formed: only the storage's device changes.
  dir_.Write("ids.pt", WithFlip(good, "cpu", 0));
  EXPECT_THAT(std::string(ReadTorchIntegers(path).status().message()),
              HasSubstr(DamagedRecord(path, "list/data.pkl")));
  EXPECT_THAT(std::string(IsTorchDict(path).status().message()),
              HasSubstr(DamagedRecord(path, "list/data.pkl")));
}

TEST_F(TorchArchiveTest, DamagedGoldenIdsAreRejected) {
  const std::string good = ReadOrDie(Golden("map_attribute.pt"));
  const std::string path = dir_.Write("map.pt", good);
  EXPECT_EQ(*ReadTorchIntegers(path), kMapIds);
  dir_.Write("map.pt", WithFlip(good, LittleEndian(kMapIds[3]), 0));
  EXPECT_THAT(std::string(ReadTorchIntegers(path).status().message()),
              HasSubstr(DamagedRecord(path, "map_attribute/data/0")));
}

TEST_F(TorchArchiveTest, DamagedListOfIntegersIsRejected) {
  const std::string good = ReadOrDie(Golden("ints.pt"));
  const std::string path = dir_.Write("ints.pt", good);
  EXPECT_EQ(*ReadTorchIntegers(path), (std::vector<int64_t>{3, 1, 4, int64_t{1} << 40, -5}));
  dir_.Write("ints.pt", WithFlip(good, "K\4", 1));
  EXPECT_THAT(std::string(ReadTorchIntegers(path).status().message()),
              HasSubstr(DamagedRecord(path, "ints/data.pkl")));
}

TEST_F(TorchArchiveTest, DamagedWeightsAreRejectedByRecord) {
  const std::string path = dir_.Write("pytorch_model.bin", ReadOrDie(Golden("dtypes.pt")));
  const auto read = [&](const std::string& name) -> absl::Status {
    const absl::StatusOr<WeightFiles> weights = WeightFiles::Open(dir_.path());
    if (!weights.ok()) return weights.status();
    const WeightFiles::Location& location = weights->tensors().at(name);
    std::string bytes(location.entry->num_bytes, '\0');
    return weights->file(location).Read(*location.entry, 0, location.entry->num_bytes,
                                        bytes.data());
  };
  EXPECT_TRUE(read("float64").ok());
  EXPECT_TRUE(read("int64").ok());
  const std::string good = ReadOrDie(path);
  std::string ones;
  for (int i = 0; i < 6; ++i) ones += LittleEndian(1.0);
  dir_.Write("pytorch_model.bin", WithFlip(good, ones, 6));
  const absl::Status damaged = read("float64");
  EXPECT_EQ(damaged.code(), absl::StatusCode::kInvalidArgument) << damaged;
  EXPECT_THAT(std::string(damaged.message()), HasSubstr(DamagedRecord(path, "dtypes/data/0")));
  EXPECT_TRUE(read("int64").ok());  // in another record
  dir_.Write("pytorch_model.bin", WithFlip(good, "DoubleStorage", 0));
  EXPECT_THAT(std::string(read("float64").message()),
              HasSubstr(DamagedRecord(path, "dtypes/data.pkl")));
}

/// The damage lies outside the view that is read. The record takes several chunks.
TEST_F(TorchArchiveTest, RecordOfViewIsCheckedWhole) {
  constexpr int64_t kElements = 700'000;
  const std::string pickle = StateDictPickle(
      TensorPickle({.storage_size = kElements, .offset = 3, .size = {2}, .stride = {2}}));
  std::string storage(kElements * 4, '\1');
  storage[storage.size() - 3] = '\2';
  const std::string good = TorchArchive(pickle, {{"data/0", storage}});
  const auto intact = OpenTorchFile(dir_.Write("good.bin", good));
  ASSERT_TRUE(intact.ok()) << intact.status();
  EXPECT_EQ(BytesOf(*intact, "w"), std::string(8, '\1'));
  const std::string path = dir_.Write("bad.bin", WithFlip(good, "\1\2\1", 1));
  const auto damaged = OpenTorchFile(path);
  ASSERT_TRUE(damaged.ok()) << damaged.status();
  for (int i = 0; i < 2; ++i) {
    char bytes[4];
    EXPECT_THAT(
        std::string(damaged->Read(damaged->entries().at("w"), 0, sizeof bytes, bytes).message()),
        HasSubstr(DamagedRecord(path, "archive/data/0")));
  }
}

TEST(TorchFileTest, TensorsOfOneStorageShareCheck) {
  const auto file = OpenTorchFile(Golden("views.bin"));
  ASSERT_TRUE(file.ok()) << file.status();
  for (const auto& [name, entry] : file->entries()) {
    EXPECT_EQ(entry.record, file->entries().begin()->second.record) << name;
  }
}

/// torch.save writes CRC-32 fields of 0 after torch.serialization.set_crc32_options(False), and for
/// storages in torch.serialization.skip_data().
TEST_F(TorchArchiveTest, RecordsWithoutChecksumsAreRead) {
  const std::string good = WithoutChecksums(ReadOrDie(Golden("map_attribute.pt")));
  const std::string path = dir_.Write("map.pt", good);
  EXPECT_EQ(*ReadTorchIntegers(path), kMapIds);
  dir_.Write("map.pt", WithFlip(good, LittleEndian(kMapIds[3]), 0));
  EXPECT_EQ(*ReadTorchIntegers(path), (std::vector<int64_t>{7, 12, 99, 501, 900}));
}

/// The CRC-32 of every member, in the central directory, is that of its bytes.
TEST(TorchWriterTest, ChecksumsAreCorrect) {
  const std::string bytes = TorchFileOf(std::vector<int64_t>{500, 300, 900});
  const auto field = [&](size_t at, size_t size) {
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, size);
    return value;
  };
  int num_members = 0;
  for (size_t at = bytes.find("PK\1\2"); at != std::string::npos;
       at = bytes.find("PK\1\2", at + 1)) {
    const size_t local = field(at + 42, 4), size = field(at + 24, 4);
    const size_t data = local + 30 + field(local + 26, 2) + field(local + 28, 2);
    const auto* const begin = reinterpret_cast<const Bytef*>(bytes.data() + data);
    EXPECT_EQ(field(at + 16, 4), crc32_z(0, begin, size));
    EXPECT_EQ(field(local + 14, 4), field(at + 16, 4));
    ++num_members;
  }
  EXPECT_EQ(num_members, 4);
}

/// Without checksums, so that damaged pickles are parsed.
TEST_F(TorchArchiveTest, FlippedBytesNeverCrash) {
  const uint64_t seed = 20261121;
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  for (const char* name : {"dtypes.pt", "ints.pt"}) {
    const std::string good = WithoutChecksums(ReadOrDie(Golden(name)));
    for (int i = 0; i < 3000; ++i) {
      std::string bad = good;
      for (int flips = 0; flips < 1 + i % 4; ++flips) {
        bad[random() % bad.size()] = static_cast<char>(random());
      }
      const auto file = OpenTorchFile(dir_.Write("model.bin", bad));
      if (!file.ok()) continue;
      for (const auto& [tensor, entry] : file->entries()) {
        std::string bytes(entry.num_bytes, '\0');
        const absl::Status status = file->Read(entry, 0, entry.num_bytes, bytes.data());
        EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
      }
    }
  }
}

}  // namespace
}  // namespace shortlist

#include "io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "io/safetensors_writer.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SafetensorsTest : public testing::Test {
 protected:
  absl::StatusOr<TensorFile> Open(const std::string& bytes) {
    return OpenSafetensors(dir_.Write("model.safetensors", bytes));
  }
  absl::StatusOr<TensorFile> Open(const std::string& header, const std::string& data) {
    return Open(SafetensorsBytes(header, data));
  }
  TempDir dir_;
};

std::string GoodFile() {
  return SafetensorsBytes({MakeTensor("a", {2, 3}, {1, 2, 3, 4, 5, 6}, DType::kF32),
                           MakeTensor("b", {4}, {1, -2, 0.5, 8}, DType::kBf16),
                           MakeTensor("empty", {0, 7}, {}, DType::kF16),
                           MakeTensor("s", {}, {3}, DType::kF16)});
}

TEST_F(SafetensorsTest, ReadsEntries) {
  const auto file = Open(GoodFile());
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->entries().size(), 4u);
  const TensorEntry& a = file->entries().at("a");
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(a.dtype, DType::kF32);
  float values[6];
  ASSERT_TRUE(file->Read(a, /*begin=*/0, sizeof values, values).ok());
  EXPECT_EQ(values[5], 6.0f);
  uint16_t last = 0;
  ASSERT_TRUE(file->Read(file->entries().at("b"), /*begin=*/6, sizeof last, &last).ok());
  EXPECT_EQ(Bf16ToFloat(last), 8.0f);
  EXPECT_EQ(file->entries().at("empty").num_bytes, 0);
  EXPECT_EQ(file->entries().at("s").num_elements, 1);
}

TEST_F(SafetensorsTest, FileChangedWhileOpenIsRejected) {
  const auto file = Open(GoodFile());
  ASSERT_TRUE(file.ok()) << file.status();
  const TensorEntry& a = file->entries().at("a");
  float values[6];
  ASSERT_TRUE(file->Read(a, /*begin=*/0, sizeof values, values).ok());
  const auto copy = *file;
  // The clock of a file system goes in steps.
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  std::fstream(file->path(), std::ios::in | std::ios::out | std::ios::binary)
          .seekp(-1, std::ios::end)
      << 'x';
  for (const TensorFile* opened : {&*file, &copy}) {
    const absl::Status status = opened->Read(a, /*begin=*/0, sizeof values, values);
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(file->path()), HasSubstr("changed while it was read")));
  }
}

TEST_F(SafetensorsTest, WrittenFileRoundTripsWithAlignedData) {
  SafetensorsWriter writer;
  writer.SetMetadata("format", "of \"ours\"");
  writer.Add("z", "I64", std::vector<int64_t>{2}, std::string("0123456789abcdef"));
  writer.Add("a", "BOOL", std::vector<int64_t>{1, 3}, std::string("\0\1\0", 3));
  writer.Add("none", "F32", std::vector<int64_t>{0}, "");
  const std::string bytes = writer.File();
  uint64_t header_len = 0;
  std::memcpy(&header_len, bytes.data(), sizeof header_len);
  EXPECT_EQ(header_len % 8, 0u);
  EXPECT_EQ(bytes.substr(8 + header_len), "0123456789abcdef" + std::string("\0\1\0", 3));
  const auto file = Open(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->entries().size(), 3u);
  EXPECT_EQ(file->entries().at("a").shape, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(file->entries().at("a").dtype_name, "BOOL");
  std::string z(16, ' ');
  ASSERT_TRUE(file->Read(file->entries().at("z"), /*begin=*/0, z.size(), z.data()).ok());
  EXPECT_EQ(z, "0123456789abcdef");
}

TEST_F(SafetensorsTest, EveryTruncationIsErrorAtOpen) {
  const std::string good = GoodFile();
  for (size_t length = 0; length < good.size(); ++length) {
    SCOPED_TRACE(length);
    EXPECT_EQ(Open(good.substr(0, length)).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(std::string(Open(good.substr(0, good.size() - 1)).status().message()),
              HasSubstr("truncated"));
  EXPECT_EQ(Open(good + "x").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SafetensorsTest, InconsistentHeadersAreRejectedWithReason) {
  struct Case {
    const char* header;
    const char* message;
  };
  const std::string data(16, '\0');
  for (const auto& [header, message] : {
           Case{"", "does not begin with '{'"},
           Case{"[]", "does not begin with '{'"},
           Case{" {}", "does not begin with '{'"},
           Case{"{\"a\":", "not valid JSON"},
           Case{R"({"a":1})", "not an object"},
           Case{R"({"a":{"shape":[4],"data_offsets":[0,16]}})", "dtype missing"},
           Case{R"({"a":{"dtype":7,"shape":[4],"data_offsets":[0,16]}})",
                "dtype missing or not a string"},
           Case{R"({"a":{"dtype":"F31","shape":[4],"data_offsets":[0,16]}})",
                "unknown dtype \"F31\""},
           Case{R"({"a":{"dtype":"F32","data_offsets":[0,16]}})", "shape missing"},
           Case{R"({"a":{"dtype":"F32","shape":4,"data_offsets":[0,16]}})", "not an array"},
           Case{R"({"a":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})", "shape holds -4"},
           Case{R"({"a":{"dtype":"F32","shape":[4.0],"data_offsets":[0,16]}})", "shape holds 4.0"},
           Case{R"({"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,16]}})",
                "shape holds 9223372036854775808"},
           Case{R"({"a":{"dtype":"F32","shape":[9223372036854775807],"data_offsets":[0,16]}})",
                "below 2^60"},
           Case{R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,16]}})",
                "more than 2^63 elements"},
           Case{R"({"a":{"dtype":"F32","shape":[3037000500,3037000500],"data_offsets":[0,16]}})",
                "more than 2^63 elements"},
           Case{R"({"a":{"dtype":"F32","shape":[4]}})", "data_offsets missing"},
           Case{R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0]}})", "array of two"},
           Case{R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[-16,0]}})",
                "not an ascending pair"},
           Case{R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}})",
                "not an ascending pair"},
           Case{R"({"a":{"dtype":"F32","shape":[4],"data_offsets":["0","16"]}})",
                "not an ascending pair"},
           Case{R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,18446744073709551615]}})",
                "not an ascending pair"},
           Case{R"({"a":{"dtype":"F32","shape":[8],"data_offsets":[0,32]}})",
                "holds only 16 bytes"},
           Case{R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}})", "needs 12"},
           Case{R"({"a":{"dtype":"F16","shape":[4],"data_offsets":[0,16]}})", "needs 8"},
           Case{R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16],"extra":1}})",
                "unknown field"},
           Case{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                "describes 8 bytes of data"},
           Case{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", "leaves a hole"},
           Case{R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},
                    "b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
                "overlaps"},
           Case{R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},
                    "b":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
                "overlaps"},
           Case{R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},
                    "a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
                "appears twice"},
           Case{"{\"a\xff\":1}", "not valid JSON"},
       }) {
    SCOPED_TRACE(header);
    const absl::Status status = Open(header, data).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(message), HasSubstr("model.safetensors")));
  }
  const std::string deep = "{\"a\":" + std::string(1'000'000, '[');
  EXPECT_THAT(std::string(Open(deep, "").status().message()), HasSubstr("nested deeper"));
}

TEST_F(SafetensorsTest, HeaderLengthsAreBounded) {
  const auto open_with_length = [&](uint64_t length) {
    std::string bytes = GoodFile();
    std::memcpy(bytes.data(), &length, sizeof length);
    return std::string(Open(bytes).status().message());
  };
  EXPECT_THAT(open_with_length(100'000'001),
              HasSubstr("header of 100000001 bytes, more than the 100000000"));
  EXPECT_THAT(open_with_length(~uint64_t{0}), HasSubstr("18446744073709551615"));
  EXPECT_THAT(open_with_length(uint64_t{1} << 63), HasSubstr("9223372036854775808"));
  EXPECT_THAT(open_with_length(99'999'999), HasSubstr("truncated"));
  EXPECT_THAT(open_with_length(0), HasSubstr("does not begin with '{'"));
}

/// Elements of more bytes come first, whatever the order of the tensors.
TEST_F(SafetensorsTest, WrittenFileAlignsItsTensors) {
  const auto bytes_of = [](const std::string& bytes) {
    return [bytes](const AppendBytes& append) {
      const absl::Status first = append(bytes.substr(0, 1));
      return first.ok() ? append(bytes.substr(1)) : first;
    };
  };
  const std::string path = dir_.Join("written.safetensors");
  ASSERT_TRUE(
      WriteSafetensorsFile(
          path, {{"mask", "BOOL", {3}, 3, bytes_of("abc")},
                 {"half", "BF16", {1}, 2, bytes_of("de")},
                 {"none", "F32", {0, 5}, 0, {[](const AppendBytes&) { return absl::OkStatus(); }}},
                 {"ids", "I64", {1}, 8, bytes_of("ABCDEFGH")}})
          .ok());
  const auto file = OpenSafetensors(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->entries().size(), 4u);
  const auto expect = [&file](const char* name, const std::string& bytes, int64_t alignment) {
    const TensorEntry& entry = file->entries().at(name);
    EXPECT_EQ(entry.offset % alignment, 0) << name;
    std::string read(entry.num_bytes, '\0');
    ASSERT_TRUE(file->Read(entry, 0, entry.num_bytes, read.data()).ok());
    EXPECT_EQ(read, bytes);
  };
  expect("mask", "abc", 1);
  expect("half", "de", 2);
  expect("ids", "ABCDEFGH", 8);
  const std::string whole = *ReadFile(path, /*max_bytes=*/10000);
  EXPECT_THAT(whole, HasSubstr(R"("__metadata__":{"format":"pt"})"));
}

TEST_F(SafetensorsTest, NamesInMessagesAreEscapedAndShort) {
  const std::string name = "\\u001b[2J\\n" + std::string(5000, 'x');
  const std::string message(Open("{\"" + name + "\":1}", "").status().message());
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_LT(message.size(), dir_.path().size() + 300);
}

TEST_F(SafetensorsTest, OnlyRegularFilesAreOpened) {
  EXPECT_EQ(OpenSafetensors(dir_.Join("nowhere")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenSafetensors(dir_.path()).status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(mkfifo(dir_.Join("pipe").c_str(), 0600), 0);
  EXPECT_EQ(OpenSafetensors(dir_.Join("pipe")).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SafetensorsTest, FileTruncatedWhileOpenIsErrorNotCrash) {
  const auto file = Open(GoodFile());
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(file->path(), 20);
  float values[6];
  const absl::Status status =
      file->Read(file->entries().at("a"), /*begin=*/0, sizeof values, values);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cut short"));
}

TEST_F(SafetensorsTest, RandomDamageNeverGivesEntryOutsideFile) {
  const uint64_t seed = 20261121;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::string good = GoodFile();
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 1 + round % 3; ++i)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto file = Open(bytes);
    if (!file.ok()) continue;
    for (const auto& [name, entry] : file->entries()) {
      EXPECT_GE(entry.offset, 8);
      EXPECT_LE(entry.offset + entry.num_bytes, static_cast<int64_t>(bytes.size()));
      std::string data(entry.num_bytes, '\0');
      EXPECT_TRUE(file->Read(entry, 0, entry.num_bytes, data.data()).ok());
    }
  }
}

}  // namespace
}  // namespace shortlist

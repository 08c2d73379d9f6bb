#include "io/byte_source.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <map>
#include <random>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"

namespace shortlist {
namespace {

using ::testing::HasSubstr;

std::string PackGzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string PackZstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  return packed;
}

std::map<std::string, std::string (*)(const std::string&)> Packers() {
  return {{"gzip", PackGzip}, {"xz", PackXz}, {"zstd", PackZstd}};
}

/// Some text that packs, longer than a chunk.
std::string LongText() {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < 3 * ByteSource::kChunkBytes)
    text += "line " + std::to_string(random() % 5000) + "\n";
  return text;
}

/// Returns the readable bytes, and the status at their end.
std::pair<std::string, absl::Status> ReadAll(const std::string& bytes) {
  std::istringstream in(bytes);
  auto source = ByteSource::Of(in, "it");
  if (!source.ok()) return {"", source.status()};
  std::string all;
  for (std::string chunk;;) {
    const absl::Status status = (*source)->Read(chunk);
    if (!status.ok()) return {all, status};
    if (chunk.empty()) {
      EXPECT_EQ((*source)->num_stored_bytes(), std::ssize(bytes));
      return {all, status};
    }
    EXPECT_GT((*source)->num_stored_bytes(), 0);
    EXPECT_LE(chunk.size(), ByteSource::kChunkBytes);
    all += chunk;
  }
}

TEST(ByteSourceTest, DetectsFormatByFirstBytes) {
  const std::string text = LongText();
  EXPECT_EQ(ReadAll(text).first, text);
  EXPECT_EQ(ReadAll("").first, "");
  for (const auto& [name, pack] : Packers()) {
    EXPECT_EQ(ReadAll(pack(text)).first, text) << name;
    EXPECT_EQ(ReadAll(pack("")).first, "") << name;
    EXPECT_TRUE(ReadAll(pack("")).second.ok()) << name;
    // Consecutive members, as written by appending to a log.
    EXPECT_EQ(ReadAll(pack("one ") + pack("two")).first, "one two") << name;
  }
}

TEST(ByteSourceTest, DamagedArchiveIsReportedAfterValidBytes) {
  const std::string text = LongText();
  for (const auto& [name, pack] : Packers()) {
    const std::string packed = pack(text);
    for (const size_t size : {size_t{7}, packed.size() / 2, packed.size() - 1}) {
      const auto [read, status] = ReadAll(packed.substr(0, size));
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name << " " << size;
      EXPECT_THAT(std::string(status.message()), HasSubstr("it: damaged")) << name;
      EXPECT_EQ(text.compare(0, read.size(), read), 0) << name;
    }
    std::string wrong = packed;
    for (size_t i = packed.size() / 2; i < packed.size() / 2 + 8; ++i) wrong[i] ^= 0x55;
    const auto [read, status] = ReadAll(wrong);
    EXPECT_TRUE(!status.ok() || read != text) << name;
    EXPECT_LE(read.size(), 2 * text.size()) << name;
  }
}

TEST(ByteSourceTest, TrailingBytesAreNotReportedAsTruncation) {
  const std::string packed = PackXz("text");
  for (const std::string& rest : {std::string("x"), std::string(40, 'x'), std::string("\0x", 2),
                                  std::string(3, '\0') + PackXz("more")}) {
    const auto [read, status] = ReadAll(packed + rest);
    EXPECT_EQ(read, "text");
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("it: damaged: xz: bytes after its end, which are no xz stream"));
  }
  for (const std::string& padding : {std::string(4, '\0'), std::string(400, '\0')}) {
    EXPECT_EQ(ReadAll(packed + padding).first, "text");
    EXPECT_TRUE(ReadAll(packed + padding).second.ok());
    EXPECT_EQ(ReadAll(packed + padding + PackXz("more")).first, "textmore");
  }
  EXPECT_THAT(std::string(ReadAll(packed.substr(0, packed.size() - 1)).second.message()),
              HasSubstr("cut short"));
}

TEST(ByteSourceTest, MissingOversizedAndOtherFiles) {
  EXPECT_EQ(ByteSource::Open(TempPath("absent.xz")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ByteSource::Open(testing::TempDir()).status().code(),
            absl::StatusCode::kInvalidArgument);
  // A small packed file may be huge when unpacked.
  const std::string bomb = WriteTemp("bomb.json.xz", PackXz(std::string(1 << 20, 'a')));
  EXPECT_EQ(ReadUnpacked(bomb, 1 << 20)->size(), 1 << 20);
  EXPECT_THAT(std::string(ReadUnpacked(bomb, (1 << 20) - 1).status().message()),
              HasSubstr("more than the 1048575 bytes admitted"));
}

}  // namespace
}  // namespace shortlist

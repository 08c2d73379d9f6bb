#include "vocab/counting/binary_file.h"

#include <random>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/byte_source.h"
#include "tests/vocab/test_util.h"
#include "vocab/counting/documents.h"

namespace shortlist {
namespace {

using std::string_literals::operator""s;
using ::testing::HasSubstr;

std::string Refusal(const std::string& head) { return std::string(CheckIsText(head).message()); }

std::string Repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(CheckIsTextTest, FilesOfKnownFormatsAreNamed) {
  std::string tar = "folder/a.txt" + std::string(500, '\0');
  tar.replace(257, 5, "ustar");
  for (const auto& [head, format] : {
           std::pair("PAR1\x15\4\x15\x90"s, "a Parquet file"),
           std::pair("ARROW1\0\0"s, "an Arrow file"),
           std::pair("FEA1\0\0\0\0"s, "a Feather file"),
           std::pair("SQLite format 3\0\x10\0"s, "an SQLite database"),
           std::pair("PK\3\4\x14\0"s, "a zip archive"),
           std::pair("\x7F"
                     "ELF\2\1\1"s,
                     "an ELF program"),
           std::pair("%PDF-1.7\n%"s, "a PDF document"),
           std::pair("BZh91AY&SY\x12"s, "a bzip2 archive"),
           std::pair("\x93NUMPY\1\0"s, "an .npy array"),
           std::pair("\x1F\x8B\x08\0"s, "packed twice (gzip"),
           std::pair("\xFF\xFEh\0i\0"s, "UTF-16"),
           std::pair("\xFE\xFF\0h\0i"s, "UTF-16"),
           std::pair(tar, "a tar archive"),
       }) {
    EXPECT_THAT(Refusal(head), testing::StartsWith(format));
    EXPECT_THAT(Refusal(head), HasSubstr("convert it first"));
  }
}

TEST(CheckIsTextTest, UnknownBinaryFormatsAreRejected) {
  std::mt19937 random(7);
  std::string noise(1 << 16, '\0'), ids;
  for (char& byte : noise) byte = static_cast<char>(random());
  for (int i = 0; i < 5000; ++i) {  // token ids as uint16
    const uint32_t id = random() % 50257;
    ids += static_cast<char>(id);
    ids += static_cast<char>(id >> 8);
  }
  for (const std::string& head :
       {noise, ids, std::string(100, '\0'), Repeated("\x07\0\0\0\0\0\0\0"s, 50),
        Repeated("h\0i\0 \0"s, 50)}) {
    EXPECT_THAT(Refusal(head), testing::StartsWith("binary: "));
  }
}

TEST(CheckIsTextTest, TextWithOddBytesIsText) {
  const std::string prose = Repeated("A sentence of some words, and its end.\r\n", 30);
  for (const std::string& text :
       {""s, "\0"s, "a\0b\n"s, prose + '\0' + prose, prose + std::string(16, '\1'),
        Repeated("caf\xE9 na\xEFve\n", 99),                    // Latin-1
        Repeated("\xCF\xF0\xE8\xE2\xE5\xF2\n", 99),            // CP1251
        Repeated("\x93\xFA\x96\x7B\x8C\xEA\n", 99),            // Shift-JIS
        Repeated("\x1B[31mred\x1B[0m b\bbo\bol\bld\f\n", 99),  // a coloured log, a manual page
        "\xEF\xBB\xBF"s + prose,                               // a byte order mark of UTF-8
        "PAR1 is how Parquet begins\n"s, "PARENTS\n"s, "PK is short\n"s, "%PDF is a format\n"s,
        "BZhang\n"s, "Objects\n"s, "7z\n"s, Repeated("\xFF\xC0\x80", 99)}) {
    EXPECT_EQ(Refusal(text), "") << text.substr(0, 30);
  }
}

TEST(CheckIsTextTest, FilesAreCheckedAfterUnpacking) {
  const std::string parquet = "PAR1\x15\4" + std::string(300, '\0') + "PAR1";
  std::istringstream none;
  for (const auto& [name, contents] :
       {std::pair("t.parquet", parquet), std::pair("t.parquet.xz", PackXz(parquet)),
        std::pair("t.jsonl", parquet)}) {
    const auto documents = Documents::Open(WriteTemp(name, contents), /*is_jsonl=*/false, {}, none);
    EXPECT_THAT(std::string(documents.status().message()), HasSubstr(": a Parquet file, and only"))
        << name;
    EXPECT_THAT(std::string(documents.status().message()), HasSubstr(name));
  }
  std::istringstream in(parquet);
  EXPECT_THAT(std::string(Documents::Open("-", false, {}, in).status().message()),
              HasSubstr("standard input: a Parquet file"));
  // Noise only after the checked bytes.
  const std::string late = std::string(kCheckedBytes, 'a') + std::string(300, '\0');
  EXPECT_TRUE(Documents::Open(WriteTemp("late.txt", late), false, {}, none).ok());
}

}  // namespace
}  // namespace shortlist

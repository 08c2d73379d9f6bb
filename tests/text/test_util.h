#ifndef SHORTLIST_TESTS_TEXT_TEST_UTIL_H_
#define SHORTLIST_TESTS_TEXT_TEST_UTIL_H_

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "text/tokenizer.h"

namespace shortlist {

/// ../shared/data, or where SHORTLIST_SHARED_DATA says.
inline std::filesystem::path SharedData() {
  if (const char* path = std::getenv("SHORTLIST_SHARED_DATA")) return path;
  return std::filesystem::path(SHORTLIST_SOURCE_DIR) / ".." / "shared" / "data";
}

/// The tokenizer files at hand: the shipped pair's, and real ones where the shared data is present.
inline std::vector<std::string> TokenizerModels() {
  std::vector<std::string> paths;
  const auto shared = SharedData() / "tokenizers";
  for (const auto& path :
       {std::filesystem::path(SHORTLIST_SOURCE_DIR) / "models/demo/target/tokenizer.model",
        shared / "mistral/mistral_instruct_tokenizer_240323.model.v3",
        shared / "sentencepiece/python_test_test_model.model",
        shared / "sentencepiece/python_test_test_ja_model.model", shared / "xlnet/spiece.model"}) {
    if (std::filesystem::exists(path)) paths.push_back(path.string());
  }
  return paths;
}

inline std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// An empty directory of this test process.
inline std::filesystem::path FreshDir() {
  static int number = 0;
  const auto dir = std::filesystem::path(testing::TempDir()) /
                   ("shortlist_text_" + std::to_string(getpid()) + "_" + std::to_string(number++));
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  return dir;
}

/// Opens `model` as tokenizer.model of a directory, next to a tokenizer_config.json unless that is
/// empty.
inline absl::StatusOr<std::unique_ptr<Tokenizer>> OpenBytes(const std::string& model,
                                                            const std::string& config = "") {
  const auto dir = FreshDir();
  std::ofstream(dir / "tokenizer.model", std::ios::binary) << model;
  if (!config.empty()) std::ofstream(dir / "tokenizer_config.json") << config;
  auto tokenizer = OpenTokenizer(ModelSource::OfDirectory(dir.string()));
  std::filesystem::remove_all(dir);
  return tokenizer;
}

inline std::string Utf8(char32_t c) {
  std::string s;
  const auto continuation = [&](int shift) {
    s.push_back(static_cast<char>(0x80 | (c >> shift & 0x3F)));
  };
  if (c < 0x80) {
    s.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    s.push_back(static_cast<char>(0xC0 | c >> 6));
  } else if (c < 0x10000) {
    s.push_back(static_cast<char>(0xE0 | c >> 12));
    continuation(6);
  } else {
    s.push_back(static_cast<char>(0xF0 | c >> 18));
    continuation(12);
    continuation(6);
  }
  if (c >= 0x80) continuation(0);
  return s;
}

/// Any code point but a surrogate, small ones often.
inline char32_t RandomCodePoint(std::mt19937& random) {
  const uint32_t bound = std::vector<uint32_t>{0x80, 0x800, 0x10000, 0x110000}[random() % 4];
  const char32_t c = random() % bound;
  return c >= 0xD800 && c < 0xE000 ? U'\u2581' : c;
}

inline std::vector<TokenId> ToTokenIds(const std::vector<int>& raw) {
  std::vector<TokenId> ids;
  for (const int id : raw) ids.push_back(TokenId{id});
  return ids;
}

/// A field of a protobuf message, to build SentencePiece models by hand.
inline std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
inline std::string Field(uint64_t number, uint64_t value) {
  return Varint(number << 3) + Varint(value);
}
inline std::string Field(uint64_t number, const std::string& bytes) {
  return Varint(number << 3 | 2) + Varint(bytes.size()) + bytes;
}

enum PieceType : uint64_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kByte = 6 };
inline std::string Piece(const std::string& name, PieceType type = kNormal) {
  const std::string score(4, '\0');
  return Field(1, Field(1, name) + Varint(2 << 3 | 5) + score + Field(3, type));
}

/// <unk>, <s>, </s>, then `more`: a BPE model that changes no white space, with a leading space
/// where `add_dummy_prefix`. Fields in `trainer` and `normalizer` are added to its specs.
inline std::string SmallModel(const std::string& more, bool add_dummy_prefix = true,
                              const std::string& trainer = "", const std::string& normalizer = "") {
  return Piece("<unk>", kUnknown) + Piece("<s>", kControl) + Piece("</s>", kControl) + more +
         Field(2, Field(3, uint64_t{2}) + trainer) +
         Field(3, Field(3, uint64_t{add_dummy_prefix}) + Field(4, uint64_t{0}) + normalizer);
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_TEXT_TEST_UTIL_H_

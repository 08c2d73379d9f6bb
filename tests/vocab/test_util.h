#ifndef SHORTLIST_TESTS_VOCAB_TEST_UTIL_H_
#define SHORTLIST_TESTS_VOCAB_TEST_UTIL_H_

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "vocab/active_vocab.h"

namespace shortlist {

inline std::vector<TokenId> Ids(const std::vector<int32_t>& raw) {
  std::vector<TokenId> ids;
  for (const int32_t id : raw) ids.push_back(TokenId{id});
  return ids;
}

inline std::vector<int32_t> RawIds(std::span<const TokenId> ids) {
  std::vector<int32_t> raw;
  for (const TokenId id : ids) raw.push_back(Raw(id));
  return raw;
}

inline std::vector<int32_t> ToVector(std::span<const int32_t> values) {
  return {values.begin(), values.end()};
}

inline std::shared_ptr<const VocabBase> Base(const std::vector<int32_t>& ids, int64_t vocab_size) {
  auto base = VocabBase::Create(Ids(ids), vocab_size);
  EXPECT_TRUE(base.ok()) << base.status();
  return *base;
}

/// `count` ids in [0, vocab_size), repeats possible.
inline std::vector<int32_t> RandomIds(std::mt19937& random, int count, int32_t vocab_size) {
  std::uniform_int_distribution<int32_t> any(0, vocab_size - 1);
  std::vector<int32_t> ids;
  for (int i = 0; i < count; ++i) ids.push_back(any(random));
  return ids;
}

/// A path in the directory of temporary files of this test process.
inline std::string TempPath(const std::string& name) {
  const auto dir =
      std::filesystem::path(testing::TempDir()) / ("shortlist_vocab_" + std::to_string(getpid()));
  std::filesystem::create_directories(dir);
  return (dir / name).string();
}

inline std::string WriteTemp(const std::string& name, const std::string& contents) {
  const std::string path = TempPath(name);
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_VOCAB_TEST_UTIL_H_

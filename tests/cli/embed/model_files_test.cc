#include "cli/embed/model_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cli/embed/xxh64.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

uint64_t HashOf(std::string_view bytes) {
  Xxh64 hash;
  hash.Add(bytes);
  return hash.Digest();
}

// Values of the package xxhash 3.5 of Python.
TEST(Xxh64Test, MatchesXxhsum) {
  EXPECT_EQ(HashOf(""), 0xef46db3751d8e999u);
  EXPECT_EQ(HashOf("a"), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(HashOf("abc"), 0x44bc2cf5ad770999u);
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes.push_back(static_cast<char>(i * 7 % 256));
  EXPECT_EQ(HashOf(std::string_view(bytes).substr(0, 31)), 0x0f187c62b1e722b7u);
  EXPECT_EQ(HashOf(std::string_view(bytes).substr(0, 32)), 0x91b0cb0931a8c629u);
  EXPECT_EQ(HashOf(std::string_view(bytes).substr(0, 33)), 0x931b043cf8d65b94u);
  EXPECT_EQ(HashOf(std::string_view(bytes).substr(0, 39)), 0x39c20d6f000a8ff7u);
  EXPECT_EQ(HashOf(std::string_view(bytes).substr(0, 100)), 0x8e2272c08247d5dbu);
  EXPECT_EQ(HashOf(std::string_view(bytes).substr(0, 1000)), 0x25275608a9cfc168u);
}

TEST(Xxh64Test, PiecesGiveSameHash) {
  std::string bytes;
  for (int i = 0; i < 200; ++i) bytes.push_back(static_cast<char>(i * i));
  for (const size_t piece : {1, 7, 31, 32, 33, 64, 150}) {
    Xxh64 hash;
    for (size_t done = 0; done < bytes.size(); done += piece) hash.Add(bytes.substr(done, piece));
    EXPECT_EQ(hash.Digest(), HashOf(bytes)) << piece;
  }
}

TEST(ModelFilesTest, HashesRelevantFilesOnly) {
  const TempDir dir;
  dir.Write("config.json", "abc");
  dir.Write("README.md", "abc");
  dir.Write("model.safetensors", "a");
  dir.Write("pytorch_model.bin", "a");
  dir.Write("optimizer.pt", "a");
  fs::create_directory(dir.Join("onnx"));
  dir.Write("onnx/config.json", "abc");
  fs::create_directory(dir.Join("1_Pooling"));
  dir.Write("1_Pooling/config.json", "");
  dir.Write("modules.json", R"([
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
  const auto files = ModelFiles::Read(dir.path());
  ASSERT_TRUE(files.ok()) << files.status();
  nlohmann::ordered_json hashes = files->hashes();
  EXPECT_EQ(hashes.erase("modules.json"), 1u);
  EXPECT_EQ(hashes, nlohmann::ordered_json::parse(R"({
    "1_Pooling/config.json": "xxh64:ef46db3751d8e999",
    "config.json": "xxh64:44bc2cf5ad770999",
    "model.safetensors": "xxh64:d24ec4f1a98c6e5b"})"));
  fs::remove(dir.Join("model.safetensors"));
  EXPECT_TRUE(ModelFiles::Read(dir.path())->hashes().contains("pytorch_model.bin"));
}

TEST(ModelFilesTest, ChangedFileIsNamed) {
  const TempDir dir;
  dir.Write("config.json", "abc");
  const std::string weights = dir.Write("model.safetensors", "abc");
  const auto files = ModelFiles::Read(dir.path());
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_TRUE(files->CheckUnchanged().ok());
  std::ofstream(weights, std::ios::app) << "d";
  const absl::Status status = files->CheckUnchanged();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(weights + ": changed while the model"));
}

}  // namespace
}  // namespace shortlist

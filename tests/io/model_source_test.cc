#include "io/model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "model/checkpoint/config.h"
#include "nlohmann/json.hpp"
#include "tests/support/memory_files.h"
#include "tests/support/temp_dir.h"
#include "text/chat/chat_template.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The demo target's files of text, by name.
std::map<std::string, std::string> DemoFiles() {
  std::map<std::string, std::string> files;
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json",
                           "tokenizer.model", "generation_config.json"}) {
    const std::string path = SourcePath(std::string("models/demo/target/") + name);
    if (FileExists(path)) files[name] = ReadFile(path, int64_t{1} << 28).value();
  }
  return files;
}

TEST(ModelSourceTest, MemoryAndDirectoryGiveSameModel) {
  const ModelSource memory = MemoryFiles::Source(DemoFiles());
  const ModelSource directory = ModelSource::OfDirectory(SourcePath("models/demo/target"));
  const auto config = ReadModelConfig(memory);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->vocab_size, ReadModelConfig(directory)->vocab_size);
  const auto tokenizer = OpenTokenizer(memory);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->Fingerprint(), (*OpenTokenizer(directory))->Fingerprint());
}

TEST(ModelSourceTest, MemoryHoldsNamedChatTemplates) {
  const ModelSource source = MemoryFiles::Source({{"chat_template.jinja", "main"},
                                                  {"additional_chat_templates/rag.jinja", "rag"},
                                                  {"additional_chat_templates/notes.txt", "no"}});
  const auto chat_template = ChatTemplate::Load(source);
  ASSERT_TRUE(chat_template.ok()) << chat_template.status();
  EXPECT_THAT(chat_template->Names(), ElementsAre("default", "rag"));
}

TEST(ModelSourceTest, SourceWithoutFilesHoldsNothing) {
  const ModelSource source;
  EXPECT_EQ(source.path(), "");
  EXPECT_FALSE(source.Contains("config.json"));
  EXPECT_FALSE(source.ReadObject("config.json")->has_value());
  EXPECT_TRUE(absl::IsNotFound(source.Read("config.json", 1).status()));
  EXPECT_TRUE(absl::IsNotFound(source.OpenWeights().status()));
  EXPECT_THAT(source.List(), IsEmpty());
  EXPECT_TRUE(source.CheckUnchanged().ok());
}

class DirectorySourceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(dir_.Join("model/1_Pooling"));
    std::filesystem::create_directories(dir_.Join("outside"));
    dir_.Write("model/config.json", R"({"a": 1})");
    dir_.Write("model/b.tiktoken", "");
    dir_.Write("model/1_Pooling/config.json", "[2]");
  }

  TempDir dir_;
};

TEST_F(DirectorySourceTest, FolderReadsItsOwnFiles) {
  const ModelSource source = ModelSource::OfDirectory(dir_.Join("model"));
  EXPECT_EQ((*source.ReadObject("config.json"))->at("a"), 1);
  const ModelSource pooling = source.Folder("1_Pooling");
  EXPECT_EQ(pooling.path(), dir_.Join("model/1_Pooling"));
  EXPECT_EQ(pooling.PathOf("config.json"), dir_.Join("model/1_Pooling/config.json"));
  EXPECT_EQ(pooling.ReadJson("config.json")->at(0), 2);
  EXPECT_EQ(source.Folder(""), source);
  EXPECT_EQ(source.Folder("1_Pooling/"), pooling);
  EXPECT_NE(source, pooling);
}

TEST_F(DirectorySourceTest, ListNamesFilesInOrder) {
  const ModelSource source = ModelSource::OfDirectory(dir_.Join("model"));
  EXPECT_THAT(source.List(), ElementsAre("b.tiktoken", "config.json"));
  EXPECT_THAT(source.List("1_Pooling"), ElementsAre("config.json"));
  EXPECT_THAT(source.List("none"), IsEmpty());
}

TEST_F(DirectorySourceTest, NonObjectDocumentIsRejected) {
  const ModelSource pooling = ModelSource::OfDirectory(dir_.Join("model/1_Pooling"));
  const absl::Status status = pooling.ReadObject("config.json").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("1_Pooling/config.json: not a JSON object"));
  EXPECT_FALSE(pooling.ReadObject("none.json")->has_value());
}

TEST_F(DirectorySourceTest, FolderOutsideModelIsNotEnclosed) {
  const ModelSource source = ModelSource::OfDirectory(dir_.Join("model"));
  EXPECT_TRUE(source.Encloses(""));
  EXPECT_TRUE(source.Encloses("1_Pooling"));
  EXPECT_TRUE(source.Encloses("not_there"));
  EXPECT_FALSE(source.Encloses("../outside"));
  EXPECT_FALSE(source.Encloses("1_Pooling/../1_Pooling"));
  EXPECT_FALSE(source.Encloses(dir_.Join("model/1_Pooling")));
  EXPECT_FALSE(source.Encloses(std::string("1_Pooling\0x", 11)));
  std::filesystem::create_directory_symlink(dir_.Join("outside"), dir_.Join("model/link"));
  EXPECT_FALSE(source.Encloses("link"));
}

TEST_F(DirectorySourceTest, ChangedFileIsReported) {
  const ModelSource source = ModelSource::OfDirectory(dir_.Join("model"));
  EXPECT_TRUE(source.Folder("1_Pooling").CheckUnchanged().ok());
  dir_.Write("model/1_Pooling/config.json", "[2, 3]");
  const absl::Status status = source.CheckUnchanged();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("1_Pooling/config.json"));
}

TEST_F(DirectorySourceTest, OpenRejectsMissingDirectory) {
  EXPECT_TRUE(absl::IsNotFound(ModelSource::Open(dir_.Join("none")).status()));
  EXPECT_EQ(ModelSource::Open(dir_.Join("model"))->path(), dir_.Join("model"));
}

}  // namespace
}  // namespace shortlist

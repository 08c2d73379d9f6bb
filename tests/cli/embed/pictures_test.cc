#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/file.h"
#include "cli/embed/embed.h"
#include "cli/embed/search.h"
#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/cli/serve_process.h"
#include "tests/model/clip_fixture.h"
#include "tests/model/model_fixture.h"
#include "tests/runtime/tiny_encoder.h"
#include "tests/serve/http/client.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Weights are random: what is tested is that a picture's own vector is found, and the form.
class PicturesTest : public testing::Test {
 protected:
  PicturesTest() {
    golden_.AddTokenizer();
    model_ = golden_.Write();
    folder_ = dir_.Join("pictures");
    fs::create_directory(folder_);
    for (const char* name : {"rgb.jpg", "palette.png", "lossy.webp", "cmyk.jpg"}) {
      fs::copy_file(fs::path(SourcePath("tests/reference/golden/pictures")) / name,
                    fs::path(folder_) / name);
    }
    dir_.Write("pictures/notes.txt", "no picture");
  }

  Outcome RunEmbed(const std::string& in) {
    EmbedFlags flags;
    flags.encoding.model.model = model_;
    flags.in.path = in;
    std::istringstream input;
    std::ostringstream out;
    const absl::Status status = Embed(flags, input, out);
    return {status, out.str()};
  }
  Outcome RunSearch(SearchFlags flags) {
    flags.json = true;
    if (flags.encoding.model.model.empty()) flags.encoding.model.model = model_;
    std::istringstream input;
    std::ostringstream out;
    const absl::Status status = Search(flags, input, out);
    return {status, out.str()};
  }

  const TempDir dir_;
  GoldenClip golden_{"quick_gelu"};
  std::string model_, folder_;
};

TEST_F(PicturesTest, EmbedReadsFolder) {
  const Outcome outcome = RunEmbed(folder_);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  const std::vector<std::string> lines = Lines(outcome.out);
  ASSERT_EQ(lines.size(), 4u);
  // In the order of names; the third is palette.png, of which transformers' vector is there.
  for (const GoldenClip::Shown& shown : golden_.pictures) {
    if (!shown.file.ends_with("palette.png")) continue;
    const auto vector = json::parse(lines[2]).at("embedding").get<std::vector<float>>();
    EXPECT_GE(Cosines(vector, shown.vector, vector.size())[0], 0.99999);
  }
}

TEST_F(PicturesTest, SearchRanksPicturesByText) {
  SearchFlags flags;
  flags.query = "a red bicycle";
  flags.in.path = folder_;
  flags.top = 3;
  flags.index_path = dir_.Join("index.npy");
  const Outcome first = RunSearch(flags);
  ASSERT_TRUE(first.status.ok()) << first.status;
  const std::vector<std::string> lines = Lines(first.out);
  ASSERT_EQ(lines.size(), 3u);
  for (const std::string& line : lines) {
    EXPECT_THAT(json::parse(line).at("text").get<std::string>(), HasSubstr(folder_ + "/"));
  }
  EXPECT_EQ(RunSearch(flags).out, first.out);  // from the index
  // A picture with one other byte makes it another folder, at the same size and time of writing.
  const std::string picture = folder_ + "/palette.png";
  const auto written = fs::last_write_time(picture);
  std::string bytes = ReadFile(picture, 1 << 20).value();
  bytes.back() ^= 1;
  dir_.Write("pictures/palette.png", bytes);
  fs::last_write_time(picture, written);
  EXPECT_THAT(std::string(RunSearch(flags).status.message()), HasSubstr("texts"));
}

TEST_F(PicturesTest, BadFoldersAreNamed) {
  const auto error = [](const Outcome& outcome) {
    EXPECT_FALSE(outcome.status.ok());
    return std::string(outcome.status.message());
  };
  fs::create_directory(dir_.Join("empty"));
  EXPECT_THAT(error(RunEmbed(dir_.Join("empty"))), HasSubstr("holds no .jpg"));
  dir_.Write("pictures/a.JPG", "GIF89a...");
  EXPECT_EQ(error(RunEmbed(folder_)),
            folder_ + "/a.JPG: a GIF file, where JPEG, PNG and WebP pictures are read");
  fs::resize_file(folder_ + "/a.JPG", (32 << 20) + 1);
  EXPECT_THAT(error(RunEmbed(folder_)),
              testing::AllOf(StartsWith(folder_ + "/a.JPG"),
                             Not(HasSubstr(folder_ + "/a.JPG: " + folder_))));
  TinyEncoder texts;
  SearchFlags flags;
  flags.encoding.model.model = texts.Write();
  flags.query = "a";
  flags.in.path = folder_;
  EXPECT_THAT(error(RunSearch(flags)), HasSubstr("BertModel, reads texts and no pictures"));
  flags.rerank_model = "x";
  EXPECT_THAT(error(RunSearch(flags)), HasSubstr("--rerank-model: rerankers read texts"));
}

TEST_F(PicturesTest, NonFilesAreSkippedWithNote) {
  fs::create_directory(folder_ + "/d.png");
  fs::create_symlink("nowhere", folder_ + "/e.png");
  ASSERT_EQ(mkfifo((folder_ + "/f.png").c_str(), 0600), 0);
  testing::internal::CaptureStderr();
  const Outcome outcome = RunEmbed(folder_);
  const std::string words = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(Lines(outcome.out).size(), 4u);
  for (const char* name : {"/d.png", "/e.png", "/f.png"}) {
    EXPECT_THAT(words, HasSubstr(name + std::string("\": not a file, left out")));
  }
  EXPECT_THAT(words,
              HasSubstr("1 of its entries left out, such as \"notes.txt\": only files named .jpg"));
}

TEST_F(PicturesTest, PreprocessorMustFitModel) {
  golden_.processor["crop_size"] = 18;
  model_ = golden_.Write();
  const Outcome outcome = RunEmbed(folder_);
  EXPECT_THAT(std::string(outcome.status.message()),
              HasSubstr("makes pictures of 18 x 18, the model reads 24 x 24"));
}

TEST_F(PicturesTest, ServeEmbedsPictures) {
  ServeProcess server({"--embed-model", model_, "--embed-model-name", "clip"});
  const uint16_t port = server.AwaitPort();
  ASSERT_NE(port, 0);
  HttpClient client(port);
  json input = json::array();
  for (const GoldenClip::Shown& shown : golden_.pictures) {
    const std::string bytes = ReadFile(shown.file, 1 << 20).value();
    input.push_back({{"image", "data:image/png;base64," + absl::Base64Escape(bytes)}});
  }
  const json reply = client.Post("/v1/embeddings", json{{"input", input}}).Json();
  ASSERT_TRUE(reply.contains("data")) << reply;
  for (size_t i = 0; i < golden_.pictures.size(); ++i) {
    const auto vector = reply["data"][i]["embedding"].get<std::vector<float>>();
    EXPECT_GE(Cosines(vector, golden_.pictures[i].vector, vector.size())[0], 0.99999);
  }
  const json refused =
      client.Post("/v1/embeddings", json{{"input", {{{"image", "https://example.com/a.png"}}}}})
          .Json();
  EXPECT_THAT(refused.dump(), HasSubstr("an address (https:), which is not fetched"));
  const json encoded =
      client.Post("/encode", json{{"image_data", input[0]["image"]}, {"text", "padding"}}).Json();
  EXPECT_EQ(encoded["embedding"], reply["data"][0]["embedding"]);
  EXPECT_EQ(server.Signal(SIGTERM), 0);
}

}  // namespace
}  // namespace shortlist

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/decode.h"
#include "image/picture_processor.h"
#include "kernels/isa.h"
#include "kernels/matrix.h"
#include "model/clip_model.h"
#include "tests/model/clip_fixture.h"
#include "tests/model/model_fixture.h"

namespace shortlist {
namespace {

using testing::HasSubstr;

/// How weights are kept, and how near to transformers' f32 a vector stays.
struct Storage {
  const char* name;
  DType dtype;
  std::optional<DType> quantize;
  double min_cosine;
};
const Storage kStorages[] = {{"f32", DType::kF32, std::nullopt, 0.999999},
                             {"bf16", DType::kBf16, std::nullopt, 0.999},
                             {"int8", DType::kF32, DType::kInt8, 0.99}};

std::unique_ptr<ClipModel> Loaded(const std::string& dir, const Storage& storage,
                                  ThreadPool& pool) {
  auto model =
      ClipModel::Load(ModelSource::OfDirectory(dir), storage.dtype, pool, storage.quantize);
  EXPECT_TRUE(model.ok()) << model.status();
  return std::move(model).value();
}

std::vector<std::vector<float>> RowsOf(const absl::StatusOr<Matrix>& tensor) {
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  const std::vector<float> values = ToVector(*tensor);
  std::vector<std::vector<float>> rows;
  const int64_t width = tensor->cols();
  for (int64_t i = 0; i < tensor->rows(); ++i) {
    rows.emplace_back(values.begin() + i * width, values.begin() + (i + 1) * width);
  }
  return rows;
}

std::vector<std::vector<float>> Embed(ClipModel& model,
                                      const std::vector<std::vector<int32_t>>& texts) {
  std::vector<int32_t> ids, begin = {0};
  for (const std::vector<int32_t>& text : texts) {
    ids.insert(ids.end(), text.begin(), text.end());
    begin.push_back(static_cast<int32_t>(ids.size()));
  }
  return RowsOf(model.EmbedTexts({ids, begin}));
}

class ClipTest : public testing::TestWithParam<std::string> {
 protected:
  ~ClipTest() override { SetIsa(DetectIsa()); }

  /// From files to what the model sees, by our own decoders.
  void SetUp() override {
    const auto processor = PictureProcessor::Parse(golden_.processor, "processor");
    ASSERT_TRUE(processor.ok()) << processor.status();
    values_ = processor->values();
    for (const GoldenClip::Shown& shown : golden_.pictures) {
      const auto picture = DecodePicture(ReadFile(shown.file, 1 << 20).value());
      ASSERT_TRUE(picture.ok()) << picture.status();
      rgb_.push_back(processor->Apply(*picture));
    }
  }
  ClipModel::Pixels Pixels(size_t i) const { return {rgb_[i], values_.get()}; }

  GoldenClip golden_{GetParam()};
  std::shared_ptr<const PictureProcessor::Values> values_;
  std::vector<std::vector<uint8_t>> rgb_;
};

TEST_P(ClipTest, VectorsMatchTransformers) {
  const std::string dir = golden_.Write();
  ThreadPool pool(/*num_threads=*/2);
  std::vector<std::vector<int32_t>> texts;
  for (const GoldenClip::Text& text : golden_.texts) texts.push_back(text.token_ids);
  std::vector<ClipModel::Pixels> pictures;
  for (size_t i = 0; i < rgb_.size(); ++i) pictures.push_back(Pixels(i));
  for (const Storage& storage : kStorages) {
    const auto model = Loaded(dir, storage, pool);
    for (const Isa isa : SupportedIsas()) {
      SCOPED_TRACE(std::string(storage.name) + " " + IsaName(isa));
      SetIsa(isa);
      const auto of_texts = Embed(*model, texts);
      for (size_t i = 0; i < texts.size(); ++i) {
        const auto& want = golden_.texts[i].vector;
        EXPECT_GE(Cosines(of_texts[i], want, want.size())[0], storage.min_cosine) << "text " << i;
        for (size_t d = 0; d < want.size() && storage.dtype == DType::kF32 && !storage.quantize;
             ++d) {
          ASSERT_NEAR(of_texts[i][d], want[d], 1e-4) << "text " << i;
        }
      }
      const auto of_pictures = RowsOf(model->EmbedPictures(pictures));
      for (size_t i = 0; i < pictures.size(); ++i) {
        const auto& want = golden_.pictures[i].vector;
        EXPECT_GE(Cosines(of_pictures[i], want, want.size())[0], storage.min_cosine)
            << golden_.pictures[i].file;
      }
    }
  }
}

TEST_P(ClipTest, VectorBitsAreIndependentOfBatchAndThreads) {
  const std::string dir = golden_.Write();
  std::mt19937 random(5);
  for (const Storage& storage : kStorages) {
    SCOPED_TRACE(storage.name);
    std::vector<std::vector<float>> texts_alone, pictures_alone;
    for (const int num_threads : {1, 3}) {
      ThreadPool pool(num_threads);
      const auto model = Loaded(dir, storage, pool);
      for (size_t i = 0; i < golden_.texts.size(); ++i) {
        const auto alone = Embed(*model, {golden_.texts[i].token_ids})[0];
        if (num_threads == 1) texts_alone.push_back(alone);
        ASSERT_EQ(alone, texts_alone[i]);
      }
      for (size_t i = 0; i < rgb_.size(); ++i) {
        const ClipModel::Pixels pixels = Pixels(i);
        const auto alone = RowsOf(model->EmbedPictures({&pixels, 1}))[0];
        if (num_threads == 1) pictures_alone.push_back(alone);
        ASSERT_EQ(alone, pictures_alone[i]);
      }
      // Several passes.
      std::vector<size_t> order;
      std::vector<std::vector<int32_t>> texts;
      std::vector<ClipModel::Pixels> pictures;
      for (int i = 0; i < 250; ++i) order.push_back(random());
      for (const size_t i : order) {
        texts.push_back(golden_.texts[i % golden_.texts.size()].token_ids);
        pictures.push_back(Pixels(i % rgb_.size()));
      }
      const auto of_texts = Embed(*model, texts);
      const auto of_pictures = RowsOf(model->EmbedPictures(pictures));
      for (size_t i = 0; i < order.size(); ++i) {
        ASSERT_EQ(of_texts[i], texts_alone[order[i] % texts_alone.size()]);
        ASSERT_EQ(of_pictures[i], pictures_alone[order[i] % pictures_alone.size()]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ClipTest, testing::ValuesIn(GoldenClip::Names()),
                         [](const auto& info) { return info.param; });

TEST(ClipModelTest, MismatchIsNamed) {
  ThreadPool pool(/*num_threads=*/1);
  GoldenClip golden("quick_gelu");
  const auto error = [&] {
    return std::string(ClipModel::Load(ModelSource::OfDirectory(golden.Write()), std::nullopt, pool)
                           .status()
                           .message());
  };
  golden.config["vision_config"]["image_size"] = 32;
  EXPECT_THAT(error(), HasSubstr("vision_model.embeddings.position_embedding.weight"));
  golden.config["vision_config"]["image_size"] = 25;
  EXPECT_THAT(error(), HasSubstr("vision_config: image_size = 25 is not a multiple"));
  golden.config["vision_config"]["image_size"] = 24;
  golden.config["text_config"]["hidden_act"] = "relu";
  EXPECT_THAT(error(), HasSubstr("text_config: hidden_act = \"relu\" is not supported"));
  golden.config["text_config"]["hidden_act"] = "quick_gelu";
  golden.config["text_config"]["num_attention_heads"] = 5;
  EXPECT_THAT(error(), HasSubstr("is not a multiple of num_attention_heads = 5"));
  golden.config["text_config"]["num_attention_heads"] = 4;
  golden.config["vision_config"]["num_channels"] = 4;
  EXPECT_THAT(error(), HasSubstr("num_channels"));
  golden.config["vision_config"]["num_channels"] = 3;
  golden.config["vision_config"]["num_hidden_layers"] = 2;
  EXPECT_THAT(error(), HasSubstr("vision_model.encoder.layers.2."));
}

TEST(ClipModelTest, IdsAndLengthsAreChecked) {
  ThreadPool pool(/*num_threads=*/1);
  const GoldenClip golden("quick_gelu");
  const auto model = Loaded(golden.Write(), kStorages[0], pool);
  const auto error = [&](const std::vector<int32_t>& ids) {
    const std::vector<int32_t> begin = {0, static_cast<int32_t>(ids.size())};
    return std::string(model->EmbedTexts({ids, begin}).status().message());
  };
  EXPECT_THAT(error({97, 99, 98}), HasSubstr("token id 99 of token 1 not in [0, 99)"));
  EXPECT_THAT(error({97, -1, 98}), HasSubstr("token id -1"));
  EXPECT_THAT(error(std::vector<int32_t>(22, 5)), HasSubstr("22 tokens, not in [1, 21]"));
}

}  // namespace
}  // namespace shortlist

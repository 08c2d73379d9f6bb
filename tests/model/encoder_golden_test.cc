#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/isa.h"
#include "tests/model/encoder_fixture.h"
#include "tests/model/model_fixture.h"

namespace shortlist {
namespace {

using Text = GoldenEncoder::Text;

/// How weights are kept, and how near to transformers' f32 a token stays.
struct Storage {
  const char* name;
  DType dtype;
  std::optional<DType> quantize;
  double min_cosine;
  std::optional<float> max_difference;
};
const Storage kStorages[] = {{"f32", DType::kF32, std::nullopt, 0.99999, 1e-4f},
                             {"f16", DType::kF16, std::nullopt, 0.9999, std::nullopt},
                             {"bf16", DType::kBf16, std::nullopt, 0.999, std::nullopt},
                             // Tiny random layers amplify codes of inputs that round the other
                             // way.
                             {"int8", DType::kF32, DType::kInt8, 0.985, std::nullopt}};

class EncoderGoldenTest : public testing::TestWithParam<std::string> {
 protected:
  ~EncoderGoldenTest() override { SetIsa(DetectIsa()); }
  GoldenEncoder golden_{GetParam()};
};

TEST_P(EncoderGoldenTest, HiddenStatesMatchTransformers) {
  const std::string dir = golden_.Write();
  ThreadPool pool(/*num_threads=*/2);
  for (const Storage& storage : kStorages) {
    const auto encoder = LoadEncoderOrDie(dir, storage.dtype, pool, storage.quantize);
    for (const Isa isa : SupportedIsas()) {
      SCOPED_TRACE(std::string(storage.name) + " " + IsaName(isa));
      SetIsa(isa);
      const std::vector<std::vector<float>> got = Encode(*encoder, golden_.texts);
      for (size_t s = 0; s < got.size(); ++s) {
        const std::vector<float>& want = golden_.texts[s].hidden;
        ASSERT_EQ(got[s].size(), want.size());
        for (const double cosine :
             Cosines(got[s], want, static_cast<size_t>(encoder->config().hidden))) {
          EXPECT_GE(cosine, storage.min_cosine) << "sequence " << s;
        }
        if (!storage.max_difference) continue;
        for (size_t i = 0; i < want.size(); ++i) {
          ASSERT_NEAR(got[s][i], want[i], *storage.max_difference) << "sequence " << s;
        }
      }
    }
  }
}

TEST_P(EncoderGoldenTest, TextBitsAreIndependentOfBatchAndThreads) {
  const std::string dir = golden_.Write();
  std::mt19937 random(3);
  for (const Storage& storage : kStorages) {
    SCOPED_TRACE(storage.name);
    std::vector<std::vector<float>> alone;
    for (const int num_threads : {1, 2, 3}) {
      ThreadPool pool(num_threads);
      const auto encoder = LoadEncoderOrDie(dir, storage.dtype, pool, storage.quantize);
      for (size_t s = 0; s < golden_.texts.size(); ++s) {
        const std::vector<float> hidden = Encode(*encoder, {golden_.texts[s]}).front();
        if (num_threads == 1) alone.push_back(hidden);
        ASSERT_EQ(hidden, alone[s]) << "threads " << num_threads;
      }
      // 300 texts are several passes.
      for (const size_t num_texts : {4, 9, 300}) {
        std::vector<size_t> order;
        std::vector<Text> texts;
        for (size_t i = 0; i < num_texts; ++i) order.push_back(random() % golden_.texts.size());
        for (const size_t s : order) texts.push_back(golden_.texts[s]);
        const std::vector<std::vector<float>> got = Encode(*encoder, texts);
        for (size_t i = 0; i < num_texts; ++i) {
          ASSERT_EQ(got[i], alone[order[i]]) << "threads " << num_threads << ", text " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EncoderGoldenTest, testing::ValuesIn(GoldenEncoder::Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace shortlist

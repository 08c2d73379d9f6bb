// EAGLE-3 heads of the three formats against reference implementations, over four draft steps.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "kernels/isa.h"
#include "kernels/matrix.h"
#include "model/eagle3_model.h"
#include "tests/model/golden_file.h"
#include "tests/model/model_fixture.h"

namespace shortlist {
namespace {

std::vector<int32_t> RawIds(const std::vector<TokenId>& ids) {
  std::vector<int32_t> raw;
  for (const TokenId id : ids) raw.push_back(Raw(id));
  return raw;
}

/// Rows of a head in f32, by token, times states: [n, rows of the head].
std::vector<float> LogitsOf(const HeadWeight& head, const std::vector<float>& states) {
  std::vector<float> logits;
  for (size_t begin = 0; begin < states.size(); begin += head.hidden) {
    for (int64_t row = 0; row < head.vocab_size; ++row) {
      double sum = 0.0;
      for (int64_t i = 0; i < head.hidden; ++i) {
        sum += LoadAsFloat(head.rows, head.dtype, row * head.hidden + i) * states[begin + i];
      }
      logits.push_back(static_cast<float>(sum));
    }
  }
  return logits;
}

/// A case's head, its target and what is expected of both.
class Eagle3GoldenTest : public testing::TestWithParam<const char*> {
 protected:
  ~Eagle3GoldenTest() override { SetIsa(DetectIsa()); }

  void Load(DType dtype) {
    target_ = LoadOrDie(GoldenDir(GetParam()) + "/target", dtype, pool_);
    const auto source = ModelSource::OfDirectory(GoldenDir(GetParam()) + "/draft");
    auto config = ReadEagle3Config(source);
    ASSERT_TRUE(config.ok()) << config.status();
    const absl::Status fits =
        config->FitTarget(target_->config(), /*given=*/std::nullopt, source.path());
    ASSERT_TRUE(fits.ok()) << fits;
    auto draft = Eagle3Model::Load(source, *config, *target_, pool_);
    ASSERT_TRUE(draft.ok()) << draft.status();
    draft_ = *std::move(draft);
  }

  const Golden golden_ = ReadGolden(GoldenDir(GetParam()) + "/golden.safetensors");
  const std::vector<TokenId>& ids_ = golden_.ids.at("ids");
  ThreadPool pool_{/*num_threads=*/2};
  std::unique_ptr<Decoder> target_;
  std::unique_ptr<Eagle3Model> draft_;
};

TEST_P(Eagle3GoldenTest, FourDraftStepsMatchReference) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBf16}) {
    ASSERT_NO_FATAL_FAILURE(Load(dtype));
    const int64_t hidden = draft_->config().hidden, width = draft_->target_width();
    const auto& want_taps = golden_.ids.at("taps");
    EXPECT_EQ(std::vector<int64_t>(draft_->taps().begin(), draft_->taps().end()), [&] {
      const std::vector<int32_t> raw = RawIds(want_taps);
      return std::vector<int64_t>(raw.begin(), raw.end());
    }());
    const std::vector<int32_t> tokens = RawIds(golden_.ids.at("tokens"));
    if (draft_->head_rows() != nullptr) {
      EXPECT_EQ(std::vector<int32_t>(draft_->head_rows()->ids().begin(),
                                     draft_->head_rows()->ids().end()),
                tokens);
    } else {
      EXPECT_EQ(tokens, Iota(target_->config().vocab_size));
    }
    const Matrix tapped = FromVector(golden_.floats.at("tapped"), width);
    const int64_t num_true = tapped.rows();
    const auto num_rows = static_cast<int64_t>(golden_.floats.at("scored").size()) / hidden;
    for (const Isa isa : SupportedIsas()) {
      SCOPED_TRACE(std::string(DTypeName(dtype)) + " " + IsaName(isa));
      SetIsa(isa);
      KvCache cache = KvCache::Create(draft_->config(), num_rows, dtype).value();
      ForwardBatch batch;
      batch.AddChain(std::span(ids_).subspan(1, num_true), /*first_position=*/0, Iota(num_true));
      const auto fused = draft_->Fuse(tapped);
      ASSERT_TRUE(fused.ok()) << fused.status();
      auto prediction = draft_->Forward(batch, *fused, cache);
      ASSERT_TRUE(prediction.ok()) << prediction.status();
      std::vector<float> scored = ToVector(prediction->scored);
      std::vector<float> features = ToVector(prediction->features);
      for (int64_t row = num_true; row < num_rows; ++row) {
        batch.Clear();
        batch.AddChain(std::span(ids_).subspan(row + 1, 1), row, Iota(row + 1));
        const Matrix& last = prediction->features;
        prediction = draft_->Forward(batch, last.Rows(last.rows() - 1, 1), cache);
        ASSERT_TRUE(prediction.ok()) << prediction.status();
        for (const float value : ToVector(prediction->scored)) scored.push_back(value);
        for (const float value : ToVector(prediction->features)) features.push_back(value);
      }
      ExpectClose(dtype, scored, golden_.floats.at("scored"), hidden);
      ExpectClose(dtype, features, golden_.floats.at("features"), hidden);
      ExpectClose(dtype, LogitsOf(draft_->head_weight(), scored), golden_.floats.at("logits"),
                  tokens.size());
    }
  }
}

TEST_P(Eagle3GoldenTest, TargetYieldsStatesAtLayerBoundaries) {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    ASSERT_NO_FATAL_FAILURE(Load(dtype));
    const std::vector<float>& want = golden_.floats.at("tapped");
    const int64_t width = draft_->target_width();
    const int64_t num_tokens = static_cast<int64_t>(want.size()) / width;
    for (const int64_t chunk : {num_tokens, int64_t{3}}) {
      KvCache cache = KvCache::Create(target_->config(), num_tokens, dtype).value();
      std::vector<float> got, hidden;
      for (int64_t begin = 0; begin < num_tokens; begin += chunk) {
        const int64_t len = std::min(chunk, num_tokens - begin);
        ForwardBatch batch;
        batch.AddChain(std::span(ids_).subspan(begin, len), begin, Iota(begin + len));
        StateTaps taps{.boundaries = draft_->taps()};
        const auto out = target_->Forward(batch, cache, &taps);
        ASSERT_TRUE(out.ok()) << out.status();
        EXPECT_EQ(taps.states.cols(), width);
        for (const float value : ToVector(taps.states)) got.push_back(value);
        for (const float value : ToVector(*out)) hidden.push_back(value);
      }
      ExpectClose(dtype, got, want, target_->config().hidden);
      // The states are a by-product: the result stays the same, bit for bit.
      EXPECT_EQ(hidden, RunChain(*target_, {ids_.begin(), ids_.begin() + num_tokens}));
    }
  }
}

TEST_P(Eagle3GoldenTest, RowsAreIndependentOfBatch) {
  ASSERT_NO_FATAL_FAILURE(Load(DType::kBf16));
  const Matrix tapped = FromVector(golden_.floats.at("tapped"), draft_->target_width());
  const int64_t num_tokens = tapped.rows();
  const auto run = [&](int64_t chunk) {
    KvCache cache = KvCache::Create(draft_->config(), num_tokens, DType::kBf16).value();
    std::vector<float> scored;
    for (int64_t begin = 0; begin < num_tokens; begin += chunk) {
      const int64_t len = std::min(chunk, num_tokens - begin);
      ForwardBatch batch;
      batch.AddChain(std::span(ids_).subspan(begin + 1, len), begin, Iota(begin + len));
      const Matrix fused = draft_->Fuse(tapped.Rows(begin, len)).value();
      for (const float value : ToVector(draft_->Forward(batch, fused, cache)->scored)) {
        scored.push_back(value);
      }
    }
    return scored;
  };
  EXPECT_EQ(run(/*chunk=*/1), run(num_tokens));
  EXPECT_EQ(run(/*chunk=*/7), run(num_tokens));
}

INSTANTIATE_TEST_SUITE_P(Cases, Eagle3GoldenTest,
                         testing::Values("eagle3_safeailab", "eagle3_specforge",
                                         "eagle3_speculators_llama", "eagle3_speculators_qwen3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace shortlist

// The draft head on a device, with the emulator's kernels in place of a GPU's.

#include "device/device_head.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "draft/engine.h"
#include "sketch/sketch.h"
#include "sketch/sketch_basis.h"
#include "tests/device/emulated_head_kernels.h"
#include "tests/device/rows_of_weight.h"
#include "tests/device/tensor_head.h"
#include "tests/draft/pair.h"
#include "vocab/request_tail.h"

namespace shortlist {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kVocab = 120, kHidden = 64;
constexpr float kInf = std::numeric_limits<float>::infinity();

HeadInput StatesOf(const at::Tensor& hidden) { return {hidden.data_ptr<float>(), hidden.size(0)}; }

std::vector<TokenId> Ids(const std::vector<int32_t>& raw) {
  std::vector<TokenId> ids;
  for (int32_t id : raw) ids.push_back(TokenId{id});
  return ids;
}

ActiveVocab MakeActive(const std::vector<int32_t>& base, std::vector<int32_t> dynamic = {}) {
  auto made = base.empty() && dynamic.empty() ? VocabBase::FullHead(kVocab)
                                              : VocabBase::Create(Ids(base), kVocab);
  EXPECT_TRUE(made.ok()) << made.status();
  return ActiveVocab(1, *made, std::move(dynamic));
}

uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

class DeviceHeadTest : public testing::Test {
 protected:
  DeviceHeadTest() {
    auto rows = DeviceRows::Over(weight_, kernels_);
    EXPECT_TRUE(rows.ok()) << rows.status();
    rows_ = *rows;
    auto head = DeviceHead::Create(rows_, kVocab);
    EXPECT_TRUE(head.ok()) << head.status();
    head_ = *std::move(head);
  }

  /// The logits of all rows for one hidden state.
  std::vector<float> FullLogits(const at::Tensor& hidden) {
    std::vector<float> logits;
    int64_t stride = 0;
    EXPECT_TRUE(head_->Logits(StatesOf(hidden), {full_}, logits, stride).ok());
    EXPECT_EQ(stride, kVocab);
    return logits;
  }

  const std::shared_ptr<EmulatedHeadKernels> kernels_ = std::make_shared<EmulatedHeadKernels>();
  const at::Tensor weight_ = at::randn({kVocab, kHidden}).to(at::kBFloat16);
  const ActiveVocab full_ = MakeActive({});
  std::shared_ptr<const DeviceRows> rows_;
  std::unique_ptr<DeviceHead> head_;
};

TEST_F(DeviceHeadTest, SplitCallsHaveSameBits) {
  const at::Tensor hidden = at::randn({150, kHidden});
  const ActiveVocab active = MakeActive({5, 9, 77}, {2});
  std::vector<RequestTail> own(150, RequestTail(/*capacity=*/3));
  std::vector<std::span<const int32_t>> tails;
  for (int32_t m = 0; m < 150; ++m) {
    own[m].Add(Ids({m % 7, 30 + m % 3, 90}), active);
    tails.push_back(own[m].ids());
  }
  std::vector<int32_t> ids(150);
  std::vector<float> logits(150), sums(150), rows, own_row(1);
  ASSERT_TRUE(
      head_->TopK(StatesOf(hidden), {active, tails}, 1, {}, ids.data(), logits.data(), sums.data())
          .ok());
  std::vector<TokenId> chosen = Ids(ids);
  rows.resize(150);
  ASSERT_TRUE(head_->RowLogits(StatesOf(hidden), chosen, rows.data()).ok());
  std::vector<float> values;
  int64_t stride = 0;
  ASSERT_TRUE(head_->Logits(StatesOf(hidden), {active, tails}, values, stride).ok());
  for (int64_t m : {0, 1, 63, 64, 65, 127, 128, 149}) {
    const at::Tensor one = hidden.narrow(0, m, 1);
    const std::vector<float> full = FullLogits(one);
    int32_t id;
    float logit, sum;
    ASSERT_TRUE(head_
                    ->TopK(StatesOf(one), {active, std::span(tails).subspan(m, 1)}, 1, {}, &id,
                           &logit, &sum)
                    .ok());
    EXPECT_EQ(id, ids[m]);
    EXPECT_EQ(Bits(logit), Bits(logits[m]));
    EXPECT_EQ(Bits(logit), Bits(full[id]));
    EXPECT_EQ(Bits(logit), Bits(rows[m]));
    EXPECT_EQ(Bits(sum), Bits(sums[m]));
    const RowIds rows(active, tails[m]);
    for (int32_t s = 0; s < rows.size(); ++s) {
      EXPECT_EQ(Bits(values[m * stride + s]), Bits(full[Raw(rows.TokenAt(DraftId{s}))]));
    }
  }
}

TEST_F(DeviceHeadTest, TopKFollowsLogitOrder) {
  const at::Tensor hidden = at::randn({2, kHidden});
  const std::vector<float> full = FullLogits(hidden);
  const ActiveVocab active = MakeActive({3, 50, 7, 11, 100}, {1, 2});
  constexpr int64_t kK = 6;
  std::vector<int32_t> ids(2 * kK);
  std::vector<float> logits(2 * kK);
  ASSERT_TRUE(
      head_->TopK(StatesOf(hidden), {active}, kK, {}, ids.data(), logits.data(), nullptr).ok());
  for (int64_t m = 0; m < 2; ++m) {
    std::vector<int32_t> order(active.rows().begin(), active.rows().end());
    std::ranges::sort(
        order, [&](int32_t a, int32_t b) { return full[m * kVocab + a] > full[m * kVocab + b]; });
    for (int64_t i = 0; i < kK; ++i) {
      EXPECT_EQ(ids[m * kK + i], order[i]);
      EXPECT_EQ(Bits(logits[m * kK + i]), Bits(full[m * kVocab + order[i]]));
    }
  }
}

TEST_F(DeviceHeadTest, FollowsSetBeyondInitialCapacity) {
  const at::Tensor hidden = at::randn({1, kHidden});
  const std::vector<float> full = FullLogits(hidden);
  std::vector<int32_t> base = {4};
  RequestTail tail(/*capacity=*/1), longer(/*capacity=*/40);
  tail.Add(Ids({110}), MakeActive({4}));
  longer.Add(Ids({110, 111, 112, 113}), MakeActive({4}));
  for (const std::span<const int32_t> own : {tail.ids(), longer.ids(), tail.ids()}) {
    for (const size_t size : {1, 30, 100, 5}) {
      base.resize(size);
      std::iota(base.begin(), base.end(), 0);
      const ActiveVocab active = MakeActive(base);
      std::vector<float> logits;
      int64_t stride = 0;
      ASSERT_TRUE(head_->Logits(StatesOf(hidden), {active, {&own, 1}}, logits, stride).ok());
      const RowIds rows(active, own);
      for (int32_t s = 0; s < rows.size(); ++s) {
        EXPECT_EQ(Bits(logits[s]), Bits(full[Raw(rows.TokenAt(DraftId{s}))]));
      }
    }
  }
}

TEST_F(DeviceHeadTest, AlternatingBasesKeepRowsSeparate) {
  const at::Tensor hidden = at::randn({2, kHidden});
  const std::vector<float> full = FullLogits(hidden);
  std::vector<ActiveVocab> actives;
  for (int32_t i = 0; i < DeviceHead::kMaxResident + 2; ++i) {
    actives.push_back(MakeActive({i, 40 + 3 * i, 100 - i}, {20 + i}));
  }
  actives.push_back(ActiveVocab(1, actives[0].base(), {77}));  // another set over the same base
  for (int round = 0; round < 3; ++round) {
    for (const ActiveVocab& active : actives) {
      std::vector<float> values;
      int64_t stride = 0;
      ASSERT_TRUE(head_->Logits(StatesOf(hidden), {active}, values, stride).ok());
      for (int64_t m = 0; m < 2; ++m) {
        for (int64_t s = 0; s < active.size(); ++s) {
          EXPECT_EQ(Bits(values[m * stride + s]), Bits(full[m * kVocab + active.rows()[s]]));
        }
      }
    }
  }
}

TEST_F(DeviceHeadTest, NanStatesProposeNothing) {
  const at::Tensor hidden = at::randn({3, kHidden});
  int32_t good[3], ids[3];
  float logits[3], sums[3];
  ASSERT_TRUE(head_->TopK(StatesOf(hidden), {full_}, 1, {}, good, logits, sums).ok());
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), kInf, -kInf}) {
    hidden[1].fill_(value);
    ASSERT_TRUE(head_->TopK(StatesOf(hidden), {full_}, 1, {}, ids, logits, sums).ok());
    EXPECT_EQ(ids[0], good[0]);
    EXPECT_EQ(ids[1], -1);
    EXPECT_EQ(ids[2], good[2]);
  }
}

TEST_F(DeviceHeadTest, DeviceErrorFailsOnlyItsCall) {
  const at::Tensor hidden = at::randn({1, kHidden});
  int32_t id;
  float logit;
  kernels_->flag = kHeadRowIdError | kHeadTailError;
  absl::Status status = head_->TopK(StatesOf(hidden), {full_}, 1, {}, &id, &logit, nullptr);
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("flagged 5"));
  const std::vector<TokenId> ids = Ids({3});
  EXPECT_TRUE(absl::IsInternal(head_->RowLogits(StatesOf(hidden), ids, &logit)));
  kernels_->flag = 0;
  EXPECT_TRUE(head_->TopK(StatesOf(hidden), {full_}, 1, {}, &id, &logit, nullptr).ok());
  kernels_->fails_from = kernels_->num_calls;
  status = head_->TopK(StatesOf(hidden), {full_}, 1, {}, &id, &logit, nullptr);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the device is gone"));
}

TEST(DeviceRowsTest, CopiesScoreLikeCpuSource) {
  ThreadPool pool(1);
  const at::Tensor weight = at::randn({kVocab, 100}), hidden = at::randn({2, 100});
  const ActiveVocab full = MakeActive({});
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBf16, DType::kInt8, DType::kInt4}) {
    SCOPED_TRACE(DTypeName(dtype));
    const int64_t width = dtype == DType::kInt8 || dtype == DType::kInt4 ? 100 : 96;
    const at::Tensor x = hidden.narrow(1, 0, width).contiguous();
    const std::vector<char> bytes = RowsOfWeight(weight, dtype, width);
    auto doomed = std::make_unique<std::vector<char>>(bytes);
    auto rows = DeviceRows::Copy({doomed->data(), dtype, kVocab, width},
                                 std::make_shared<EmulatedHeadKernels>());
    ASSERT_TRUE(rows.ok()) << rows.status();
    doomed = nullptr;
    TensorHead copy = *TensorHead::Create(*rows, kVocab);
    TensorHead cpu =
        *TensorHead::Create(HeadWeight{bytes.data(), dtype, kVocab, width}, kVocab, pool);
    const TokenLogits from_copy = *copy.Logits(x, {full}), from_cpu = *cpu.Logits(x, {full});
    const double tolerance = dtype == DType::kF16 ? 2e-2 : 1e-3;  // f16 rounds hidden states
    for (int64_t m = 0; m < 2; ++m) {
      for (int64_t r = 0; r < kVocab; ++r) {
        EXPECT_NEAR(from_copy.of_token(m)[r], from_cpu.of_token(m)[r], tolerance);
      }
    }
  }
}

TEST(DeviceRowsTest, RejectsUnsupportedWeights) {
  const auto kernels = std::make_shared<EmulatedHeadKernels>();
  const auto refused = [&](const auto& rows, const char* words) {
    EXPECT_TRUE(absl::IsInvalidArgument(rows.status())) << rows.status();
    EXPECT_THAT(std::string(rows.status().message()), HasSubstr(words));
  };
  const at::Tensor weight = at::randn({kVocab, kHidden}).to(at::kBFloat16);
  refused(DeviceRows::Over(at::Tensor(), kernels), "contiguous");
  refused(DeviceRows::Over(weight.t(), kernels), "contiguous");
  refused(DeviceRows::Over(weight.narrow(1, 0, 32), kernels), "contiguous");
  refused(DeviceRows::Over(weight.select(0, 0), kernels), "[vocab_size, hidden]");
  refused(DeviceRows::Over(weight.to(at::kDouble), kernels), "not one of f32, f16, bf16");
  refused(DeviceRows::Over(at::empty({4, 8}, at::TensorOptions(at::kMeta)), kernels), "on cpu");
  const at::Tensor shifted = at::empty({4 * 8 + 1}, at::kFloat).narrow(0, 1, 4 * 8).view({4, 8});
  refused(DeviceRows::Over(shifted, kernels), "16-byte aligned");
  refused(DeviceRows::Over(at::randn({3, 20}).to(at::kHalf), kernels), "multiple of 8");
  refused(DeviceRows::Over(at::randn({3, 6}), kernels), "multiple of 4");
  refused(DeviceRows::Over(at::empty({0, 8}), kernels), "vocab_size");
  const std::vector<float> odd(3 * 65);
  refused(DeviceRows::Copy({odd.data(), DType::kF32, 3, 65}, kernels), "multiple of 4");
  EXPECT_EQ(kernels->num_calls, 0);
}

/// Decodes with the drafter's head on a device and without a draft: the outputs must be the same.
void ExpectPlainOutputs(DrafterKind drafter, double temperature,
                        const std::shared_ptr<EmulatedHeadKernels>& kernels, RunResult* drafted) {
  const std::unique_ptr<DemoPair> pair = DemoPair::Load(/*num_threads=*/2);
  ASSERT_NE(pair, nullptr);
  const auto prompts = TestPrompts(/*count=*/2, /*max_len=*/24);
  RunConfig config;
  config.sampling.max_new_tokens = 10;
  config.sampling.temperature = temperature;
  config.batch = 2;
  const RunResult plain = pair->Run(prompts, config);
  config.drafter = drafter;
  config.vocab = VocabKind::kListAndDynamic;
  config.draft_p_min = 0.2;
  const EmulatedDevice device(kernels);
  config.device = &device;
  *drafted = pair->Run(prompts, config);
  EXPECT_EQ(drafted->outputs, plain.outputs);
  EXPECT_EQ(drafted->total.num_mapping_faults, 0);
}

TEST(DeviceDrafterTest, OutputsEqualPlainDecoding) {
  for (const DrafterKind drafter : {DrafterKind::kEagle, DrafterKind::kModel}) {
    for (const double temperature : {0.0, 0.8}) {
      const auto kernels = std::make_shared<EmulatedHeadKernels>();
      RunResult drafted;
      ExpectPlainOutputs(drafter, temperature, kernels, &drafted);
      EXPECT_GT(drafted.total.num_accepted, 0) << Name(drafter) << " T=" << temperature;
      EXPECT_EQ(drafted.engine.num_draft_failures, 0);
      EXPECT_GT(kernels->num_calls, 0);
    }
  }
}

TEST(DeviceDrafterTest, FailingDeviceFallsBackToPlainDecoding) {
  const auto kernels = std::make_shared<EmulatedHeadKernels>();
  kernels->fails_from = 6;
  RunResult drafted;
  ExpectPlainOutputs(DrafterKind::kEagle, /*temperature=*/0.0, kernels, &drafted);
  EXPECT_GT(drafted.engine.num_draft_failures, 0);
}

TEST(DeviceDrafterTest, SwappedRowsLowerAcceptanceAndAreReported) {
  constexpr int64_t kSlots = 80;
  const std::unique_ptr<DemoPair> pair = DemoPair::Load(/*num_threads=*/2);
  ASSERT_NE(pair, nullptr);
  const auto run = [&](bool swap, SequenceStats* stats, std::vector<TokenId>* output) {
    const auto drafter =
        pair->NewDrafter(DrafterKind::kEagle, kSlots,
                         pair->CopyHead(DrafterKind::kEagle,
                                        EmulatedDevice(std::make_shared<EmulatedHeadKernels>())));
    const auto vocab = pair->NewVocab(VocabKind::kListTop2048);
    auto engine = SpeculativeEngine::Create(
        pair->target(), drafter.get(), vocab.get(),
        {.num_draft_tokens = 3, .num_slots = kSlots, .emit_size = pair->emit_size()}, pair->pool());
    ASSERT_TRUE(engine.ok()) << engine.status();
    Sequence::Options options;
    options.sampling.max_new_tokens = 40;
    options.sampling.temperature = 0.8;  // rows are mapped on the host
    options.max_tail_rows = 0;
    auto sequence = Sequence::Create(TestPrompts(/*count=*/1, /*max_len=*/30)[0],
                                     std::move(options), pair->emit_size());
    ASSERT_TRUE(sequence.ok()) << sequence.status();
    std::vector<int32_t> kv_slots(kSlots);
    std::iota(kv_slots.begin(), kv_slots.end(), 0);
    const std::vector<StepWork> one = {{sequence->get(), kv_slots}};
    ASSERT_TRUE((*engine)->Prefill(one, /*max_tokens=*/512).ok());
    ASSERT_TRUE((*engine)->Step(one).ok());  // the rows' ids go to the device
    if (swap) {
      // The fault: ids of neighbouring rows change places, the weights stay.
      const std::span<const int32_t> rows = vocab->Active()->rows();
      int32_t* ids = const_cast<int32_t*>(rows.data());
      for (size_t row = 0; row + 1 < rows.size(); row += 2) std::swap(ids[row], ids[row + 1]);
    }
    while (!(*sequence)->finished()) ASSERT_TRUE((*engine)->Step(one).ok());
    *stats = (*sequence)->stats;
    output->assign((*sequence)->output().begin(), (*sequence)->output().end());
  };
  SequenceStats sound, faulty;
  std::vector<TokenId> sound_output, faulty_output;
  ASSERT_NO_FATAL_FAILURE(run(/*swap=*/false, &sound, &sound_output));
  ASSERT_NO_FATAL_FAILURE(run(/*swap=*/true, &faulty, &faulty_output));
  EXPECT_EQ(sound.num_mapping_faults, 0);
  EXPECT_GT(faulty.num_mapping_faults, faulty.num_drafted / 2);
  EXPECT_LT(faulty.acceptance_rate(), 0.25 * sound.acceptance_rate());
  EXPECT_EQ(sound_output, faulty_output);  // so only telemetry shows the error
}

/// By the rank: in one step, and in two, of which the device does the first.
class DeviceSketchTest : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Ranks, DeviceSketchTest, testing::Values(16, 160));

TEST_P(DeviceSketchTest, ChoosesSameRowsAsCpu) {
  constexpr int64_t kRows = 5000, kWidth = 192, kStates = 3;
  ThreadPool pool(2);
  const at::Tensor weight = at::randn({kRows, kWidth});
  const HeadWeight head{weight.data_ptr<float>(), DType::kF32, kRows, kWidth};
  const auto basis = SketchBasis::Fit(head, kRows, /*rank=*/GetParam(), /*moments=*/nullptr, pool);
  ASSERT_TRUE(basis.ok()) << basis.status();
  const auto sketch = Sketch::Create(*basis, head, kRows, pool);
  ASSERT_TRUE(sketch.ok()) << sketch.status();
  EXPECT_EQ((*sketch)->has_fine(), GetParam() == 160);
  const auto kernels = std::make_shared<EmulatedHeadKernels>();
  SketchChooser here(*sketch, /*num_ranked=*/100, pool);
  SketchChooser there(*sketch, /*num_ranked=*/100, pool, *DeviceRows::Over(weight, kernels));
  const at::Tensor states = at::randn({kStates, kWidth});
  const std::vector<SketchRace> some = {{}, {.inverse_temperature = 1.25f, .seed = 7}, {}};
  for (const std::span<const SketchRace> races : {std::span<const SketchRace>(), std::span(some)}) {
    ASSERT_TRUE(here.Choose(states.data_ptr<float>(), kStates, races).ok());
    const absl::Status chosen = there.Choose(states.data_ptr<float>(), kStates, races);
    ASSERT_TRUE(chosen.ok()) << chosen;
    for (const int64_t num_chosen : {100, 20}) {
      here.set_num_chosen(num_chosen);
      there.set_num_chosen(num_chosen);
      for (int64_t m = 0; m < kStates; ++m) {
        EXPECT_TRUE(
            std::ranges::equal(here.ranked_of_token(m).keys, there.ranked_of_token(m).keys));
        EXPECT_TRUE(std::ranges::equal(here.of_token(m), there.of_token(m)));
      }
    }
  }
  EXPECT_EQ(kernels->num_selections, 2);
  kernels->fails_from = 0;
  EXPECT_THAT(std::string(there.Choose(states.data_ptr<float>(), kStates, {}).message()),
              HasSubstr("the device is gone"));
}

}  // namespace
}  // namespace shortlist

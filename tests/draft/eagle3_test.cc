// The EAGLE-3 head of the demo pair: how much of its drafts the target accepts. A head that is read
// in a wrong way makes no error and changes no output; it only accepts less.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "kernels/isa.h"
#include "tests/draft/pair.h"
#include "tests/io/torch_archive.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_eagle3.h"

namespace shortlist {
namespace {

constexpr int kDepths = 4;
/// Least share of tokens that the target accepts at each depth of a chain accepted so far.
constexpr double kFloors[kDepths] = {0.73, 0.73, 0.67, 0.71};

std::string PlainTorchFile(const AnyCheckpoint& head) {
  const std::map<std::string, std::string> storages = {{"F32", "FloatStorage"},
                                                       {"BF16", "BFloat16Storage"},
                                                       {"I64", "LongStorage"},
                                                       {"BOOL", "BoolStorage"}};
  std::map<std::string, std::string> values;
  std::vector<ZipContent> members;
  for (const auto& [name, tensor] : head.tensors) {
    TensorShape shape{.key = std::to_string(members.size()), .storage_size = 1};
    shape.size = tensor.shape;
    shape.storage = storages.at(tensor.dtype);
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      int64_t stride = 1;
      for (size_t j = i + 1; j < tensor.shape.size(); ++j) stride *= tensor.shape[j];
      shape.stride.push_back(stride);
    }
    for (const int64_t extent : tensor.shape) shape.storage_size *= extent;
    members.push_back({"data/" + shape.key, tensor.bytes});
    values[name] = TensorPickle(shape);
  }
  return TorchArchive(StateDictPickle(values), members);
}

class Eagle3Test : public testing::Test {
 protected:
  static void SetUpTestSuite() { pair_ = DemoPair::Load(/*num_threads=*/1).release(); }
  static void TearDownTestSuite() { delete pair_; }
  void SetUp() override {
    ASSERT_NE(pair_, nullptr);
    auto shipped = ReadAnyCheckpoint(SourcePath("models/demo/eagle3"));
    ASSERT_TRUE(shipped.ok()) << shipped.status();
    shipped_ = *std::move(shipped);
  }

  /// Share of accepted tokens by depth, of chains that were accepted so far, greedy.
  std::vector<double> Rates(Eagle3Model& head, VocabKind vocab = VocabKind::kFullHead) {
    RunConfig config{.drafter = DrafterKind::kEagle3,
                     .vocab = vocab,
                     .num_draft_tokens = kDepths,
                     .suffix_drafts = false,
                     .batch = 3,
                     .eagle3 = &head};
    config.sampling.max_new_tokens = 200;
    const RunResult result = pair_->Run(TestPrompts(/*count=*/7, /*max_len=*/120), config);
    EXPECT_EQ(result.total.num_mapping_faults, 0);
    // A step that emits n tokens accepted n - 1.
    std::vector<double> rates;
    int64_t num_chains = std::accumulate(result.num_steps_emitting.begin(),
                                         result.num_steps_emitting.end(), int64_t{0});
    for (int depth = 1; depth <= kDepths; ++depth) {
      const int64_t num_accepted = num_chains - result.num_steps_emitting[depth];
      rates.push_back(num_chains == 0 ? 0.0 : 1.0 * num_accepted / num_chains);
      num_chains = num_accepted;
    }
    return rates;
  }

  std::vector<double> RatesOf(const AnyCheckpoint& head, bool as_torch_file = false,
                              std::optional<std::vector<int64_t>> taps = std::nullopt) {
    TempDir dir;
    EXPECT_TRUE(head.Write(dir.path()).ok());
    if (as_torch_file) {
      std::filesystem::remove(dir.Join("model.safetensors"));
      EXPECT_TRUE(WriteFileAtomically(dir.Join("pytorch_model.bin"), PlainTorchFile(head)).ok());
    }
    auto model = LoadEagle3(dir.path(), pair_->target(), pair_->pool(), /*quantize=*/std::nullopt,
                            std::move(taps));
    EXPECT_TRUE(model.ok()) << model.status();
    return model.ok() ? Rates(**model) : std::vector<double>(kDepths);
  }

  static void Print(const char* what, const std::vector<double>& rates) {
    std::printf("%-36s", what);
    for (const double rate : rates) std::printf(" %.3f", rate);
    std::printf("\n");
  }

  static DemoPair* pair_;
  AnyCheckpoint shipped_;
};
DemoPair* Eagle3Test::pair_ = nullptr;

TEST_F(Eagle3Test, AcceptanceReachesFloorAtEveryDepth) {
  const Isa detected = CurrentIsa();
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, detected}) {
    if ((kShortSuites && isa != detected) || !SetIsa(isa)) continue;
    SCOPED_TRACE(IsaName(isa));
    const std::vector<double> full = Rates(pair_->eagle3());
    const std::vector<double> list = Rates(pair_->eagle3(), VocabKind::kListTop2048);
    Print(IsaName(isa), full);
    Print("list:top=2048", list);
    for (int depth = 0; depth < kDepths; ++depth) {
      EXPECT_GT(full[depth], kFloors[depth]) << "depth " << depth + 1;
      EXPECT_GT(list[depth], 0.9 * kFloors[depth]) << "depth " << depth + 1;
    }
  }
  SetIsa(detected);
}

/// Over the full head every other token is covered.
TEST_F(Eagle3Test, TokensWithoutRowAreEscapes) {
  RunConfig config{.drafter = DrafterKind::kEagle3, .suffix_drafts = false};
  config.sampling.temperature = 1.0;
  config.sampling.max_new_tokens = 60;
  const RunResult result = pair_->Run(TestPrompts(/*count=*/4, /*max_len=*/60), config);
  int64_t num_rowless = 0;
  for (const std::vector<TokenId>& output : result.outputs) {
    for (size_t i = 1; i < output.size(); ++i) {  // the first one is the prompt's
      num_rowless += pair_->eagle3().head_rows()->RowOf(output[i]) < 0 ? 1 : 0;
    }
  }
  EXPECT_GT(num_rowless, 0);
  EXPECT_EQ(result.total.num_held[Index(RowSource::kNone)], num_rowless);
  EXPECT_EQ(result.total.active_rows, 4096);
}

TEST_F(Eagle3Test, SameHeadInThreeFormatsAcceptsAlike) {
  const std::vector<double> flat = Rates(pair_->eagle3());
  EXPECT_EQ(RatesOf(shipped_, /*as_torch_file=*/true), flat);
  EXPECT_EQ(RatesOf(AsSpeculators(shipped_)), flat);
}

/// Each of these is a fault that readers of such files have had. None changes the output.
TEST_F(Eagle3Test, MisreadHeadFallsBelowFloor) {
  const auto expect_below_floor = [&](const char* what, const std::vector<double>& rates) {
    Print(what, rates);
    EXPECT_LT(rates[0], kFloors[0]) << what;
  };
  const std::vector<int64_t>& taps = pair_->eagle3().eagle3_config().taps;
  expect_below_floor("taps in reverse order",
                     RatesOf(shipped_, false, {{taps[2], taps[1], taps[0]}}));
  AnyCheckpoint nested = AsSpeculators(shipped_);
  nested.config["norm_before_residual"] = false;
  expect_below_floor("plain feature is the residual", RatesOf(nested));
  // Queries, keys and values that take [feature; embedding] instead of [embedding; feature].
  AnyCheckpoint swapped = shipped_;
  for (const char* part : {"q", "k", "v"}) {
    AnyTensor& weight = swapped.tensors["midlayer.self_attn." + std::string(part) + "_proj.weight"];
    const size_t half = weight.bytes.size() / weight.shape[0] / 2;
    std::string bytes;
    for (size_t begin = 0; begin < weight.bytes.size(); begin += 2 * half) {
      bytes += weight.bytes.substr(begin + half, half) + weight.bytes.substr(begin, half);
    }
    weight.bytes = bytes;
  }
  expect_below_floor("swapped concatenation", RatesOf(swapped));
  std::vector<int64_t> shifted = taps;
  for (int64_t& tap : shifted) --tap;
  expect_below_floor("taps shifted by one", RatesOf(shipped_, false, shifted));
}

}  // namespace
}  // namespace shortlist

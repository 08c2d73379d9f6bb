// The shipped hybrid model and its MTP layer: how far its drafts reach, and that a layer read
// wrongly falls short of that, although the output stays the same.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "draft/eagle_drafter.h"
#include "draft/engine.h"
#include "model/decoder.h"
#include "model/mtp_model.h"
#include "tests/draft/pair.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"
#include "vocab/dynamic_vocabulary_manager.h"

namespace shortlist {
namespace {

constexpr int kMtpDepths = 4;
/// Of drafted tokens, given that those before them stood.
constexpr double kMtpFloors[kMtpDepths] = {0.45, 0.5, 0.2, 0.3};

class MtpTest : public testing::Test {
 protected:
  MtpTest() {
    const std::string dir = SourcePath("models/demo/hybrid");
    target_ = *Decoder::Load(ModelSource::OfDirectory(dir), std::nullopt, pool_);
    tensors_ = *ReadSafetensors(dir + "/model.safetensors");
  }

  struct Run {
    std::vector<std::vector<TokenId>> outputs;
    double rates[kMtpDepths] = {};
  };

  /// Decodes greedily with the MTP layer of `tensors`.
  Run Decode(const std::vector<StoredTensor>& tensors, DynamicVocabularyManager* vocab = nullptr) {
    TempDir dir;
    EXPECT_TRUE(WriteSafetensors(dir.Join("model.safetensors"), tensors).ok());
    const auto mtp = *MtpModel::Load(ModelSource::OfDirectory(dir.path()), *target_, pool_);
    const int64_t num_ids = target_->config().vocab_size;
    const auto drafter = *EagleDrafter::Create(*mtp, kLaneSlots, num_ids, pool_);
    const auto engine = *SpeculativeEngine::Create(*target_, drafter.get(), vocab,
                                                   {.num_draft_tokens = kMtpDepths,
                                                    .draft_p_min = 0.0,
                                                    .suffix_drafts = false,
                                                    .num_slots = kLaneSlots,
                                                    .emit_size = num_ids},
                                                   pool_);
    std::vector<int32_t> slots(kLaneSlots);
    std::iota(slots.begin(), slots.end(), 0);
    Run run;
    SequenceStats total;
    for (const std::vector<TokenId>& prompt : TestPrompts(kShortSuites ? 2 : 5, /*max_len=*/60)) {
      SamplingParams sampling;
      sampling.max_new_tokens = kShortSuites ? 40 : 150;
      const auto sequence = *Sequence::Create(prompt, {.sampling = sampling}, num_ids);
      const std::vector<StepWork> work = {{sequence.get(), slots}};
      EXPECT_TRUE(engine->Prefill(work, /*max_tokens=*/512).ok());
      while (!sequence->finished()) EXPECT_TRUE(engine->Step(work).ok());
      run.outputs.emplace_back(sequence->output().begin(), sequence->output().end());
      total.Add(sequence->stats);
    }
    int64_t before = 0;
    for (int depth = 0; depth < kMtpDepths; ++depth) {
      int64_t drafted = 0, accepted = 0;
      for (const int64_t count : total.by_place[depth].num_drafted) drafted += count;
      for (const int64_t count : total.by_place[depth].num_accepted) accepted += count;
      run.rates[depth] =
          static_cast<double>(accepted) / static_cast<double>(depth == 0 ? drafted : before);
      before = accepted;
    }
    return run;
  }

  static void Print(const char* what, const Run& run) {
    std::printf("%s: acceptance by depth %.3f %.3f %.3f %.3f\n", what, run.rates[0], run.rates[1],
                run.rates[2], run.rates[3]);
  }

  /// The shipped tensors with one of them changed.
  std::vector<StoredTensor> With(const std::string& name,
                                 const std::function<void(StoredTensor&)>& edit) const {
    std::vector<StoredTensor> tensors = tensors_;
    const auto found = std::ranges::find_if(
        tensors, [&](const StoredTensor& tensor) { return tensor.name == name; });
    EXPECT_NE(found, tensors.end()) << name;
    edit(*found);
    return tensors;
  }

  ThreadPool pool_{/*num_threads=*/2};
  std::unique_ptr<Decoder> target_;
  std::vector<StoredTensor> tensors_;
};

TEST_F(MtpTest, AcceptanceReachesFloorAtEveryDepth) {
  const Run full = Decode(tensors_);
  Print("full head", full);
  // Short suites have few chains that get far.
  for (int depth = 0; depth < (kShortSuites ? 1 : kMtpDepths); ++depth) {
    EXPECT_GT(full.rates[depth], kMtpFloors[depth]) << "depth " << depth + 1;
  }
  // A quarter of the rows.
  std::vector<TokenId> base;
  for (int32_t id = 0; id < 4096; ++id) base.push_back(TokenId{id});
  const auto vocab = *DynamicVocabularyManager::Create(
      *VocabBase::Create(base, target_->config().vocab_size), {.dynamic_capacity = 512});
  const Run pruned = Decode(tensors_, vocab.get());
  Print("4096 + 512 rows", pruned);
  EXPECT_EQ(pruned.outputs, full.outputs);
  EXPECT_GT(pruned.rates[0], 0.8 * kMtpFloors[0]);
}

TEST_F(MtpTest, MisreadLayerFallsBelowFloor) {
  const Run right = Decode(tensors_);
  const auto expect_below_floor = [&](const char* what, const std::vector<StoredTensor>& tensors) {
    const Run run = Decode(tensors);
    Print(what, run);
    EXPECT_LT(run.rates[0], kMtpFloors[0]) << what;
    EXPECT_EQ(run.outputs, right.outputs) << what;
  };
  // fc over [state; embedding] instead of [embedding; state].
  expect_below_floor("swapped concatenation", With("mtp.fc.weight", [](StoredTensor& fc) {
                       const size_t half = fc.bytes.size() / fc.shape[0] / 2;
                       std::string bytes;
                       for (size_t row = 0; row < fc.bytes.size(); row += 2 * half) {
                         bytes += fc.bytes.substr(row + half, half) + fc.bytes.substr(row, half);
                       }
                       fc.bytes = bytes;
                     }));
  // Norms whose 1 is missing: stored -1, so that the sum is w instead of 1 + w.
  const auto without_one = [](StoredTensor& norm) {
    for (int64_t i = 0; i < norm.shape[0]; ++i) {
      const float value = LoadAsFloat(norm.bytes.data(), norm.dtype, i);
      StoreFromFloat(norm.bytes.data(), norm.dtype, i, value - 1.0f);
    }
  };
  expect_below_floor("norm of states without 1",
                     With("mtp.pre_fc_norm_hidden.weight", without_one));
}

}  // namespace
}  // namespace shortlist

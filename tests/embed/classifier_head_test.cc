#include "embed/classifier_head.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "model/checkpoint.h"
#include "tests/embed/embed_testing.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using Architecture = ClassifierConfig::Architecture;

/// The head of tests/reference/golden/embed/classifier/modernbert_cls: 16 wide, 3 labels.
class ClassifierHeadTest : public testing::Test {
 protected:
  ClassifierHeadTest() {
    const std::string dir = EmbedGoldenDir("classifier/modernbert_cls");
    auto config = ReadClassifierConfig(ModelSource::OfDirectory(dir));
    auto checkpoint = Checkpoint::Open(ModelSource::OfDirectory(dir), {});
    EXPECT_TRUE(config.ok() && checkpoint.ok());
    auto head = ClassifierHead::Load(*config, *checkpoint, pool_);
    EXPECT_TRUE(head.ok()) << head.status();
    head_.emplace(*std::move(head));
  }

  ThreadPool pool_{/*num_threads=*/2};
  std::optional<ClassifierHead> head_;
};

TEST_F(ClassifierHeadTest, BitsAreIndependentOfBatchAndThreads) {
  const uint32_t seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  const OwnedStates states = RandomStates({1, 7, 30, 2, 2, 5, 9, 11, 1}, /*hidden=*/16, random);
  const SequenceVectors batch = head_->Score(states.view(), ScoreFunction::kRaw, pool_);
  for (const int num_threads : {1, 3}) {
    ThreadPool pool(num_threads);
    for (int64_t seq = 0; seq < states.num_seqs(); ++seq) {
      const OwnedStates one = states.Only(seq);
      ExpectSameBits(VectorOf(head_->Score(one.view(), ScoreFunction::kRaw, pool), 0),
                     VectorOf(batch, seq));
    }
  }
}

TEST_F(ClassifierHeadTest, ScoresByCheckpointFunctionUnlessOverridden) {
  std::mt19937 random(1);
  const OwnedStates states = RandomStates({4}, /*hidden=*/16, random);
  EXPECT_EQ(VectorOf(head_->Score(states.view(), std::nullopt, pool_), 0),
            VectorOf(head_->Score(states.view(), ScoreFunction::kSoftmax, pool_), 0));
}

TEST_F(ClassifierHeadTest, BadSequencesFailAlone) {
  std::mt19937 random(1);
  OwnedStates states = RandomStates({2, 3, 0, 2}, /*hidden=*/16, random);
  const SequenceVectors want = head_->Score(states.view(), std::nullopt, pool_);
  states.Token(1, 2)[3] = std::numeric_limits<float>::quiet_NaN();
  const SequenceVectors scores = head_->Score(states.view(), std::nullopt, pool_);
  ExpectError(scores.of_sequence(1).status(), absl::StatusCode::kInternal,
              {"sequence 1", "token 2", "element 3"});
  ExpectError(scores.of_sequence(2).status(), absl::StatusCode::kInvalidArgument, {"sequence 2"});
  ExpectSameBits(VectorOf(scores, 0), VectorOf(want, 0));
  ExpectSameBits(VectorOf(scores, 3), VectorOf(want, 3));
}

class ClassifierWeightsTest : public testing::Test {
 protected:
  absl::Status Load(const std::vector<StoredTensor>& tensors) {
    const ClassifierConfig config = {
        .architecture = Architecture::kRoberta, .hidden = 2, .labels = {"x"}};
    const TempDir dir;
    EXPECT_TRUE(WriteSafetensors(dir.Join("model.safetensors"), tensors).ok());
    auto checkpoint = Checkpoint::Open(ModelSource::OfDirectory(dir.path()), {});
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.status();
    const absl::Status status = ClassifierHead::Load(config, *checkpoint, pool_).status();
    if (status.ok()) {
      EXPECT_TRUE(checkpoint->CheckNothingUnknown().ok());
    }
    return status;
  }

  std::vector<StoredTensor> tensors_ = {
      MakeTensor("classifier.dense.weight", {2, 2}, {1, 2, 3, 4}, DType::kF16),
      MakeTensor("classifier.dense.bias", {2}, {1, 2}, DType::kF32),
      MakeTensor("classifier.out_proj.weight", {1, 2}, {1, 2}, DType::kBf16),
      MakeTensor("classifier.out_proj.bias", {1}, {1}, DType::kF32)};
  ThreadPool pool_{/*num_threads=*/1};
};

TEST_F(ClassifierWeightsTest, AllTensorsAreKnown) { EXPECT_TRUE(Load(tensors_).ok()); }

TEST_F(ClassifierWeightsTest, SoftmaxOverOneLabelFailsEachSequence) {
  const TempDir dir;
  ASSERT_TRUE(WriteSafetensors(dir.Join("model.safetensors"), tensors_).ok());
  auto checkpoint = Checkpoint::Open(ModelSource::OfDirectory(dir.path()), {});
  const ClassifierConfig config = {
      .architecture = Architecture::kRoberta, .hidden = 2, .labels = {"x"}};
  const auto head = ClassifierHead::Load(config, *checkpoint, pool_);
  ASSERT_TRUE(head.ok()) << head.status();
  std::mt19937 random(1);
  const OwnedStates states = RandomStates({2, 3}, /*hidden=*/2, random);
  const SequenceVectors scores = head->Score(states.view(), ScoreFunction::kSoftmax, pool_);
  for (int64_t seq = 0; seq < states.num_seqs(); ++seq) {
    ExpectError(scores.of_sequence(seq).status(), absl::StatusCode::kInvalidArgument,
                {"softmax over one label"});
  }
}

TEST_F(ClassifierWeightsTest, EachMissingTensorIsNamed) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    std::vector<StoredTensor> tensors = tensors_;
    tensors.erase(tensors.begin() + static_cast<int64_t>(i));
    ExpectError(Load(tensors), absl::StatusCode::kNotFound, {tensors_[i].name});
  }
}

TEST_F(ClassifierWeightsTest, WrongTensorsAreNamed) {
  tensors_[2] = MakeTensor("classifier.out_proj.weight", {2, 2}, {1, 2, 3, 4}, DType::kF32);
  ExpectError(Load(tensors_), absl::StatusCode::kInvalidArgument,
              {"classifier.out_proj.weight", "[2, 2]", "[1, 2]"});
  tensors_[2] = MakeTensor("classifier.out_proj.weight", {1, 2}, {1, INFINITY}, DType::kF32);
  ExpectError(Load(tensors_), absl::StatusCode::kInvalidArgument,
              {"classifier.out_proj.weight", "infinite"});
}

TEST(ScoreFunctionTest, SoftmaxOverOneLabelIsRejected) {
  ExpectError(CheckScoreFunction(ScoreFunction::kSoftmax, 1), absl::StatusCode::kInvalidArgument,
              {"softmax over one label"});
  EXPECT_TRUE(CheckScoreFunction(ScoreFunction::kSoftmax, 2).ok());
  EXPECT_TRUE(CheckScoreFunction(ScoreFunction::kSigmoid, 1).ok());
  EXPECT_TRUE(CheckScoreFunction(ScoreFunction::kRaw, 1).ok());
}

TEST(ScoreFunctionTest, ExtremeLogitsGiveProbabilities) {
  std::vector<float> logits = {3e38f, -3e38f, 0.0f};
  std::vector<float> sigmoid = logits, softmax = logits;
  ApplyScoreFunction(ScoreFunction::kSigmoid, sigmoid);
  ApplyScoreFunction(ScoreFunction::kSoftmax, softmax);
  EXPECT_EQ(sigmoid, (std::vector<float>{1.0f, 0.0f, 0.5f}));
  EXPECT_EQ(softmax, (std::vector<float>{1.0f, 0.0f, 0.0f}));
  EXPECT_EQ(FindScoreFunction("softmax"), ScoreFunction::kSoftmax);
  EXPECT_FALSE(FindScoreFunction("Softmax").has_value());
}

}  // namespace
}  // namespace shortlist

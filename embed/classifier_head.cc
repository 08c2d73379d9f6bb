#include "embed/classifier_head.h"

#include <cmath>

#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "kernels/matrix.h"
#include "model/checkpoint.h"

namespace shortlist {
namespace {

using Architecture = ClassifierConfig::Architecture;

/// Names of the dense layer and the classifier in the checkpoint; a decoder has no dense layer.
std::pair<const char*, const char*> LayerNames(Architecture architecture) {
  switch (architecture) {
    case Architecture::kBert:
      return {"bert.pooler.dense", "classifier"};
    case Architecture::kDistilBert:
      return {"pre_classifier", "classifier"};
    case Architecture::kRoberta:
      return {"classifier.dense", "classifier.out_proj"};
    case Architecture::kModernBert:
      return {"head.dense", "classifier"};
    case Architecture::kDecoder:
      return {nullptr, "score"};
  }
  SHORTLIST_CHECK(false);
}

absl::StatusOr<std::vector<float>> LoadVector(Checkpoint& checkpoint, const char* name,
                                              int64_t size, ThreadPool& pool) {
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix tensor, checkpoint.Load(name, {size}, DType::kF32, pool));
  return std::vector<float>(tensor.floats(), tensor.floats() + size);
}

}  // namespace

absl::StatusOr<ClassifierHead> ClassifierHead::Load(const ClassifierConfig& config,
                                                    Checkpoint& checkpoint, ThreadPool& pool) {
  std::optional<ClassifierHead> head;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc("the classifier's weights", [&]() -> absl::Status {
    const auto [dense_name, classifier_name] = LayerNames(config.architecture);
    const DenseShape shape = {config.hidden, config.hidden, config.dense_has_bias,
                              config.activation};
    std::optional<DenseLayer> dense;
    if (dense_name != nullptr) {
      SHORTLIST_ASSIGN_OR_RETURN(dense, DenseLayer::Load(checkpoint, dense_name, shape, pool));
    }
    std::optional<LayerNorm> norm;
    if (config.architecture == Architecture::kModernBert) {
      norm.emplace();
      norm->eps = config.norm_eps;
      SHORTLIST_ASSIGN_OR_RETURN(norm->weight,
                                 LoadVector(checkpoint, "head.norm.weight", config.hidden, pool));
      if (config.norm_has_bias) {
        SHORTLIST_ASSIGN_OR_RETURN(norm->bias,
                                   LoadVector(checkpoint, "head.norm.bias", config.hidden, pool));
      }
    }
    const DenseShape last = {.in_features = config.hidden,
                             .out_features = std::ssize(config.labels),
                             .has_bias = config.architecture != Architecture::kDecoder};
    SHORTLIST_ASSIGN_OR_RETURN(DenseLayer classifier,
                               DenseLayer::Load(checkpoint, classifier_name, last, pool));
    head = ClassifierHead(config, std::move(dense), std::move(norm), std::move(classifier));
    return absl::OkStatus();
  }));
  return *std::move(head);
}

void ClassifierHead::Normalize(std::vector<float>& rows, ThreadPool& pool) const {
  const int64_t hidden = config_.hidden;
  pool.ParallelFor(std::ssize(rows) / hidden, /*grain=*/1, [&](int64_t first, int64_t last) {
    for (int64_t m = first; m < last; ++m) {
      const std::span<float> row = std::span(rows).subspan(m * hidden, hidden);
      double sum = 0.0, squares = 0.0;
      for (const float value : row) sum += value;
      const double mean = sum / static_cast<double>(hidden);
      for (const float value : row) squares += (value - mean) * (value - mean);
      const double scale = 1.0 / std::sqrt(squares / static_cast<double>(hidden) + norm_->eps);
      for (int64_t i = 0; i < hidden; ++i) {
        const double bias = norm_->bias.empty() ? 0.0 : norm_->bias[i];
        row[i] = static_cast<float>((row[i] - mean) * scale * norm_->weight[i] + bias);
      }
    }
  });
}

SequenceVectors ClassifierHead::Score(const HiddenStates& states,
                                      std::optional<ScoreFunction> function,
                                      ThreadPool& pool) const {
  SHORTLIST_CHECK(states.hidden == config_.hidden);
  const int64_t num_seqs = states.num_seqs();
  std::vector<absl::Status> statuses(num_seqs);
  std::vector<float> rows = PoolSequences(states, config_.pooling, {}, statuses, pool);
  if (dense_) rows = dense_->Apply(rows, num_seqs, pool);
  if (norm_) Normalize(rows, pool);
  rows = classifier_.Apply(rows, num_seqs, pool);
  RefuseNotFinite("a logit", rows, statuses);
  const ScoreFunction applied = function.value_or(config_.score_function);
  if (const absl::Status status = CheckScoreFunction(applied, num_labels()); !status.ok()) {
    statuses.assign(statuses.size(), status);
  }

  std::vector<int64_t> begin = {0};
  for (int64_t seq = 0; seq < num_seqs; ++seq) {
    ApplyScoreFunction(applied, std::span(rows).subspan(begin.back(), num_labels()));
    begin.push_back(begin.back() + num_labels());
  }
  return SequenceVectors(std::move(rows), std::move(begin), std::move(statuses));
}

}  // namespace shortlist

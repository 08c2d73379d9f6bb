#include "runtime/score_outputs.h"

#include "base/check.h"
#include "base/status_macros.h"
#include "embed/classifier_config.h"
#include "head/pruned_head.h"
#include "model/checkpoint.h"

namespace shortlist {
namespace {

ScoreFunction FunctionOf(EncodeWish::Scores scores, ScoreFunction models) {
  switch (scores) {
    case EncodeWish::Scores::kModels:
      return models;
    case EncodeWish::Scores::kRaw:
      return ScoreFunction::kRaw;
    case EncodeWish::Scores::kSigmoid:
      return ScoreFunction::kSigmoid;
    case EncodeWish::Scores::kSoftmax:
      return ScoreFunction::kSoftmax;
  }
  SHORTLIST_CHECK(false);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ClassifierOutputs>> ClassifierOutputs::Load(
    const ModelSource& source, ThreadPool& pool) {
  SHORTLIST_ASSIGN_OR_RETURN(const ClassifierConfig config, ReadClassifierConfig(source));
  SHORTLIST_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(source, WeightPacking()));
  SHORTLIST_ASSIGN_OR_RETURN(ClassifierHead head, ClassifierHead::Load(config, checkpoint, pool));
  return std::unique_ptr<ClassifierOutputs>(new ClassifierOutputs(std::move(head), pool));
}

absl::StatusOr<std::vector<EncodeResult>> ClassifierOutputs::Run(EncodingItems items,
                                                                 const EncodedStates& states) {
  // Compute all logits at once; the score function may differ between requests.
  const SequenceVectors logits = head_.Score(states.view(), ScoreFunction::kRaw, pool_);
  std::vector<EncodeResult> results(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const auto values = logits.of_sequence(static_cast<int64_t>(i));
    results[i].status = values.status();
    if (!values.ok()) continue;
    const ScoreFunction function = FunctionOf(items[i].wish->scores, head_.config().score_function);
    results[i].status = CheckScoreFunction(function, head_.num_labels());
    if (!results[i].status.ok()) continue;
    results[i].values.assign(values->begin(), values->end());
    ApplyScoreFunction(function, results[i].values);
  }
  return results;
}

absl::StatusOr<std::unique_ptr<YesNoOutputs>> YesNoOutputs::Load(const Decoder* decoder,
                                                                 const YesNoPrompt& prompt,
                                                                 ScoreFunction function,
                                                                 ThreadPool& pool) {
  if (decoder == nullptr || !decoder->has_head()) {
    return absl::InvalidArgumentError("a reranker that answers yes or no needs an LM head");
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      PrunedHead rows,
      PrunedHead::Create(decoder->head_weight(), decoder->config().vocab_size, pool));
  SHORTLIST_ASSIGN_OR_RETURN(YesNoHead head,
                             YesNoHead::Create(std::move(rows), prompt.yes(), prompt.no()));
  return std::unique_ptr<YesNoOutputs>(
      new YesNoOutputs(std::move(head), function, prompt.no().has_value()));
}

absl::StatusOr<std::vector<EncodeResult>> YesNoOutputs::Run(EncodingItems items,
                                                            const EncodedStates& states) {
  SHORTLIST_CHECK(states.last_alone);
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<absl::StatusOr<float>> logits,
                             head_.Score(states.data, ScoreFunction::kRaw));
  std::vector<EncodeResult> results;
  for (size_t i = 0; i < items.size(); ++i) {
    if (logits[i].ok()) {
      const auto function = FunctionOf(items[i].wish->scores, function_);
      results.push_back(ScoreAnswer(*logits[i], function));
    } else {
      results.push_back({.status = logits[i].status()});
    }
  }
  return results;
}

/// `logit`: that of yes, less that of no.
EncodeResult YesNoOutputs::ScoreAnswer(float logit, ScoreFunction function) const {
  if (function == ScoreFunction::kSoftmax) {
    if (!knows_no_) {
      return {.status = absl::InvalidArgumentError(
                  "softmax over the logit of yes alone is always 1: ask for raw or sigmoid")};
    }
    function = ScoreFunction::kSigmoid;  // equals the softmax of yes over both logits
  }
  ApplyScoreFunction(function, {&logit, 1});
  return {.values = {logit}};
}

}  // namespace shortlist

#ifndef SHORTLIST_RUNTIME_SCORE_OUTPUTS_H_
#define SHORTLIST_RUNTIME_SCORE_OUTPUTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "embed/classifier_head.h"
#include "embed/score_function.h"
#include "embed/yes_no_head.h"
#include "io/model_source.h"
#include "runtime/encoding_outputs.h"
#include "runtime/yes_no_prompt.h"

namespace shortlist {

/// Scores of a sequence classifier's labels: a cross-encoder, reward model or topic classifier.
class ClassifierOutputs final : public EncodingOutputs {
 public:
  /// Reads config.json and the head of `source`. `pool` must outlive the result. Errors as for
  /// ReadClassifierConfig and ClassifierHead::Load.
  static absl::StatusOr<std::unique_ptr<ClassifierOutputs>> Load(const ModelSource& source,
                                                                 ThreadPool& pool);

  const ClassifierConfig& config() const { return head_.config(); }
  int64_t result_size() const override { return head_.num_labels(); }
  std::vector<std::string> labels() const override { return head_.config().labels; }
  bool ReadsLastAlone(EncodingItems) const override {
    return head_.config().pooling == Pooling::kLast;
  }
  absl::StatusOr<std::vector<EncodeResult>> Run(EncodingItems items,
                                                const EncodedStates& states) override;

 private:
  ClassifierOutputs(ClassifierHead head, ThreadPool& pool) : head_(std::move(head)), pool_(pool) {}

  ClassifierHead head_;
  ThreadPool& pool_;
};

/// Scores the answer of a decoder that is asked yes or no.
class YesNoOutputs final : public EncodingOutputs {
 public:
  /// `decoder` and `pool` must outlive the result. `function` is the model's own. Returns
  /// InvalidArgument if there is no LM head; other errors as for YesNoHead::Create.
  static absl::StatusOr<std::unique_ptr<YesNoOutputs>> Load(const Decoder* decoder,
                                                            const YesNoPrompt& prompt,
                                                            ScoreFunction function,
                                                            ThreadPool& pool);

  int64_t result_size() const override { return 1; }
  std::vector<std::string> labels() const override { return {"yes"}; }
  bool ReadsLastAlone(EncodingItems) const override { return true; }
  absl::StatusOr<std::vector<EncodeResult>> Run(EncodingItems items,
                                                const EncodedStates& states) override;

 private:
  YesNoOutputs(YesNoHead head, ScoreFunction function, bool knows_no)
      : head_(std::move(head)), function_(function), knows_no_(knows_no) {}

  EncodeResult ScoreAnswer(float logit, ScoreFunction function) const;

  YesNoHead head_;
  ScoreFunction function_;
  bool knows_no_;  // false: only the logit of yes is known
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_SCORE_OUTPUTS_H_

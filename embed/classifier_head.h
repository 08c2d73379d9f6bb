#ifndef SHORTLIST_EMBED_CLASSIFIER_HEAD_H_
#define SHORTLIST_EMBED_CLASSIFIER_HEAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "embed/classifier_config.h"
#include "embed/dense_layer.h"
#include "embed/hidden_states.h"
#include "embed/sequence_vectors.h"

namespace shortlist {

class Checkpoint;

/// The head of a sequence classifier, such as a cross-encoder that scores (query, document);
/// elsewhere called CrossEncodingPooler. Maps hidden states to a logit for each label. x is the
/// first token's state (ModernBERT: or the mean; decoders: the last token's):
///
///   BertForSequenceClassification              classifier(tanh(bert.pooler.dense(x)))
///   (XLM)RobertaForSequenceClassification      classifier.out_proj(tanh(classifier.dense(x)))
///   ModernBertForSequenceClassification        classifier(head.norm(act(head.dense(x))))
///   LlamaForSequenceClassification and so on   score(x)
///
/// Immutable; thread-safe, if each thread uses its own ThreadPool.
class ClassifierHead {
 public:
  /// Reads the head's weights from the model's checkpoint, where they then count as known. The code
  /// that reads the encoder's weights calls CheckNothingUnknown(). Errors as for Checkpoint::Load;
  /// ResourceExhausted if out of memory.
  static absl::StatusOr<ClassifierHead> Load(const ClassifierConfig& config, Checkpoint& checkpoint,
                                             ThreadPool& pool);

  const ClassifierConfig& config() const { return config_; }
  int64_t num_labels() const { return std::ssize(config_.labels); }

  /// Returns [num_labels] scores for each sequence, computed with `function`; nullopt: with the
  /// checkpoint's. kRaw gives the logits. states.hidden must be the config's (checked invariant). A
  /// failed sequence does not affect the others: InvalidArgument if it has no tokens, Internal if a
  /// hidden state or the output of a layer is NaN or infinite. With a softmax over one label every
  /// sequence has InvalidArgument. Scores have the same bits alone or in any batch, and with any
  /// number of threads.
  SequenceVectors Score(const HiddenStates& states, std::optional<ScoreFunction> function,
                        ThreadPool& pool) const;

 private:
  /// y = (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias
  struct LayerNorm {
    std::vector<float> weight;  // [hidden]
    std::vector<float> bias;    // [hidden], or empty
    double eps = 0.0;
  };

  ClassifierHead(ClassifierConfig config, std::optional<DenseLayer> dense,
                 std::optional<LayerNorm> norm, DenseLayer classifier)
      : config_(std::move(config)),
        dense_(std::move(dense)),
        norm_(std::move(norm)),
        classifier_(std::move(classifier)) {}

  void Normalize(std::vector<float>& rows, ThreadPool& pool) const;

  ClassifierConfig config_;
  std::optional<DenseLayer> dense_;
  std::optional<LayerNorm> norm_;
  DenseLayer classifier_;
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_CLASSIFIER_HEAD_H_

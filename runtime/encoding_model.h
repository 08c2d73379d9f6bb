#ifndef SHORTLIST_RUNTIME_ENCODING_MODEL_H_
#define SHORTLIST_RUNTIME_ENCODING_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "embed/classifier_head.h"
#include "embed/embedding_config.h"
#include "embed/pooler.h"
#include "model/causal_encoder.h"
#include "model/encoder.h"
#include "request/encoding.h"
#include "router/encoding_loop.h"
#include "text/tokenizer.h"

namespace shortlist {

/// An encoder, or a decoder that is used as one, with all that goes round it: texts become ids, ids
/// vectors, or the scores of a classifier where the checkpoint is one. Prepare may be called by any
/// thread, Encode by one at a time.
class EncodingModel {
 public:
  struct Options {
    std::string model;              // as ModelOptions::model
    std::optional<DType> dtype;     // nullopt: the checkpoint's
    std::optional<DType> quantize;  // of linear layers; nullopt: not at all
  };

  /// `pool` must outlive this. Errors name what does not fit: those of ResolveModelDir,
  /// OpenTokenizer, ReadEmbeddingConfig, ReadClassifierConfig, Encoder::Load and
  /// CausalEncoder::Load.
  static absl::StatusOr<std::unique_ptr<EncodingModel>> Open(const Options& options,
                                                             ThreadPool& pool);

  const std::string& dir() const { return dir_; }
  /// Of a decoder that is used as an encoder, as far as an encoder's has the field.
  const EncoderConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  /// Of the encoder's embeddings, and of its linear layers.
  DType dtype() const { return encoder_ ? encoder_->dtype() : causal_->decoder().dtype(); }
  DType weight_dtype() const {
    return encoder_ ? encoder_->weight_dtype() : causal_->decoder().weight_dtype();
  }
  /// Null where it scores.
  const EmbeddingConfig* embedding() const { return embedding_ ? &*embedding_ : nullptr; }
  /// Null where it makes vectors.
  const ClassifierConfig* classifier() const { return head_ ? &head_->config() : nullptr; }
  /// Of a result: dimensions of a vector, or labels.
  int64_t result_size() const;
  /// Tokens of the longest input, those that the checkpoint puts round it included.
  int64_t max_input_tokens() const { return max_input_tokens_; }

  /// How a text that is too long becomes an input.
  struct Cut {
    bool truncates = false;  // false: it is refused
    Truncation::Side side = Truncation::Side::kRight;
    std::optional<int64_t> max_tokens;  // at least 1; more than max_input_tokens() is that
  };

  /// The input of `text`, or of a pair, with `instruction` before the first. OutOfRange names
  /// length and bound of one that is too long, InvalidArgument what else is wrong with it.
  absl::StatusOr<EncodeInput> Prepare(std::string_view instruction, std::string_view text,
                                      std::optional<std::string_view> second, const Cut& cut) const;
  /// The input of ids as they are. The same errors, and for an id outside the vocabulary.
  absl::StatusOr<EncodeInput> Prepare(std::vector<TokenId> ids, const Cut& cut) const;

  /// One pass, as EncodingLoop::Encode asks for it. A result is that of its item alone, bit for
  /// bit, and finite; InvalidArgument where the vector has not as many dimensions as are wished
  /// for.
  std::vector<EncodeResult> Encode(std::span<const EncodingLoop::Item> items);

 private:
  explicit EncodingModel(ThreadPool& pool) : pool_(pool) {}

  absl::Status LoadBody(const std::string& dir, const Options& options);
  absl::Status LoadHead();
  absl::StatusOr<at::Tensor> Forward(const EncoderBatch& batch) {
    return encoder_ ? encoder_->Forward(batch) : causal_->Forward(batch);
  }
  absl::StatusOr<int64_t> MostTokens(const Cut& cut) const;

  ThreadPool& pool_;
  std::string dir_;
  std::unique_ptr<Tokenizer> tokenizer_;
  EncoderConfig config_;
  std::unique_ptr<Encoder> encoder_;  // exactly one of the two
  std::unique_ptr<CausalEncoder> causal_;
  std::optional<EmbeddingConfig> embedding_;  // exactly one of this and head_
  std::optional<Pooler> pooler_;              // with embedding_
  std::optional<ClassifierHead> head_;
  int64_t max_input_tokens_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_ENCODING_MODEL_H_

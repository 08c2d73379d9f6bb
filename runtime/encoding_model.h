#ifndef SHORTLIST_RUNTIME_ENCODING_MODEL_H_
#define SHORTLIST_RUNTIME_ENCODING_MODEL_H_

#include <algorithm>
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
#include "embed/next_token_head.h"
#include "embed/pooler.h"
#include "embed/score_function.h"
#include "embed/yes_no_head.h"
#include "model/encoder.h"
#include "request/encoding.h"
#include "router/encoding_loop.h"
#include "runtime/causal_encoder.h"
#include "runtime/clip_encoder.h"
#include "runtime/yes_no_prompt.h"
#include "text/tokenizer.h"

namespace shortlist {

/// An encoder, a decoder that is used as one, or a CLIPModel, with all that goes round it: texts
/// become ids, ids vectors; or scores, where the checkpoint is a classifier, or a decoder that is
/// asked yes or no. Of a decoder whose last state alone counts, prefixes that inputs share are
/// computed once (CausalEncoder). Prepare may be called by any thread, Encode by one at a time.
class EncodingModel {
 public:
  struct Options {
    std::string model;              // as ModelOptions::model
    std::optional<DType> dtype;     // nullopt: the checkpoint's
    std::optional<DType> quantize;  // of linear layers; nullopt: not at all
  };

  /// `pool` must outlive this. Errors name what does not fit: those of ResolveModelDir,
  /// OpenTokenizer, DetectYesNoFormat, ReadEmbeddingConfig, ReadClassifierConfig, Encoder::Load and
  /// Decoder::Load.
  static absl::StatusOr<std::unique_ptr<EncodingModel>> Open(const Options& options,
                                                             ThreadPool& pool);

  /// A generating model as it makes vectors without being made for it: the mean of its hidden
  /// states, normalised, of at most `max_input_tokens` and its context; and as it tells how likely
  /// tokens come next (EncodeWish::next_tokens). Decoder and tokenizer must outlive this; no call
  /// of the decoder's beside one of Encode. Errors are LmHead's.
  static absl::StatusOr<std::unique_ptr<EncodingModel>> Over(Decoder& decoder,
                                                             const Tokenizer& tokenizer,
                                                             std::string dir,
                                                             int64_t max_input_tokens,
                                                             ThreadPool& pool);

  const std::string& dir() const { return dir_; }
  /// Of a decoder that is used as an encoder, as far as an encoder's has the field.
  const EncoderConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  /// Of the encoder's embeddings, and of its linear layers.
  DType dtype() const {
    if (clip_) return clip_->model().dtype();
    return encoder_ ? encoder_->dtype() : decoder_->dtype();
  }
  DType weight_dtype() const {
    if (clip_) return clip_->model().weight_dtype();
    return encoder_ ? encoder_->weight_dtype() : decoder_->weight_dtype();
  }
  /// Of a model that reads pictures (EncodeInput::picture) as well as texts; null for any other.
  const ClipConfig* clip() const { return clip_ ? &clip_->model().config() : nullptr; }
  /// Null where it scores.
  const EmbeddingConfig* embedding() const { return embedding_ ? &*embedding_ : nullptr; }
  /// What the scores of an input are of; empty where it makes vectors.
  std::vector<std::string> labels() const;
  bool makes_scores() const { return !embedding_; }
  /// Whether an instruction may go before a pair (YesNoFormat).
  bool instructs_pairs() const { return yes_no_prompt_.has_value(); }
  /// Of a decoder whose prefixes are shared; null for any other model.
  const CausalEncoder::Stats* prefixes() const {
    return causal_ && pools_last() ? &causal_->stats() : nullptr;
  }
  /// Of a result: dimensions of a vector, or labels.
  int64_t result_size() const;
  /// Tokens of the longest input, those that the checkpoint puts round it included.
  int64_t max_input_tokens() const { return max_input_tokens_; }
  /// Or of a picture, where that has more.
  int64_t longest_input() const {
    return clip_ ? std::max(max_input_tokens_, clip()->picture_tokens()) : max_input_tokens_;
  }

  /// How a text that is too long becomes an input.
  struct Cut {
    bool truncates = false;  // false: it is refused
    Truncation::Side side = Truncation::Side::kRight;
    std::optional<int64_t> max_tokens;  // at least 1; more than max_input_tokens() is that
  };

  /// The input of `text`, or of a pair, with `instruction` before the first; a decoder that is
  /// asked yes or no reads pairs alone, of which the second loses what is cut. OutOfRange names
  /// length and bound of one that is too long, InvalidArgument what else is wrong with it.
  absl::StatusOr<EncodeInput> Prepare(std::string_view instruction, std::string_view text,
                                      std::optional<std::string_view> second, const Cut& cut) const;
  /// The input of a prompt, as a generating model reads it: control tokens spelled in it are these
  /// tokens. The same errors.
  absl::StatusOr<EncodeInput> PreparePrompt(std::string_view text, const Cut& cut) const;
  /// The input of ids as they are. The same errors, and for an id outside the vocabulary.
  absl::StatusOr<EncodeInput> Prepare(std::vector<TokenId> ids, const Cut& cut) const;

  /// One pass. A result is that of its item alone, bit for bit, and finite; InvalidArgument where
  /// the vector has not as many dimensions as are wished for.
  std::vector<EncodeResult> Encode(std::span<const EncodingLoop::Item> items);
  /// A part of one, as EncodingLoop::Encode asks for it: a decoder stops in long texts.
  std::optional<std::vector<EncodeResult>> EncodeSome(std::span<const EncodingLoop::Item> items,
                                                      bool goes_on);

 private:
  explicit EncodingModel(ThreadPool& pool) : pool_(pool) {}

  absl::Status LoadClip(const Options& options);
  absl::Status LoadBody(const std::string& dir, const Options& options);
  void UseDecoder(Decoder& decoder);
  absl::Status LoadHead();
  absl::Status LoadYesNo(const YesNoFormat& format);
  absl::StatusOr<EncodeInput> PrepareSequence(std::string_view instruction, std::string_view text,
                                              std::optional<std::string_view> second,
                                              int64_t max_tokens, const Cut& cut,
                                              bool parse_special) const;
  absl::StatusOr<int64_t> MostTokens(const Cut& cut) const;

  /// Hidden states of each token of the items' inputs, or of each one's last.
  struct States {
    at::Tensor data;                 // [num_tokens, hidden]
    std::vector<int32_t> seq_begin;  // [items + 1]
  };
  /// Of a vector where none are wished for; 0: all.
  int64_t default_dimensions() const { return embedding_ ? embedding_->truncate_dim : 0; }
  using Items = std::span<const EncodingLoop::Item>;
  /// Of a decoder: whether its results are made of last tokens' states, and whether all that these
  /// items ask for is.
  bool pools_last() const { return !embedding_ || embedding_->pooling == Pooling::kLast; }
  bool wants_last(Items items) const;
  absl::StatusOr<States> ClipStates(Items items);
  absl::StatusOr<States> EncoderStates(Items items);
  absl::StatusOr<std::optional<States>> CausalStates(Items items, bool goes_on);
  absl::StatusOr<std::vector<EncodeResult>> Results(Items items, const States& states);
  EncodeResult ScoreAnswer(float logit, ScoreFunction function) const;
  absl::Status TellNextTokens(Items items, const States& states,
                              std::vector<EncodeResult>& results);
  std::vector<EncodeResult> Vectors(std::span<const EncodingLoop::Item> items,
                                    const HiddenStates& states) const;

  ThreadPool& pool_;
  std::string dir_;
  std::unique_ptr<Tokenizer> own_tokenizer_;
  const Tokenizer* tokenizer_ = nullptr;
  EncoderConfig config_;
  // The body: a CLIPModel; an encoder; or a decoder, and what uses it.
  std::optional<ClipEncoder> clip_;
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<Decoder> own_decoder_;
  Decoder* decoder_ = nullptr;
  std::optional<CausalEncoder> causal_;
  // What becomes of its states: vectors, a classifier's scores, or those of an answer.
  std::optional<EmbeddingConfig> embedding_;
  std::optional<Pooler> pooler_;                  // with embedding_
  std::optional<NextTokenHead> next_token_head_;  // of a generating model
  std::optional<ClassifierHead> classifier_;
  std::string pair_prompt_;  // of pairs; goes before the first text where there is no instruction
  std::optional<YesNoPrompt> yes_no_prompt_;
  std::optional<YesNoHead> yes_no_head_;  // with yes_no_prompt_
  int64_t max_input_tokens_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_ENCODING_MODEL_H_

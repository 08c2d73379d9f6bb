#ifndef SHORTLIST_RUNTIME_ENCODING_MODEL_H_
#define SHORTLIST_RUNTIME_ENCODING_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "embed/embedding_config.h"
#include "io/model_source.h"
#include "request/encoding.h"
#include "runtime/encoding_body.h"
#include "runtime/encoding_outputs.h"
#include "runtime/text_inputs.h"
#include "text/tokenizer.h"

namespace shortlist {

/// An encoder, a decoder that is used as one, or a CLIPModel, with all that goes round it: texts
/// become inputs (TextInputs), inputs hidden states (EncodingBody), and these vectors or scores
/// (EncodingOutputs). Prepare may be called by any thread, Encode by one at a time.
class EncodingModel {
 public:
  struct Options {
    std::string model;              // as ModelOptions::model
    std::optional<DType> dtype;     // nullopt: the checkpoint's
    std::optional<DType> quantize;  // of linear layers; nullopt: not at all
  };

  /// `pool` must outlive this. Errors name what does not fit: those of ModelSource::Open,
  /// OpenTokenizer, DetectYesNoFormat, ReadEmbeddingConfig, EncodingBody::Load, MessagePrompt, what
  /// loads the outputs, and FolderVersions::CheckUnchanged; Unimplemented for a CrossEncoder whose
  /// chat template carries no pair.
  static absl::StatusOr<std::unique_ptr<EncodingModel>> Open(const Options& options,
                                                             ThreadPool& pool);

  /// A generating model as it makes vectors without being made for it: the mean of its hidden
  /// states, normalised, of at most `max_input_tokens` and its context; and as it tells how likely
  /// tokens come next (EncodeWish::next_tokens). Decoder and tokenizer must outlive this; no call
  /// of the decoder's beside one of Encode. Errors are LmHead's.
  static absl::StatusOr<std::unique_ptr<EncodingModel>> Over(Decoder& decoder,
                                                             const Tokenizer& tokenizer,
                                                             ModelSource source,
                                                             int64_t max_input_tokens,
                                                             ThreadPool& pool);

  const ModelSource& source() const { return source_; }
  /// Of a decoder that is used as an encoder, as far as an encoder's has the field.
  const EncoderConfig& config() const { return body_->config(); }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  /// Of the embeddings, and of the linear layers.
  DType dtype() const { return body_->dtype(); }
  DType weight_dtype() const { return body_->weight_dtype(); }
  /// What is made of inputs; for EncodingOutputs::Run use Encode.
  const EncodingOutputs& outputs() const { return *outputs_; }
  /// Of a model that reads pictures (EncodeInput::picture) as well as texts; null for any other.
  const ClipConfig* clip() const { return body_->clip(); }
  /// Null where it scores.
  const EmbeddingConfig* embedding() const { return outputs_->embedding(); }
  /// What the scores of an input are of; empty where it makes vectors.
  std::vector<std::string> labels() const { return outputs_->labels(); }
  bool makes_scores() const { return embedding() == nullptr; }
  /// Whether an instruction may go before a pair (YesNoFormat, or a chat template's system
  /// message).
  bool instructs_pairs() const {
    return inputs_->options().yes_no.has_value() || inputs_->options().messages.has_value();
  }
  /// Of a decoder whose prefixes are shared; null for any other model.
  const CausalEncoder::Stats* prefixes() const {
    return outputs_->ReadsLastAlone({}) ? body_->prefixes() : nullptr;
  }
  /// Of a result: dimensions of a vector, or labels.
  int64_t result_size() const { return outputs_->result_size(); }
  /// Tokens of the longest input, those that the checkpoint puts round it included.
  int64_t max_input_tokens() const { return inputs_->options().max_input_tokens; }
  /// Or of a picture, where that has more.
  int64_t longest_input() const {
    return clip() != nullptr ? std::max(max_input_tokens(), clip()->picture_tokens())
                             : max_input_tokens();
  }

  using Cut = TextInputs::Cut;
  /// As TextInputs.
  absl::StatusOr<EncodeInput> Prepare(std::string_view instruction, std::string_view text,
                                      std::optional<std::string_view> second,
                                      const Cut& cut) const {
    return inputs_->Prepare(instruction, text, second, cut);
  }
  absl::StatusOr<EncodeInput> PreparePrompt(std::string_view text, const Cut& cut) const {
    return inputs_->PreparePrompt(text, cut);
  }
  absl::StatusOr<EncodeInput> Prepare(std::vector<TokenId> ids, const Cut& cut) const {
    return inputs_->Prepare(std::move(ids), cut);
  }

  /// One pass. A result is that of its item alone, bit for bit, and finite; InvalidArgument where
  /// the model does not make what is wished for, or a vector has not as many dimensions.
  std::vector<EncodeResult> Encode(EncodingItems items);
  /// A part of one, as EncodingLoop::Encode asks for it: a decoder stops in long texts.
  std::optional<std::vector<EncodeResult>> EncodeSome(EncodingItems items, bool goes_on);

 private:
  EncodingModel() = default;
  static absl::StatusOr<std::unique_ptr<EncodingModel>> OpenSource(const ModelSource& source,
                                                                   const Options& options,
                                                                   ThreadPool& pool);

  ModelSource source_;
  std::unique_ptr<Tokenizer> own_tokenizer_;
  const Tokenizer* tokenizer_ = nullptr;
  std::optional<TextInputs> inputs_;
  std::unique_ptr<EncodingBody> body_;
  std::unique_ptr<EncodingOutputs> outputs_;  // of body_
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_ENCODING_MODEL_H_

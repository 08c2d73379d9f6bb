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

/// An encoder, a decoder used as one, or a CLIPModel, with its pre- and postprocessing. Texts
/// become inputs (TextInputs), inputs hidden states (EncodingBody), and states vectors or scores
/// (EncodingOutputs). Prepare methods may be called by any thread, Encode methods by one thread at
/// a time.
class EncodingModel {
 public:
  struct Options {
    std::string model;              // see ModelOptions::model
    std::optional<DType> dtype;     // nullopt: as in the checkpoint
    std::optional<DType> quantize;  // for linear layers; nullopt: not quantised
  };

  /// `pool` must outlive the result. Returns errors of ResolveModelDir, OpenTokenizer,
  /// DetectYesNoFormat, ReadEmbeddingConfig, EncodingBody::Load, MessagePrompt, of loading the
  /// outputs, and of FolderVersions::CheckUnchanged. Returns Unimplemented for a CrossEncoder whose
  /// chat template renders no pair.
  static absl::StatusOr<std::unique_ptr<EncodingModel>> Open(const Options& options,
                                                             ThreadPool& pool);

  /// Uses a generating model that was not trained for vectors. A vector is the normalised mean of
  /// its hidden states, over at most `max_input_tokens` tokens and the model's context. It also
  /// reports how likely tokens come next (EncodeWish::next_tokens). Decoder and tokenizer must
  /// outlive the result; do not call the decoder during Encode(). Returns errors of PrunedHead.
  static absl::StatusOr<std::unique_ptr<EncodingModel>> Over(Decoder& decoder,
                                                             const Tokenizer& tokenizer,
                                                             ModelSource source,
                                                             int64_t max_input_tokens,
                                                             ThreadPool& pool);

  const ModelSource& source() const { return source_; }
  /// For a decoder, only the fields that it has in common with an encoder.
  const EncoderConfig& config() const { return body_->config(); }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  /// Type of the embeddings; and of the linear layers.
  DType dtype() const { return body_->dtype(); }
  DType weight_dtype() const { return body_->weight_dtype(); }
  /// A suspicion about the weights, for the user; empty: none.
  std::string warning() const { return body_->warning(); }
  /// Describes the outputs. Call Encode() instead of EncodingOutputs::Run().
  const EncodingOutputs& outputs() const { return *outputs_; }
  /// Null unless the model also reads pictures (EncodeInput::picture).
  const ClipConfig* clip() const { return body_->clip(); }
  /// Null if the model makes scores.
  const EmbeddingConfig* embedding() const { return outputs_->embedding(); }
  /// Labels of an input's scores; empty if the model makes vectors.
  std::vector<std::string> labels() const { return outputs_->labels(); }
  bool makes_scores() const { return embedding() == nullptr; }
  /// True if a pair may be preceded by an instruction (YesNoFormat, or a chat template's system
  /// message).
  bool instructs_pairs() const {
    return inputs_->options().yes_no.has_value() || inputs_->options().messages.has_value();
  }
  /// Statistics of a decoder that shares prefixes; null for any other model.
  const CausalEncoder::Stats* prefixes() const {
    return outputs_->ReadsLastAlone({}) ? body_->prefixes() : nullptr;
  }
  /// Size of a result: dimensions of a vector, or number of labels.
  int64_t result_size() const { return outputs_->result_size(); }
  /// Maximum tokens of an input, including those that the checkpoint adds.
  int64_t max_input_tokens() const { return inputs_->options().max_input_tokens; }
  /// Same as max_input_tokens(), or the tokens of a picture if that is more.
  int64_t longest_input() const {
    return clip() != nullptr ? std::max(max_input_tokens(), clip()->picture_tokens())
                             : max_input_tokens();
  }

  using Cut = TextInputs::Cut;
  /// See TextInputs.
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

  /// Runs one pass to its end. A result has the same bits as for its item alone, and is finite.
  /// InvalidArgument for an item that asks for outputs that the model does not make, or for too
  /// many dimensions.
  std::vector<EncodeResult> Encode(EncodingItems items);
  /// Runs part of a pass, as for EncodingLoop::Encode; a decoder may pause within long texts.
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

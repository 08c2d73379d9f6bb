#include "runtime/encoding_body.h"

#include <utility>

#include "base/status_macros.h"
#include "model/checkpoint/config.h"
#include "model/encoder.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

class EncoderBody final : public EncodingBody {
 public:
  explicit EncoderBody(std::unique_ptr<Encoder> encoder) : encoder_(std::move(encoder)) {}

  const EncoderConfig& config() const override { return encoder_->config(); }
  DType dtype() const override { return encoder_->dtype(); }
  DType weight_dtype() const override { return encoder_->weight_dtype(); }
  std::string warning() const override { return encoder_->warning(); }

  absl::StatusOr<std::optional<EncodedStates>> Run(EncodingItems items, bool /*last_alone*/,
                                                   bool /*goes_on*/) override {
    std::vector<int32_t> ids, types, seq_begin = {0};
    bool is_typed = false;
    for (const EncodingLoop::Item& item : items) {
      is_typed |= !item.input->token_types.empty();
      for (const TokenId id : item.input->ids) ids.push_back(Raw(id));
      seq_begin.push_back(static_cast<int32_t>(ids.size()));
    }
    if (is_typed) {
      for (const EncodingLoop::Item& item : items) {
        types.insert(types.end(), item.input->token_types.begin(), item.input->token_types.end());
        if (item.input->token_types.empty()) types.resize(types.size() + item.input->ids.size(), 0);
      }
    }
    SHORTLIST_ASSIGN_OR_RETURN(
        Matrix data,
        encoder_->Forward({.token_ids = ids, .token_type_ids = types, .seq_begin = seq_begin}));
    return EncodedStates{.data = std::move(data), .seq_begin = std::move(seq_begin)};
  }

 private:
  const std::unique_ptr<Encoder> encoder_;
};

class DecoderBody final : public EncodingBody {
 public:
  /// `owned`: the decoder itself if this object owns it, else null.
  DecoderBody(Decoder& decoder, std::unique_ptr<Decoder> owned)
      : owned_(std::move(owned)), decoder_(decoder), causal_(decoder) {
    const ModelConfig& config = decoder.config();
    config_.architecture = config.architecture;
    config_.vocab_size = config.vocab_size;
    config_.hidden = config.hidden;
    config_.num_layers = config.num_layers;
    config_.context_len = config.context_len;
  }

  absl::Status Reserve() { return causal_.Reserve(); }

  const EncoderConfig& config() const override { return config_; }
  DType dtype() const override { return decoder_.dtype(); }
  DType weight_dtype() const override { return decoder_.weight_dtype(); }
  std::string warning() const override { return decoder_.warning(); }
  const Decoder* decoder() const override { return &decoder_; }
  const CausalEncoder::Stats* prefixes() const override { return &causal_.stats(); }

  absl::StatusOr<std::optional<EncodedStates>> Run(EncodingItems items, bool last_alone,
                                                   bool goes_on) override {
    if (!goes_on) {
      std::vector<CausalEncoder::Text> texts;
      for (const EncodingLoop::Item& item : items) texts.emplace_back(item.input->ids);
      using Wanted = CausalEncoder::Wanted;
      SHORTLIST_RETURN_IF_ERROR(causal_.Begin(texts, last_alone ? Wanted::kLast : Wanted::kAll));
    }
    SHORTLIST_ASSIGN_OR_RETURN(std::optional<Matrix> data, causal_.Advance());
    if (!data) return std::nullopt;
    EncodedStates states{.data = *std::move(data), .seq_begin = {0}, .last_alone = last_alone};
    for (const EncodingLoop::Item& item : items) {
      const auto count = last_alone ? 1 : static_cast<int32_t>(item.input->ids.size());
      states.seq_begin.push_back(states.seq_begin.back() + count);
    }
    return states;
  }

 private:
  const std::unique_ptr<Decoder> owned_;
  Decoder& decoder_;
  CausalEncoder causal_;
  EncoderConfig config_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EncodingBody>> EncodingBody::Load(const ModelSource& source,
                                                                 std::optional<DType> dtype,
                                                                 std::optional<DType> quantize,
                                                                 ThreadPool& pool) {
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json file, source.ReadJson("config.json"));
  if (IsEncoderConfig(file)) {
    SHORTLIST_ASSIGN_OR_RETURN(auto encoder, Encoder::Load(source, dtype, pool, quantize));
    return std::make_unique<EncoderBody>(std::move(encoder));
  }
  SHORTLIST_ASSIGN_OR_RETURN(auto decoder, Decoder::Load(source, dtype, pool, quantize));
  Decoder& body = *decoder;
  auto owner = std::make_unique<DecoderBody>(body, std::move(decoder));
  // Allocate now, so that code that divides up the free memory sees it as used.
  SHORTLIST_RETURN_IF_ERROR(owner->Reserve());
  return owner;
}

std::unique_ptr<EncodingBody> EncodingBody::Over(Decoder& decoder) {
  return std::make_unique<DecoderBody>(decoder, nullptr);
}

}  // namespace shortlist

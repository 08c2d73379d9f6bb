#include "runtime/clip_encoder.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

/// Copies row i of `from` to row places[i] of `to`.
void Scatter(const Matrix& from, std::span<const int64_t> places, Matrix& to) {
  const int64_t width = to.cols();
  for (size_t i = 0; i < places.size(); ++i) {
    std::copy_n(from.floats() + static_cast<int64_t>(i) * width, width,
                to.floats() + places[i] * width);
  }
}

}  // namespace

bool ClipEncoder::Fits(const ModelSource& source) {
  const auto config = source.ReadJson("config.json");
  return config.ok() && IsClipConfig(*config);
}

absl::StatusOr<std::unique_ptr<ClipEncoder>> ClipEncoder::Load(const ModelSource& source,
                                                               std::optional<DType> dtype,
                                                               std::optional<DType> quantize,
                                                               ThreadPool& pool) {
  std::unique_ptr<ClipEncoder> encoder(new ClipEncoder());
  SHORTLIST_ASSIGN_OR_RETURN(encoder->model_, ClipModel::Load(source, dtype, pool, quantize));
  const ClipConfig& config = encoder->model_->config();
  encoder->config_.architecture = "CLIPModel";
  encoder->config_.vocab_size = config.vocab_size;
  encoder->config_.hidden = config.projection;
  encoder->config_.num_layers = config.text.num_layers;
  encoder->config_.context_len = config.context_len;
  return encoder;
}

EmbeddingConfig ClipEncoder::embedding(const ModelSource& source) const {
  // There is only one state, so any pooling gives the same result.
  return {.transformer = source, .pooling = Pooling::kCls, .hidden = config_.hidden};
}

absl::StatusOr<std::optional<EncodedStates>> ClipEncoder::Run(EncodingItems items,
                                                              bool /*last_alone*/,
                                                              bool /*goes_on*/) {
  std::vector<int32_t> ids, seq_begin = {0};
  std::vector<ClipModel::Pixels> pictures;
  std::vector<int64_t> text_places, picture_places;
  for (size_t i = 0; i < items.size(); ++i) {
    const EncodeInput& input = *items[i].input;
    if (input.picture != nullptr) {
      pictures.push_back({input.picture->rgb, input.picture->values.get()});
      picture_places.push_back(static_cast<int64_t>(i));
      continue;
    }
    for (const TokenId id : input.ids) ids.push_back(Raw(id));
    seq_begin.push_back(static_cast<int32_t>(ids.size()));
    text_places.push_back(static_cast<int64_t>(i));
  }
  Matrix states = Matrix(std::ssize(items), config_.hidden);
  if (!text_places.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(const Matrix of_texts, model_->EmbedTexts({ids, seq_begin}));
    Scatter(of_texts, text_places, states);
  }
  if (!pictures.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(const Matrix of_pictures, model_->EmbedPictures(pictures));
    Scatter(of_pictures, picture_places, states);
  }
  EncodedStates encoded{.data = std::move(states),
                        .seq_begin = std::vector<int32_t>(items.size() + 1)};
  std::iota(encoded.seq_begin.begin(), encoded.seq_begin.end(), 0);
  return encoded;
}

}  // namespace shortlist

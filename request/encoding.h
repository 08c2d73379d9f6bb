#ifndef SHORTLIST_REQUEST_ENCODING_H_
#define SHORTLIST_REQUEST_ENCODING_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"

namespace shortlist {

/// A picture as a model reads it: resized and cropped.
struct PicturePixels {
  std::vector<uint8_t> rgb;  // [height, width, 3], in the model's size
  // The model's value of each byte of each channel; the same for all its pictures.
  std::shared_ptr<const std::array<std::array<float, 256>, 3>> values;

  friend bool operator==(const PicturePixels&, const PicturePixels&) = default;
};

/// Input of an encoder: a text of an embedding request, a pair of texts, or a picture.
struct EncodeInput {
  std::vector<TokenId> ids;          // at least one
  std::vector<int32_t> token_types;  // [ids.size()] or empty: all 0
  int64_t num_prompt_tokens = 0;     // leading tokens, up to the end of an instruction
  // Not null: a picture instead of a text; `ids` are then one zero per patch, and one more.
  std::shared_ptr<const PicturePixels> picture;

  friend bool operator==(const EncodeInput& a, const EncodeInput& b) {
    return a.ids == b.ids && a.token_types == b.token_types &&
           a.num_prompt_tokens == b.num_prompt_tokens &&
           (a.picture == b.picture ||
            (a.picture != nullptr && b.picture != nullptr && *a.picture == *b.picture));
  }
};

/// Weight of a token in a sparse vector: how much a text is about the token.
struct SparseWeight {
  TokenId id;
  float weight = 0.0f;  // above 0

  friend bool operator==(const SparseWeight&, const SparseWeight&) = default;
};

/// Which weights of a sparse vector are kept.
struct SparseCut {
  int64_t top_n = 0;       // the largest ones, ties to the lower id; 0: all
  float threshold = 0.0f;  // those above it; at least 0

  friend bool operator==(const SparseCut&, const SparseCut&) = default;
};

/// Requested outputs of a request's inputs. A model that makes vectors returns any of dense, sparse
/// and multi_vector, all from one pass.
struct EncodeWish {
  bool dense = true;
  int64_t dimensions = 0;          // leading dimensions of the dense vector; 0: all
  std::optional<bool> normalizes;  // to length 1; nullopt: as the model specifies
  bool sparse = false;
  SparseCut sparse_cut;
  bool multi_vector = false;
  // Not null: instead of vectors, a score of the input's multi-vector for this multi-vector of a
  // query, [num_tokens, width].
  std::shared_ptr<const std::vector<float>> query;

  // How logits become scores; kModels: as the model specifies.
  enum class Scores { kModels, kRaw, kSigmoid, kSoftmax } scores = Scores::kModels;

  // Not empty: instead of a vector, the probability of each of these as the next token; with
  // Scores::kSoftmax, among these alone. Needs a generating model.
  std::vector<TokenId> next_tokens;

  friend bool operator==(const EncodeWish&, const EncodeWish&) = default;
};

/// The requested outputs of one input, or the error.
struct EncodeResult {
  absl::Status status;
  // A dense vector, the scores of a classifier or for a query, or the probabilities of next_tokens.
  std::vector<float> values;
  std::vector<SparseWeight> sparse;  // ascending ids
  std::vector<float> multi_vector;   // [tokens that count, width]
};

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_ENCODING_H_

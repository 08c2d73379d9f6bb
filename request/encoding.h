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

/// A picture as a model reads it: resized and cut.
struct PicturePixels {
  std::vector<uint8_t> rgb;  // [height, width, 3], of the model's size
  // What the model makes of a channel's values; of all its pictures the same.
  std::shared_ptr<const std::array<std::array<float, 256>, 3>> values;

  friend bool operator==(const PicturePixels&, const PicturePixels&) = default;
};

/// One text of an embedding request, a pair of them, or a picture: what an encoder reads.
struct EncodeInput {
  std::vector<TokenId> ids;          // at least one
  std::vector<int32_t> token_types;  // [ids.size()] or empty: all 0
  int64_t num_prompt_tokens = 0;     // leading ones, up to the end of an instruction
  // Not null: this, in place of a text; `ids` are as many zeros as it has patches, and one more.
  std::shared_ptr<const PicturePixels> picture;

  friend bool operator==(const EncodeInput& a, const EncodeInput& b) {
    return a.ids == b.ids && a.token_types == b.token_types &&
           a.num_prompt_tokens == b.num_prompt_tokens &&
           (a.picture == b.picture ||
            (a.picture != nullptr && b.picture != nullptr && *a.picture == *b.picture));
  }
};

/// How much a text is about a token.
struct SparseWeight {
  TokenId id;
  float weight = 0.0f;  // above 0

  friend bool operator==(const SparseWeight&, const SparseWeight&) = default;
};

/// Which of a sparse vector's weights are kept.
struct SparseCut {
  int64_t top_n = 0;       // the largest ones, of equal ones those of lower ids; 0: all
  float threshold = 0.0f;  // those above it; at least 0

  friend bool operator==(const SparseCut&, const SparseCut&) = default;
};

/// What is wanted of a request's inputs. Of a model that makes vectors any of dense, sparse and
/// multi_vector, all of one pass.
struct EncodeWish {
  bool dense = true;
  int64_t dimensions = 0;          // its first ones; 0: all
  std::optional<bool> normalizes;  // to length 1; nullopt: as the model says
  bool sparse = false;
  SparseCut sparse_cut;
  bool multi_vector = false;
  // Not null: in place of all these, a score of the input's multi-vector for this one of a query,
  // [num_tokens, width].
  std::shared_ptr<const std::vector<float>> query;

  // Of scores: what becomes of the logits.
  enum class Scores { kModels, kRaw, kSigmoid, kSoftmax } scores = Scores::kModels;

  // Not empty: how likely each of these comes next, in place of a vector; with Scores::kSoftmax as
  // if nothing else could. Of a generating model's states.
  std::vector<TokenId> next_tokens;

  friend bool operator==(const EncodeWish&, const EncodeWish&) = default;
};

/// What came of one input, as it was wished for, or why there is nothing.
struct EncodeResult {
  absl::Status status;
  // A dense vector, the scores of a classifier or for a query, or the probabilities of the tokens
  // asked for.
  std::vector<float> values;
  std::vector<SparseWeight> sparse;  // ids ascend
  std::vector<float> multi_vector;   // [tokens that count, width]
};

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_ENCODING_H_

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

/// What is wanted of a request's inputs.
struct EncodeWish {
  // Of a vector.
  int64_t dimensions = 0;          // its first ones; 0: all
  std::optional<bool> normalizes;  // to length 1; nullopt: as the model says
  // Of scores: what becomes of the logits.
  enum class Scores { kModels, kRaw, kSigmoid, kSoftmax } scores = Scores::kModels;

  // Not empty: how likely each of these comes next, in place of a vector; with Scores::kSoftmax as
  // if nothing else could. Of a generating model's states.
  std::vector<TokenId> next_tokens;

  friend bool operator==(const EncodeWish&, const EncodeWish&) = default;
};

/// What came of one input: a vector, the scores of a classifier or the probabilities of the tokens
/// asked for; or why there is none.
struct EncodeResult {
  absl::Status status;
  std::vector<float> values;
};

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_ENCODING_H_

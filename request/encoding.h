#ifndef SHORTLIST_REQUEST_ENCODING_H_
#define SHORTLIST_REQUEST_ENCODING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"

namespace shortlist {

/// One text of an embedding request, or a pair of them: what an encoder reads.
struct EncodeInput {
  std::vector<TokenId> ids;          // at least one
  std::vector<int32_t> token_types;  // [ids.size()] or empty: all 0

  friend bool operator==(const EncodeInput&, const EncodeInput&) = default;
};

/// What is wanted of a request's inputs.
struct EncodeWish {
  int64_t dimensions = 0;  // of a vector: its first ones; 0: all
  bool normalizes = true;  // vectors of length 1, where the model gives vectors

  friend bool operator==(const EncodeWish&, const EncodeWish&) = default;
};

/// What came of one input: a vector, or the scores of a classifier; or why there is none.
struct EncodeResult {
  absl::Status status;
  std::vector<float> values;
};

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_ENCODING_H_

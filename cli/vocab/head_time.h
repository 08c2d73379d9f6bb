#ifndef SHORTLIST_CLI_VOCAB_HEAD_TIME_H_
#define SHORTLIST_CLI_VOCAB_HEAD_TIME_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/models.h"
#include "sketch/sketch.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// The rows of one call of the draft's head.
struct HeadCall {
  std::shared_ptr<const VocabBase> base;
  int64_t num_own_rows = 0;              // maximum of dynamic rows and successors of a token
  std::shared_ptr<const Sketch> sketch;  // null: none
  int64_t num_sketch_rows = 0;
};

/// Returns the milliseconds that the head of `models` takes to find one token's best row, including
/// a sketch's choice and nothing else of a draft step: [calls.size()]. Each is the median of
/// `num_rounds` rounds, in which all of `calls` alternate. Measured on the CPU, regardless of the
/// head's device.
absl::StatusOr<std::vector<double>> HeadMs(Models& models, const std::vector<HeadCall>& calls,
                                           int64_t num_rounds);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_HEAD_TIME_H_

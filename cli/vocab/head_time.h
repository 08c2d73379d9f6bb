#ifndef SHORTLIST_CLI_VOCAB_HEAD_TIME_H_
#define SHORTLIST_CLI_VOCAB_HEAD_TIME_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "head/sketch.h"
#include "runtime/models.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// The rows of one call of the draft's head.
struct HeadCall {
  std::shared_ptr<const VocabBase> base;
  int64_t num_own_rows = 0;              // of the token's own: dynamic rows and successors, at most
  std::shared_ptr<const Sketch> sketch;  // null: none
  int64_t num_sketch_rows = 0;
};

/// Milliseconds that the head of `models` takes for one token's best row, a sketch's choice
/// included, and nothing else of a draft step: the median of `num_rounds` calls, for which all of
/// `calls` take turns. On the CPU, whatever device the head lies on. [calls.size()]
absl::StatusOr<std::vector<double>> HeadMs(Models& models, const std::vector<HeadCall>& calls,
                                           int64_t num_rounds);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_HEAD_TIME_H_

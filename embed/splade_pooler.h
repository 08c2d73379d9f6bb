#ifndef SHORTLIST_EMBED_SPLADE_POOLER_H_
#define SHORTLIST_EMBED_SPLADE_POOLER_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "embed/masked_lm_head.h"
#include "embed/sparse_pooler.h"

namespace shortlist {

/// SPLADE (Formal et al. 2021, with max pooling). The weight of each token of the vocabulary is the
/// largest log(1 + relu(logit)) of the masked language model over all positions, including [CLS]
/// and [SEP], as in sentence-transformers and text-embeddings-inference. Internal if a logit is NaN
/// or a token's largest logit is +infinity.
class SpladePooler final : public SparsePooler {
 public:
  explicit SpladePooler(MaskedLmHead head) : head_(std::move(head)) {}

  int64_t MaxWeights(int64_t) const override { return head_.vocab_size(); }
  std::vector<absl::StatusOr<std::vector<SparseWeight>>> Run(const HiddenStates& states,
                                                             std::span<const TokenId> ids,
                                                             std::span<const SparseCut> cuts,
                                                             ThreadPool& pool) const override;

 private:
  MaskedLmHead head_;
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_SPLADE_POOLER_H_

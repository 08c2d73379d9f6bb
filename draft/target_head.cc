#include "draft/target_head.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "kernels/quant.h"

namespace shortlist {

RowDetail DetailFor(const Sequence& sequence) {
  const SamplingParams& sampling = sequence.sampling();
  if (sampling.num_logprobs >= 0) return RowDetail::kLogprobs;
  const bool best_suffices = sampling.greedy() && sampling.UsesRawLogits(sequence.num_output());
  return best_suffices ? RowDetail::kBest : RowDetail::kLogits;
}

TargetRows TargetHead::Verdict::From(int64_t first_row) const {
  return {.logits = detail == RowDetail::kBest ? nullptr : &logits,
          .best = best,
          .first_row = first_row,
          .padding = padding.ids.empty() ? nullptr : &padding};
}

absl::StatusOr<TargetHead> TargetHead::Create(const HeadWeight& weight, int64_t emit_size,
                                              ThreadPool& pool) {
  SHORTLIST_ASSIGN_OR_RETURN(PrunedHead tokens, PrunedHead::Create(weight, emit_size, pool));
  std::optional<PrunedHead> padding;
  if (emit_size < weight.vocab_size) {
    HeadWeight rest = weight;
    rest.rows =
        static_cast<const char*>(weight.rows) + emit_size * RowBytes(weight.dtype, weight.hidden);
    rest.vocab_size -= emit_size;
    SHORTLIST_ASSIGN_OR_RETURN(padding, PrunedHead::Create(rest, rest.vocab_size, pool));
  }
  return TargetHead(std::move(tokens), std::move(padding),
                    ActiveVocab::FullHead(weight.vocab_size));
}

absl::StatusOr<TargetHead::Verdict> TargetHead::Judge(const Matrix& hidden, RowDetail detail,
                                                      Verdict storage) {
  Verdict verdict = std::move(storage);
  verdict.detail = detail;
  verdict.padding.ids.clear();
  if (detail == RowDetail::kBest) {
    SHORTLIST_ASSIGN_OR_RETURN(verdict.best, tokens_.Argmax(HeadInput::Of(hidden), {*all_rows_}));
    return verdict;
  }
  SHORTLIST_ASSIGN_OR_RETURN(verdict.logits, tokens_.Logits(HeadInput::Of(hidden), {*all_rows_},
                                                            std::move(verdict.logits)));
  if (detail == RowDetail::kLogprobs && padding_.has_value()) {
    SHORTLIST_ASSIGN_OR_RETURN(
        verdict.padding,
        padding_->Logits(HeadInput::Of(hidden), {*all_rows_}, std::move(verdict.padding)));
  }
  return verdict;
}

}  // namespace shortlist

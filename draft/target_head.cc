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
  SHORTLIST_ASSIGN_OR_RETURN(LmHead tokens, LmHead::Create(weight, emit_size, pool));
  std::optional<LmHead> padding;
  if (emit_size < weight.vocab_size) {
    HeadWeight rest = weight;
    rest.rows =
        static_cast<const char*>(weight.rows) + emit_size * RowBytes(weight.dtype, weight.hidden);
    rest.vocab_size -= emit_size;
    SHORTLIST_ASSIGN_OR_RETURN(padding, LmHead::Create(rest, rest.vocab_size, pool));
  }
  return TargetHead(std::move(tokens), std::move(padding),
                    ActiveVocab::FullHead(weight.vocab_size));
}

namespace {

/// The best of each row, from its logits.
void TakeTop(const TokenLogits& logits, int64_t num_top, std::vector<TokenId>& top) {
  std::vector<int32_t> best;
  for (int64_t m = 0; m < std::ssize(logits.ids); ++m) {
    const std::span<const float> row = logits.of_token(m);
    best.clear();
    for (int32_t id = 0; id < std::ssize(row); ++id) {
      const bool is_full = std::ssize(best) == num_top;
      if (!(row[id] > (is_full ? row[best.back()] : -std::numeric_limits<float>::infinity()))) {
        continue;
      }
      if (is_full) best.pop_back();
      const auto place = std::find_if(best.begin(), best.end(),
                                      [&](int32_t other) { return row[id] > row[other]; });
      best.insert(place, id);
    }
    best.resize(num_top, -1);
    for (const int32_t id : best) top.push_back(TokenId{id});
  }
}

}  // namespace

absl::StatusOr<TargetHead::Verdict> TargetHead::Judge(const at::Tensor& hidden, RowDetail detail,
                                                      Verdict storage, int64_t num_top) {
  Verdict verdict = std::move(storage);
  verdict.detail = detail;
  verdict.padding.ids.clear();
  verdict.top.clear();
  if (detail == RowDetail::kBest && num_top > 0) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<LmHead::Best> top,
                               tokens_.TopK(hidden, {*all_rows_}, num_top));
    verdict.best.clear();
    for (int64_t i = 0; i < std::ssize(top); ++i) {
      if (i % num_top == 0) verdict.best.push_back(top[i]);
      verdict.top.push_back(top[i].id);
    }
    return verdict;
  }
  if (detail == RowDetail::kBest) {
    SHORTLIST_ASSIGN_OR_RETURN(verdict.best, tokens_.Argmax(hidden, {*all_rows_}));
    return verdict;
  }
  SHORTLIST_ASSIGN_OR_RETURN(verdict.logits,
                             tokens_.Logits(hidden, {*all_rows_}, std::move(verdict.logits)));
  if (num_top > 0) TakeTop(verdict.logits, num_top, verdict.top);
  if (detail == RowDetail::kLogprobs && padding_.has_value()) {
    SHORTLIST_ASSIGN_OR_RETURN(verdict.padding,
                               padding_->Logits(hidden, {*all_rows_}, std::move(verdict.padding)));
  }
  return verdict;
}

}  // namespace shortlist

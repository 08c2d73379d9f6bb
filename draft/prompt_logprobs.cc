#include "draft/prompt_logprobs.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace shortlist {

absl::Status ScorePrompt(const Sequence& sequence, const Matrix& hidden, TargetHead& head,
                         TargetHead::Verdict& verdict, std::vector<TokenInfo>& infos) {
  constexpr int64_t kScoredRows = 32;  // per pass: their logits are [rows, vocab_size]
  const SamplingParams& sampling = sequence.sampling();
  if (sampling.prompt_logprobs_start < 0) return absl::OkStatus();
  const int64_t begin = sequence.cached_len;
  const int64_t end = std::min(begin + hidden.rows(), sequence.prompt_len() - 1);
  int64_t position = sampling.prompt_logprobs_start + std::ssize(sequence.prompt_infos);
  SHORTLIST_CHECK(position >= std::min(begin, end));
  while (position < end) {
    const int64_t num_rows = std::min(end - position, kScoredRows);
    SHORTLIST_ASSIGN_OR_RETURN(verdict, head.Judge(hidden.Rows(position - begin, num_rows),
                                                   RowDetail::kLogprobs, std::move(verdict)));
    const TargetRows rows = verdict.From(/*first_row=*/0);
    for (int64_t row = 0; row < num_rows; ++row) {
      rows.AddLogprobs(row, sequence.tokens()[++position], sampling.num_logprobs,
                       infos.emplace_back());
    }
  }
  return absl::OkStatus();
}

}  // namespace shortlist

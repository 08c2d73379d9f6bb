#include "embed/yes_no_head.h"

#include <cmath>
#include <cstdint>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/status_macros.h"
#include "embed/hidden_states.h"

namespace shortlist {

absl::StatusOr<YesNoHead> YesNoHead::Create(PrunedHead head, TokenId yes,
                                            std::optional<TokenId> no) {
  std::vector<TokenId> ids = {yes};
  if (no) ids.push_back(*no);
  SHORTLIST_ASSIGN_OR_RETURN(std::shared_ptr<const VocabBase> rows,
                             VocabBase::Create(ids, head.vocab_size()));
  const DraftId yes_row{rows->RowOf(yes)};
  std::optional<DraftId> no_row;
  if (no) no_row = DraftId{rows->RowOf(*no)};
  return YesNoHead(std::move(head), std::move(rows), yes_row, no_row);
}

absl::StatusOr<std::vector<absl::StatusOr<float>>> YesNoHead::Score(const Matrix& last_hidden,
                                                                    ScoreFunction function) {
  if (function == ScoreFunction::kSoftmax && !no_) {
    return absl::InvalidArgumentError(
        "softmax over the logit of yes alone is always 1: ask for raw or sigmoid");
  }
  std::vector<absl::StatusOr<float>> scores;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc("the yes/no head", [&]() -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(const TokenLogits logits,
                               head_.Logits(HeadInput::Of(last_hidden), {rows_}));
    const int64_t hidden = head_.hidden();
    for (int64_t seq = 0; seq < std::ssize(logits.ids); ++seq) {
      // Quantised rows give finite logits even for such a state.
      if (FindNotFinite({last_hidden.floats() + seq * hidden, static_cast<size_t>(hidden)})) {
        scores.push_back(absl::InternalError(
            absl::StrCat("sequence ", seq, ": the hidden state of its last token is not finite")));
        continue;
      }
      const std::span<const float> of_rows = logits.of_token(seq);
      const float yes = of_rows[Raw(yes_)];
      const float no = no_ ? of_rows[Raw(*no_)] : 0.0f;
      float score = yes - no;
      if (!std::isfinite(score)) {
        scores.push_back(absl::InternalError(absl::StrCat(
            "sequence ", seq, ": the logits of yes and no are not finite (", yes, ", ", no, ")")));
        continue;
      }
      if (function != ScoreFunction::kRaw) ApplyScoreFunction(ScoreFunction::kSigmoid, {&score, 1});
      scores.push_back(score);
    }
    return absl::OkStatus();
  }));
  return scores;
}

}  // namespace shortlist

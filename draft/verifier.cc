#include "draft/verifier.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "draft/token_logprobs.h"
#include "kernels/sampling.h"

namespace shortlist {
namespace {

constexpr uint32_t kAcceptStream = 1;  // distinct from the streams that tokens are sampled from

bool HasNumber(std::span<const float> logits) {
  return std::ranges::any_of(logits, [](float logit) {
    return !std::isnan(logit) && logit > -std::numeric_limits<float>::infinity();
  });
}

absl::Status NoTokenAllowed(const Sequence& sequence) {
  for (const Sequence::Constraint& constraint : sequence.constraints()) {
    if (std::string failure = constraint.of->Failure(); !failure.empty()) {
      return absl::InvalidArgumentError(failure);
    }
  }
  return absl::InvalidArgumentError(
      "the grammar, allowed_token_ids and bad_words leave no token to go on with");
}

}  // namespace

void TargetRows::AddLogprobs(int64_t row, TokenId token, int64_t num_top, TokenInfo& info) const {
  SHORTLIST_CHECK(logits != nullptr);
  const std::span<const float> others =
      padding == nullptr ? std::span<const float>() : padding->of_token(row);
  shortlist::AddLogprobs(logits->of_token(row), logits->ids[row], token, num_top, info, others);
}

/// Returns the token for the prepared row: the drafted one if it is accepted, else another.
/// `drafted` null: the bonus.
std::optional<TokenId> Verifier::JudgeByRejection(const TokenId* drafted,
                                                  const DraftDistribution* q, uint64_t seed) {
  std::optional<DraftId> row;
  if (drafted == nullptr) {
    row = chooser_.Choose();
  } else {
    const float noise = UniformNoise(seed, chooser_.position(), kAcceptStream, /*id=*/0);
    if (noise * q->Probability(*drafted) < chooser_.Probability(*drafted)) return *drafted;
    row = chooser_.ChooseResidual(*q);
  }
  if (!row) return std::nullopt;
  return chooser_.TokenAt(*row);
}

int64_t Verifier::Verify(Sequence& sequence, const DraftedChain& chain, const TargetRows& rows,
                         VerifyMode mode, int64_t context_len) {
  const std::vector<TokenId>& tokens = chain.tokens;
  const int64_t num_drafted = chain.size();
  for (int64_t j = 0; j <= num_drafted; ++j) {
    const int64_t row = rows.first_row + j;
    std::optional<TokenId> choice;
    if (rows.logits == nullptr) {
      if (Raw(rows.best[row].id) >= 0) choice = rows.best[row].id;
    } else {
      chooser_.Prepare(rows.logits->of_token(row), rows.logits->ids[row], sequence, /*drafted=*/{});
      if (mode == VerifyMode::kRejection) {
        const bool is_bonus = j == num_drafted;
        choice = JudgeByRejection(is_bonus ? nullptr : &tokens[j],
                                  is_bonus ? nullptr : &chain.distributions[j],
                                  sequence.sampling().seed);
      } else if (const std::optional<DraftId> row = chooser_.Choose()) {
        choice = chooser_.TokenAt(*row);
      }
    }
    if (!choice) {
      const bool all_banned = rows.logits != nullptr && HasNumber(rows.logits->of_token(row));
      sequence.Fail(all_banned ? NoTokenAllowed(sequence)
                               : absl::InternalError("the target gave no usable logit"));
      return j;
    }
    const bool accepted = j < num_drafted && *choice == tokens[j];
    TokenInfo& info = sequence.token_infos.emplace_back();
    if (num_drafted > 0) {
      const TokenOrigin agreed =
          accepted && chain.IsForced(j) ? TokenOrigin::kForced : TokenOrigin::kAccepted;
      info.origin = accepted          ? agreed
                    : j < num_drafted ? TokenOrigin::kCorrection
                                      : TokenOrigin::kBonus;
    }
    if (sequence.sampling().num_logprobs >= 0) {
      rows.AddLogprobs(row, *choice, sequence.sampling().num_logprobs, info);
    }
    const bool finished = sequence.Emit(*choice, context_len);
    if (!accepted) return j;
    if (finished) return j + 1;
  }
  return num_drafted;
}

}  // namespace shortlist

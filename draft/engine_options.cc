#include "draft/engine_options.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "draft/past_outputs.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxDraftTokens = 64;

absl::Status CheckCount(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " ", value, " not in [", low, ", ", high, "]"));
}

absl::Status CheckShare(const char* name, double value) {
  if (value >= 0.0 && value <= 1.0) return absl::OkStatus();  // NaN is neither
  return absl::InvalidArgumentError(absl::StrCat(name, " ", value, " not in [0, 1]"));
}

}  // namespace

absl::Status EngineOptions::Validate() const {
  SHORTLIST_RETURN_IF_ERROR(CheckCount("num_draft_tokens", num_draft_tokens, 0, kMaxDraftTokens));
  SHORTLIST_RETURN_IF_ERROR(CheckShare("draft_p_min", draft_p_min.value_or(0.0)));
  SHORTLIST_RETURN_IF_ERROR(CheckShare("coverage_floor", coverage_floor));
  SHORTLIST_RETURN_IF_ERROR(CheckCount("continuation_rows", continuation_rows, 0, 1 << 20));
  if (past_output_bytes != 0) {
    SHORTLIST_RETURN_IF_ERROR(CheckCount("past_output_bytes", past_output_bytes,
                                         PastOutputs::kMinBytes,
                                         std::numeric_limits<int64_t>::max()));
  }
  if (num_slots >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("num_slots ", num_slots, " below 1"));
}

}  // namespace shortlist

#ifndef SHORTLIST_TEXT_JINJA_BUDGET_H_
#define SHORTLIST_TEXT_JINJA_BUDGET_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/print.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

/// Statements and expressions evaluated by one render: some seconds at the very most.
inline constexpr int64_t kMaxRenderSteps = 10'000'000;
/// Bytes of text and of values that one render writes or reads through, all operations together;
/// bounds its memory too.
inline constexpr int64_t kMaxRenderWork = int64_t{256} << 20;
/// Evaluations within evaluations; a macro that calls itself ends here.
inline constexpr int kMaxRenderDepth = 500;

/// What one render may still spend. Each method gives InvalidArgument once a bound is passed.
class RenderBudget {
 public:
  absl::Status Step() {
    if (++steps_ > kMaxRenderSteps) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMaxRenderSteps, " steps; the template may loop for ever"));
    }
    if (depth_ > kMaxRenderDepth) {
      return absl::InvalidArgumentError(
          absl::StrCat("evaluation nested deeper than ", kMaxRenderDepth, " levels"));
    }
    return absl::OkStatus();
  }

  absl::Status Work(int64_t bytes) {
    work_ += bytes;
    if (work_ <= kMaxRenderWork) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxRenderWork, " bytes of text worked on"));
  }

  /// Charges for a new value, without what its elements hold; refuses a text too long.
  absl::Status Charge(const Value& value) {
    if (value.Is(Kind::kText)) SHORTLIST_RETURN_IF_ERROR(CheckLength(value.text()));
    return Work(value.own_bytes());
  }

  /// Evaluations around this one, counted with Nested; Step checks them.
  int& depth() { return depth_; }

 private:
  int64_t steps_ = 0;
  int64_t work_ = 0;
  int depth_ = 0;
};

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_BUDGET_H_

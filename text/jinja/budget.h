#ifndef SHORTLIST_TEXT_JINJA_BUDGET_H_
#define SHORTLIST_TEXT_JINJA_BUDGET_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/print.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

/// Maximum number of statements and expressions that one render evaluates: some seconds at most.
inline constexpr int64_t kMaxRenderSteps = 10'000'000;
/// Maximum bytes of text and of values that one render writes or reads, all operations together.
/// Also bounds its memory.
inline constexpr int64_t kMaxRenderWork = int64_t{256} << 20;
/// Maximum nesting of evaluations; ends a macro that calls itself.
inline constexpr int kMaxRenderDepth = 500;

/// What one render may still use. Each method returns InvalidArgument once a bound is exceeded.
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

  /// Charges for a new value, without the contents of its elements; rejects a text that is too
  /// long.
  absl::Status Charge(const Value& value) {
    if (value.Is(Kind::kText)) SHORTLIST_RETURN_IF_ERROR(CheckLength(value.text()));
    return Work(value.own_bytes());
  }

  /// Number of evaluations around this one, counted with Nested; Step() checks it.
  int& depth() { return depth_; }

 private:
  int64_t steps_ = 0;
  int64_t work_ = 0;
  int depth_ = 0;
};

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_BUDGET_H_

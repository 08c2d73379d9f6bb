#include "vocab/counting/coverage.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "vocab/request_tail.h"

namespace shortlist {
namespace {

absl::Status CheckIds(std::span<const TokenId> ids, int64_t vocab_size) {
  for (const TokenId id : ids) {
    if (Raw(id) >= 0 && Raw(id) < vocab_size) continue;
    return absl::OutOfRangeError(
        absl::StrCat("token id ", Raw(id), " not in [0, ", vocab_size, ")"));
  }
  return absl::OkStatus();
}

}  // namespace

Coverage& Coverage::operator+=(const Coverage& other) {
  num_tokens += other.num_tokens;
  in_base += other.in_base;
  in_dynamic += other.in_dynamic;
  in_tail += other.in_tail;
  in_successors += other.in_successors;
  num_rows += other.num_rows;
  max_rows = std::max(max_rows, other.max_rows);
  return *this;
}

absl::StatusOr<CoverageMeter> CoverageMeter::Create(std::shared_ptr<const VocabBase> base,
                                                    const Options& options) {
  if (options.num_tail_rows < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_tail_rows ", options.num_tail_rows, " below 0"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<DynamicVocabularyManager> manager,
                             DynamicVocabularyManager::Create(
                                 std::move(base), {.dynamic_capacity = options.dynamic_capacity}));
  return CoverageMeter(options, std::move(manager));
}

absl::StatusOr<Coverage> CoverageMeter::Replay(std::span<const TokenId> prompt,
                                               std::span<const TokenId> output) {
  std::shared_ptr<const ActiveVocab> active = manager_->Active();
  const VocabBase& base = *active->base();
  SHORTLIST_RETURN_IF_ERROR(CheckIds(prompt, base.vocab_size()));
  SHORTLIST_RETURN_IF_ERROR(CheckIds(output, base.vocab_size()));
  RequestTail tail(options_.num_tail_rows);
  tail.Add(prompt, *active);
  std::optional<TokenId> last;
  if (!prompt.empty()) last = prompt.back();
  Coverage coverage;
  for (const TokenId id : output) {
    tail.Reconcile(*active);
    const auto successors =
        last.has_value() ? base.SuccessorsOf(*last) : std::span<const int32_t>();
    const int64_t num_rows = active->is_full_head()
                                 ? base.vocab_size()
                                 : active->size() + tail.size() + std::ssize(successors);
    ++coverage.num_tokens;
    coverage.num_rows += num_rows;
    coverage.max_rows = std::max(coverage.max_rows, num_rows);
    if (active->Contains(id)) {
      ++(base.RowOf(id) >= 0 ? coverage.in_base : coverage.in_dynamic);
    } else if (tail.Contains(id)) {
      ++coverage.in_tail;
    } else if (std::ranges::find(successors, Raw(id)) != successors.end()) {
      ++coverage.in_successors;
    }
    tail.Add(std::span(&id, 1), *active);
    SHORTLIST_RETURN_IF_ERROR(manager_->Observe(std::span(&id, 1), /*drafted=*/{}, active.get()));
    active = manager_->Active();
    last = id;
  }
  return coverage;
}

}  // namespace shortlist

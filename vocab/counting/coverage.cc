#include "vocab/counting/coverage.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "vocab/check_ids.h"
#include "vocab/held_by.h"
#include "vocab/request_tail.h"
#include "vocab/row_source.h"

namespace shortlist {

void Coverage::Count(RowSource source) {
  ++num_tokens;
  switch (source) {
    case RowSource::kNone:
      return;
    case RowSource::kBase:
      ++in_base;
      return;
    case RowSource::kShared:
      ++in_dynamic;
      return;
    case RowSource::kSuccessors:
      ++in_successors;
      return;
    default:
      ++in_tail;
  }
}

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

/// Counts as head/row_tails.h does: an id that already has a row gets none as a successor.
int64_t CoverageMeter::NumRows(const ActiveVocab& active, const RequestTail& tail,
                               std::optional<TokenId> last) {
  if (active.is_full_head()) return active.base()->num_rows();
  int64_t num_rows = active.size() + tail.size();
  if (!last.has_value()) return num_rows;
  if (std::ssize(marked_) < active.vocab_size()) marked_.resize(active.vocab_size());
  ++num_marked_;
  for (const int32_t id : tail.ids()) marked_[id] = num_marked_;
  const bool has_dynamic = active.size() > active.base_size();
  for (const int32_t id : active.base()->SuccessorsOf(*last)) {
    if (marked_[id] == num_marked_ || (has_dynamic && active.Contains(TokenId{id}))) continue;
    ++num_rows;
  }
  return num_rows;
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
    const int64_t num_rows = NumRows(*active, tail, last);
    coverage.num_rows += num_rows;
    coverage.max_rows = std::max(coverage.max_rows, num_rows);
    if (last.has_value()) {
      coverage.Count(HeldBy(*active, tail, *last, id));
    } else {  // without a previous token there are no successors
      coverage.Count(active->Contains(id) ? active->SourceOf(id) : tail.SourceOf(id));
    }
    tail.Add(std::span(&id, 1), *active);
    SHORTLIST_RETURN_IF_ERROR(manager_->Observe(std::span(&id, 1), /*drafted=*/{}, active.get()));
    active = manager_->Active();
    last = id;
  }
  return coverage;
}

}  // namespace shortlist

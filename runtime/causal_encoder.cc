#include "runtime/causal_encoder.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace shortlist {

CausalEncoder::CausalEncoder(CausalModel& model, const Options& options)
    : model_(model), options_(options) {
  SHORTLIST_CHECK(options.kept_tokens >= 0 && options.pass_tokens >= 1);
}

int64_t CausalEncoder::NumSlots(int64_t text_len) const {
  return options_.kept_tokens + std::max(text_len, 4 * options_.pass_tokens);
}

absl::Status CausalEncoder::Check(std::span<const Text> texts) const {
  const ModelConfig& config = model_.config();
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty() || std::ssize(texts[i]) > config.context_len) {
      return absl::InvalidArgumentError(absl::StrCat(
          "text ", i, " has ", texts[i].size(), " tokens, not in [1, ", config.context_len, "]"));
    }
    for (const TokenId id : texts[i]) {
      if (Raw(id) >= 0 && Raw(id) < config.vocab_size) continue;
      return absl::InvalidArgumentError(absl::StrCat("token id ", Raw(id), " of text ", i,
                                                     " not in [0, ", config.vocab_size, ")"));
    }
  }
  return absl::OkStatus();
}

/// Ensures at least `num_slots` slots; if there are fewer, drops all cached prefixes.
absl::Status CausalEncoder::Reserve(int64_t num_slots) {
  if (prefixes_ != nullptr && pool_->capacity() >= num_slots) return absl::OkStatus();
  Drop();
  SHORTLIST_ASSIGN_OR_RETURN(executor_, model_.NewExecutor(num_slots));
  return CatchBadAlloc("slots for keys and values", [&] {
    MakeTree(num_slots);
    return absl::OkStatus();
  });
}

/// Creates an empty prefix tree.
void CausalEncoder::MakeTree(int64_t num_slots) {
  prefixes_.reset();
  pool_ = std::make_unique<KvPool>(num_slots);
  const uint64_t hash_seed = std::random_device()();
  auto prefixes = std::make_unique<RadixCache>(*pool_, RadixCache::Options{.hash_seed = hash_seed});
  root_ = prefixes->OpenNamespace("");
  prefixes_ = std::move(prefixes);
}

void CausalEncoder::Drop() {
  prefixes_.reset();
  pool_.reset();
  executor_.reset();
}

/// Allocates slots for a text and inserts its tokens into the tree. They must be computed before
/// those of any text that continues them. Returns false if there is no room.
bool CausalEncoder::Place(size_t index, Text text) {
  const int64_t len = std::ssize(text);
  Placed placed{.index = index, .slots = std::vector<int32_t>(text.size())};
  // The last token is always computed, because its state is requested.
  const RadixCache::Match match = prefixes_->MatchPrefix(root_, text.first(len - 1));
  const int32_t shared = prefixes_->Lock(match);
  prefixes_->CopySlots(shared, 0, std::span(placed.slots).first(match.len));
  const std::span<int32_t> own = std::span(placed.slots).subspan(match.len);
  if (pool_->num_free() < std::ssize(own)) prefixes_->Evict(std::ssize(own) - pool_->num_free());
  if (!pool_->Allocate(own)) {
    prefixes_->Unlock(shared);
    return false;
  }
  const RadixCache::Inserted inserted = prefixes_->Insert(root_, text, placed.slots, /*rows=*/{});
  prefixes_->Lock(inserted.node);
  prefixes_->Unlock(shared);
  placed.node = inserted.node;
  placed.first_own = match.len;
  placed.end_own = std::max(inserted.existing_len, match.len);
  stats_.num_tokens += len;
  stats_.num_computed += std::ssize(own);
  placed_.push_back(std::move(placed));
  return true;
}

/// Allocates slots for a text that shares nothing. Returns false if there is no room.
bool CausalEncoder::PlaceAlone(size_t index, Text text) {
  Placed placed{.index = index, .slots = std::vector<int32_t>(text.size())};
  const int64_t len = std::ssize(text);
  if (pool_->num_free() < len) prefixes_->Evict(len - pool_->num_free());
  if (!pool_->Allocate(placed.slots)) return false;
  placed.end_own = len;
  placed.state = executor_->NewState({});
  placed_.push_back(std::move(placed));
  return true;
}

/// Places as many of the remaining texts as fit. Returns false if none is placed.
bool CausalEncoder::PlaceSome() {
  // States of recurrent layers are not shared.
  const bool alone = wanted_ == Wanted::kAll || model_.state_bytes() > 0;
  const auto place = [&](size_t index) {
    return alone ? PlaceAlone(index, texts_[index]) : Place(index, texts_[index]);
  };
  while (next_ < texts_.size() && place(next_)) ++next_;
  at_ = 0;
  if (placed_.empty()) return false;
  begin_ = placed_[0].first_own;
  return true;
}

/// Fills the pass with tokens of the placed texts, in order.
void CausalEncoder::FillPass() {
  pass_.Clear();
  rows_.clear();
  while (at_ < placed_.size() && pass_.num_tokens() < options_.pass_tokens) {
    const Placed& placed = placed_[at_];
    const Text text = texts_[placed.index];
    const int64_t len = std::ssize(text);
    const int64_t row = pass_.num_tokens();
    const int64_t end = std::min(len, begin_ + options_.pass_tokens - row);
    // The tokens before it may be computed in this same pass.
    if (placed.first_own > 0 && row > 0) pass_.ShareSlots();
    pass_.AddChain(text.subspan(begin_, end - begin_), begin_, std::span(placed.slots).first(end),
                   {.state = placed.state.get()});
    const int64_t to = row_of_[placed.index];
    if (wanted_ == Wanted::kAll) {
      rows_.push_back({.first = row, .count = end - begin_, .to = to + begin_});
    } else if (end == len) {
      rows_.push_back({.first = pass_.num_tokens() - 1, .count = 1, .to = to});
    }
    begin_ = end;
    if (end == len && ++at_ < placed_.size()) begin_ = placed_[at_].first_own;
  }
}

/// Computes the pass and stores the requested states.
absl::Status CausalEncoder::RunPass() {
  if (pass_.num_tokens() == 0) return absl::OkStatus();  // there are no texts
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix hidden, executor_->Forward(pass_));
  const int64_t width = model_.config().hidden;
  for (const Rows& rows : rows_) {
    std::copy_n(hidden.floats() + rows.first * width, rows.count * width,
                states_.floats() + rows.to * width);
  }
  return absl::OkStatus();
}

/// Releases the slots of all placed texts, which must be computed.
void CausalEncoder::Release() {
  for (const Placed& placed : placed_) {
    if (placed.node >= 0) prefixes_->Unlock(placed.node);
    pool_->Free(
        std::span(placed.slots).subspan(placed.first_own, placed.end_own - placed.first_own));
  }
  placed_.clear();
  prefixes_->Evict(std::max<int64_t>(prefixes_->len() - options_.kept_tokens, 0));
  // Do not keep the memory that one very long text needed.
  if (next_ == texts_.size() && pool_->capacity() > 2 * NumSlots(0)) Drop();
}

absl::Status CausalEncoder::Begin(std::span<const Text> texts, Wanted wanted) {
  const bool knows_uncomputed = !placed_.empty();
  placed_.clear();
  texts_.clear();
  next_ = 0;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc("hidden states", [&] {
    if (knows_uncomputed) MakeTree(pool_->capacity());
    row_of_.clear();
    int64_t num_rows = 0;
    for (const Text text : texts) {
      row_of_.push_back(num_rows);
      num_rows += wanted == Wanted::kAll ? std::ssize(text) : 1;
    }
    states_ = Matrix(num_rows, model_.config().hidden);
    return absl::OkStatus();
  }));
  SHORTLIST_RETURN_IF_ERROR(Check(texts));
  wanted_ = wanted;
  return CatchBadAlloc("hidden states", [&] {
    texts_.assign(texts.begin(), texts.end());
    return absl::OkStatus();
  });
}

absl::StatusOr<std::optional<Matrix>> CausalEncoder::Advance() {
  const absl::Status status = CatchBadAlloc("hidden states", [&]() -> absl::Status {
    if (placed_.empty() && next_ < texts_.size()) {
      SHORTLIST_RETURN_IF_ERROR(Reserve(NumSlots(std::ssize(texts_[next_]))));
      SHORTLIST_CHECK(PlaceSome());
    }
    FillPass();
    SHORTLIST_RETURN_IF_ERROR(RunPass());
    if (at_ == placed_.size() && !placed_.empty()) Release();
    return absl::OkStatus();
  });
  if (!status.ok()) {
    placed_.clear();
    texts_.clear();
    next_ = 0;
    Drop();  // the tree contains prefixes that were not computed
    return status;
  }
  if (!placed_.empty() || next_ < texts_.size()) return std::nullopt;
  texts_.clear();
  next_ = 0;
  return std::exchange(states_, {});
}

absl::StatusOr<Matrix> CausalEncoder::States(std::span<const Text> texts, Wanted wanted) {
  SHORTLIST_RETURN_IF_ERROR(Begin(texts, wanted));
  for (;;) {
    SHORTLIST_ASSIGN_OR_RETURN(std::optional<Matrix> states, Advance());
    if (states) return *std::move(states);
  }
}

}  // namespace shortlist

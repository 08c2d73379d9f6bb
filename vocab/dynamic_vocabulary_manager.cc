#include "vocab/dynamic_vocabulary_manager.h"

#include <algorithm>
#include <compare>
#include <mutex>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "vocab/check_ids.h"

namespace shortlist {
namespace {

absl::Status CheckBase(const VocabBase* base) {
  if (base != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError("the base is null; VocabBase::FullHead is the full head's");
}

/// One id of the dynamic part, ordered by eviction.
struct Entry {
  uint64_t last_used;  // clock of the last call that named it
  int64_t frequency;
  uint64_t entered;  // distinct
  int32_t index;     // in the dynamic part
  auto operator<=>(const Entry&) const = default;
};

}  // namespace

struct DynamicVocabularyManager::State {
  int64_t capacity = 0;
  std::unordered_set<int32_t> pinned;

  mutable std::mutex writers;
  // All below are guarded by `writers`.
  uint64_t clock = 0;
  uint64_t num_entered = 0;
  uint64_t version = 0;
  std::shared_ptr<const VocabBase> base;
  std::vector<int32_t> ids;                      // the dynamic part in row order
  std::unordered_map<int32_t, Entry> entries;    // by id
  std::set<Entry> evictable;                     // those of `entries` that are not pinned
  std::unordered_map<int32_t, int64_t> escapes;  // number of escapes by id
  VocabStats stats;

  // A std::atomic<std::shared_ptr> of libstdc++ 12 contains a lock, too, and formally a data race:
  // its load unlocks with relaxed order, which ThreadSanitizer reports.
  mutable std::mutex publication;
  std::shared_ptr<const ActiveVocab> active;  // guarded by `publication`

  /// Returns true if `id` is new in the dynamic part.
  bool Touch(int32_t id);
  void Publish();
  std::shared_ptr<const ActiveVocab> Active() const;
};

bool DynamicVocabularyManager::State::Touch(int32_t id) {
  if (base->RowOf(TokenId{id}) >= 0 || !base->HasHeadRow(TokenId{id})) return false;
  if (const auto it = entries.find(id); it != entries.end()) {
    Entry& entry = it->second;
    const bool is_evictable = evictable.erase(entry) > 0;
    entry.last_used = clock;
    ++entry.frequency;
    if (is_evictable) evictable.insert(entry);
    return false;
  }

  Entry entry{clock, /*frequency=*/1, num_entered, static_cast<int32_t>(ids.size())};
  if (static_cast<int64_t>(ids.size()) < capacity) {
    ids.push_back(id);
  } else {
    if (evictable.empty()) return false;
    entry.index = evictable.begin()->index;
    evictable.erase(evictable.begin());
    entries.erase(ids[entry.index]);
    ids[entry.index] = id;
    ++stats.num_evicted;
  }
  ++num_entered;
  ++stats.num_added;
  entries.emplace(id, entry);
  if (!pinned.contains(id)) evictable.insert(entry);
  return true;
}

void DynamicVocabularyManager::State::Publish() {
  // The new snapshot is made, and the old one freed, outside the lock.
  auto snapshot = std::make_shared<const ActiveVocab>(++version, base, ids);
  const std::lock_guard lock(publication);
  active.swap(snapshot);
}

std::shared_ptr<const ActiveVocab> DynamicVocabularyManager::State::Active() const {
  const std::lock_guard lock(publication);
  return active;
}

DynamicVocabularyManager::DynamicVocabularyManager(std::unique_ptr<State> state)
    : state_(std::move(state)) {}
DynamicVocabularyManager::~DynamicVocabularyManager() = default;

absl::StatusOr<std::unique_ptr<DynamicVocabularyManager>> DynamicVocabularyManager::Create(
    std::shared_ptr<const VocabBase> base, Options options) {
  SHORTLIST_RETURN_IF_ERROR(CheckBase(base.get()));
  if (options.dynamic_capacity < 0 || options.dynamic_capacity > base->vocab_size()) {
    return absl::InvalidArgumentError(absl::StrCat("dynamic_capacity ", options.dynamic_capacity,
                                                   " not in [0, ", base->vocab_size(), "]"));
  }
  if (const absl::Status status = CheckIds(options.pinned, base->vocab_size()); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("pinned ", std::string(status.message())));
  }
  auto state = std::make_unique<State>();
  state->capacity = options.dynamic_capacity;
  for (const TokenId id : options.pinned) state->pinned.insert(Raw(id));
  state->base = std::move(base);
  state->Publish();
  return std::unique_ptr<DynamicVocabularyManager>(new DynamicVocabularyManager(std::move(state)));
}

absl::Status DynamicVocabularyManager::Add(std::span<const TokenId> ids) {
  const std::lock_guard lock(state_->writers);
  SHORTLIST_RETURN_IF_ERROR(CheckIds(ids, state_->base->vocab_size()));
  ++state_->clock;
  bool changed = false;
  for (const TokenId id : ids) changed |= state_->Touch(Raw(id));
  if (changed) state_->Publish();
  return absl::OkStatus();
}

absl::Status DynamicVocabularyManager::Observe(std::span<const TokenId> emitted,
                                               std::span<const TokenId> drafted,
                                               const ActiveVocab* snapshot,
                                               std::span<const RowSource> held) {
  if (!held.empty() && held.size() != emitted.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("held tells of ", held.size(), " tokens, ", emitted.size(), " were emitted"));
  }
  const std::lock_guard lock(state_->writers);
  State& state = *state_;
  if (snapshot != nullptr && snapshot->vocab_size() != state.base->vocab_size()) {
    return absl::InvalidArgumentError(absl::StrCat("a snapshot of a vocabulary of ",
                                                   snapshot->vocab_size(), " tokens, not ",
                                                   state.base->vocab_size()));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckIds(emitted, state.base->vocab_size()));
  SHORTLIST_RETURN_IF_ERROR(CheckIds(drafted, state.base->vocab_size()));
  const std::shared_ptr<const ActiveVocab> current = state.Active();
  if (snapshot == nullptr) snapshot = current.get();
  state.stats.num_drafted += static_cast<int64_t>(drafted.size());
  for (const TokenId id : drafted) {
    if (!snapshot->Contains(id)) ++state.stats.num_unmapped;
  }
  state.stats.num_emitted += static_cast<int64_t>(emitted.size());
  ++state.clock;
  bool changed = false;
  for (size_t i = 0; i < emitted.size(); ++i) {
    const RowSource source = held.empty() ? snapshot->SourceOf(emitted[i]) : held[i];
    ++state.stats.num_held[Index(source)];
    if (source == RowSource::kNone) ++state.escapes[Raw(emitted[i])];
    if (!snapshot->is_full_head()) changed |= state.Touch(Raw(emitted[i]));
  }
  if (changed) state.Publish();
  return absl::OkStatus();
}

std::shared_ptr<const ActiveVocab> DynamicVocabularyManager::Active() const {
  return state_->Active();
}

absl::Status DynamicVocabularyManager::ReplaceBase(std::shared_ptr<const VocabBase> base) {
  SHORTLIST_RETURN_IF_ERROR(CheckBase(base.get()));
  const std::lock_guard lock(state_->writers);
  State& state = *state_;
  if (base->vocab_size() != state.base->vocab_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "vocab_size ", base->vocab_size(), " of the new base is not ", state.base->vocab_size()));
  }
  state.base = std::move(base);
  std::vector<int32_t> kept;
  state.evictable.clear();
  for (const int32_t id : state.ids) {
    const auto it = state.entries.find(id);
    if (state.base->RowOf(TokenId{id}) >= 0 || !state.base->HasHeadRow(TokenId{id})) {
      state.entries.erase(it);
      continue;
    }
    it->second.index = static_cast<int32_t>(kept.size());
    if (!state.pinned.contains(id)) state.evictable.insert(it->second);
    kept.push_back(id);
  }
  state.ids = std::move(kept);
  state.Publish();
  return absl::OkStatus();
}

VocabStats DynamicVocabularyManager::Stats() const {
  const std::lock_guard lock(state_->writers);
  VocabStats stats = state_->stats;
  stats.base_size = state_->base->size();
  stats.dynamic_size = static_cast<int64_t>(state_->ids.size());
  stats.dynamic_capacity = state_->capacity;
  return stats;
}

std::vector<std::pair<TokenId, int64_t>> DynamicVocabularyManager::Escapes() const {
  std::vector<std::pair<TokenId, int64_t>> escapes;
  {
    const std::lock_guard lock(state_->writers);
    for (const auto& [id, count] : state_->escapes) escapes.emplace_back(TokenId{id}, count);
  }
  std::sort(escapes.begin(), escapes.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return escapes;
}

}  // namespace shortlist

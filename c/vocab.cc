#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "c/call.h"
#include "c/objects.h"
#include "vocab/formats/list_file.h"
#include "vocab/vocab_options.h"

namespace shortlist {

// Never destroyed: a thread may call while the process ends.
VocabHandles& Vocabs() {
  static VocabHandles& handles = *new VocabHandles("vocabulary", 1);
  return handles;
}

SnapshotHandles& Snapshots() {
  static SnapshotHandles& handles = *new SnapshotHandles("snapshot", 2);
  return handles;
}

namespace {

absl::StatusOr<std::span<const TokenId>> TokenIds(const int32_t* ids, int64_t count,
                                                  const char* what) {
  SHORTLIST_RETURN_IF_ERROR(CheckArray(ids, count, what));
  // TokenId has the representation of int32_t.
  return std::span(reinterpret_cast<const TokenId*>(ids), static_cast<size_t>(count));
}

absl::Status CheckVocabSize(int64_t vocab_size) {
  if (vocab_size >= 1 && vocab_size <= VocabList::kMaxVocabSize) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("vocab_size ", vocab_size, " not in [1, ", VocabList::kMaxVocabSize, "]"));
}

absl::Status CheckToken(const ActiveVocab& active, int32_t token) {
  if (token >= 0 && token < active.vocab_size()) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("token ", token, " not in [0, ", active.vocab_size(), ")"));
}

absl::Status Make(std::shared_ptr<const VocabBase> base, int64_t dynamic_capacity,
                  shortlist_vocab** vocab) {
  SHORTLIST_ASSIGN_OR_RETURN(
      std::unique_ptr<DynamicVocabularyManager> manager,
      DynamicVocabularyManager::Create(std::move(base), {.dynamic_capacity = dynamic_capacity}));
  *vocab = Vocabs().Add(std::move(manager));
  return absl::OkStatus();
}

}  // namespace
}  // namespace shortlist

using namespace shortlist;  // NOLINT: the functions below are its C face

shortlist_status shortlist_vocab_create(const int32_t* base_ids, int64_t num_ids,
                                        int64_t vocab_size, int64_t dynamic_capacity,
                                        shortlist_vocab** vocab) {
  return Call([&]() -> absl::Status {
    SHORTLIST_RETURN_IF_ERROR(CheckNotNull(vocab, "vocab"));
    SHORTLIST_RETURN_IF_ERROR(CheckVocabSize(vocab_size));
    SHORTLIST_ASSIGN_OR_RETURN(const auto ids, TokenIds(base_ids, num_ids, "base_ids"));
    SHORTLIST_ASSIGN_OR_RETURN(auto base, VocabBase::Create(ids, vocab_size));
    return Make(std::move(base), dynamic_capacity, vocab);
  });
}

shortlist_status shortlist_vocab_open(const char* choice, int64_t vocab_size,
                                      const char* fingerprint, int64_t dynamic_capacity,
                                      shortlist_vocab** vocab) {
  return Call([&]() -> absl::Status {
    SHORTLIST_RETURN_IF_ERROR(CheckNotNull(choice, "choice"));
    SHORTLIST_RETURN_IF_ERROR(CheckNotNull(vocab, "vocab"));
    SHORTLIST_RETURN_IF_ERROR(CheckVocabSize(vocab_size));
    SHORTLIST_ASSIGN_OR_RETURN(const VocabOptions options, ParseVocabFlag(choice));
    if (options.auto_size) {
      return absl::InvalidArgumentError(absl::StrCat(
          choice, ": the size that finds itself takes an engine that measures; choose top=N"));
    }
    SHORTLIST_ASSIGN_OR_RETURN(
        auto base,
        OpenVocabBase(options, {.vocab_size = vocab_size,
                                .fingerprint = fingerprint == nullptr ? "" : fingerprint}));
    return Make(std::move(base), dynamic_capacity, vocab);
  });
}

shortlist_status shortlist_vocab_add(shortlist_vocab* vocab, const int32_t* ids, int64_t num_ids) {
  return Call([&]() -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(const auto manager, Vocabs().Get(vocab));
    SHORTLIST_ASSIGN_OR_RETURN(const auto tokens, TokenIds(ids, num_ids, "ids"));
    return manager->Add(tokens);
  });
}

shortlist_status shortlist_vocab_observe(shortlist_vocab* vocab, const int32_t* emitted,
                                         int64_t num_emitted, const int32_t* drafted,
                                         int64_t num_drafted, const shortlist_snapshot* snapshot) {
  return Call([&]() -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(const auto manager, Vocabs().Get(vocab));
    SHORTLIST_ASSIGN_OR_RETURN(const auto emitted_ids, TokenIds(emitted, num_emitted, "emitted"));
    SHORTLIST_ASSIGN_OR_RETURN(const auto drafted_ids, TokenIds(drafted, num_drafted, "drafted"));
    std::shared_ptr<const ActiveVocab> active = manager->Active();
    if (snapshot != nullptr) {
      const int64_t vocab_size = active->vocab_size();
      SHORTLIST_ASSIGN_OR_RETURN(active, Snapshots().Get(snapshot));
      if (active->vocab_size() != vocab_size) {
        return absl::InvalidArgumentError(absl::StrCat("a snapshot of ", active->vocab_size(),
                                                       " tokens for a vocabulary of ", vocab_size));
      }
    }
    return manager->Observe(emitted_ids, drafted_ids, active.get());
  });
}

shortlist_status shortlist_vocab_stats(const shortlist_vocab* vocab,
                                       shortlist_vocab_counts* counts) {
  return Call([&]() -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(const auto manager, Vocabs().Get(vocab));
    SHORTLIST_RETURN_IF_ERROR(CheckNotNull(counts, "counts"));
    const VocabStats stats = manager->Stats();
    *counts = {.num_emitted = stats.num_emitted,
               .num_covered = stats.num_covered(),
               .num_drafted = stats.num_drafted,
               .num_unmapped = stats.num_unmapped,
               .num_added = stats.num_added,
               .num_evicted = stats.num_evicted,
               .base_size = stats.base_size,
               .dynamic_size = stats.dynamic_size,
               .dynamic_capacity = stats.dynamic_capacity};
    return absl::OkStatus();
  });
}

shortlist_status shortlist_vocab_snapshot(const shortlist_vocab* vocab,
                                          shortlist_snapshot** snapshot) {
  return Call([&]() -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(const auto manager, Vocabs().Get(vocab));
    SHORTLIST_RETURN_IF_ERROR(CheckNotNull(snapshot, "snapshot"));
    *snapshot = Snapshots().Add(manager->Active());
    return absl::OkStatus();
  });
}

shortlist_status shortlist_vocab_free(shortlist_vocab* vocab) {
  return Call([&] { return Vocabs().Free(vocab); });
}

shortlist_status shortlist_snapshot_rows(const shortlist_snapshot* snapshot, uint64_t* version,
                                         const int32_t** ids, int64_t* num_rows) {
  return Call([&]() -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(const auto active, Snapshots().Get(snapshot));
    if (version != nullptr) *version = active->version();
    if (ids != nullptr) *ids = active->is_full_head() ? nullptr : active->rows().data();
    if (num_rows != nullptr) *num_rows = active->size();
    return absl::OkStatus();
  });
}

shortlist_status shortlist_snapshot_token(const shortlist_snapshot* snapshot, int64_t row,
                                          int32_t* token) {
  return Call([&]() -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(const auto active, Snapshots().Get(snapshot));
    SHORTLIST_RETURN_IF_ERROR(CheckNotNull(token, "token"));
    const int64_t num_rows = active->is_full_head() ? active->vocab_size() : active->size();
    if (row < 0 || row >= num_rows) {
      return absl::OutOfRangeError(absl::StrCat("row ", row, " not in [0, ", num_rows, ")"));
    }
    *token = Raw(active->ToTokenId(DraftId{static_cast<int32_t>(row)}));
    return absl::OkStatus();
  });
}

shortlist_status shortlist_snapshot_row(const shortlist_snapshot* snapshot, int32_t token,
                                        int64_t* row) {
  return Call([&]() -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(const auto active, Snapshots().Get(snapshot));
    SHORTLIST_RETURN_IF_ERROR(CheckNotNull(row, "row"));
    SHORTLIST_RETURN_IF_ERROR(CheckToken(*active, token));
    const std::optional<DraftId> found = active->Find(TokenId{token});
    *row = found.has_value() ? Raw(*found) : -1;
    return absl::OkStatus();
  });
}

shortlist_status shortlist_snapshot_successors(const shortlist_snapshot* snapshot, int32_t token,
                                               const int32_t** ids, int64_t* num_ids) {
  return Call([&]() -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(const auto active, Snapshots().Get(snapshot));
    SHORTLIST_RETURN_IF_ERROR(CheckNotNull(ids, "ids"));
    SHORTLIST_RETURN_IF_ERROR(CheckNotNull(num_ids, "num_ids"));
    SHORTLIST_RETURN_IF_ERROR(CheckToken(*active, token));
    const std::span<const int32_t> successors = active->base()->SuccessorsOf(TokenId{token});
    *ids = successors.data();
    *num_ids = std::ssize(successors);
    return absl::OkStatus();
  });
}

shortlist_status shortlist_snapshot_free(shortlist_snapshot* snapshot) {
  return Call([&] { return Snapshots().Free(snapshot); });
}

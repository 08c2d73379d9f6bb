#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "c/call.h"
#include "c/objects.h"
#include "head/pruned_head.h"

namespace shortlist {
namespace {

struct Head {
  explicit Head(int num_threads) : pool(num_threads) {}

  const pid_t process = getpid();
  std::mutex mutex;  // held during a call
  ThreadPool pool;
  std::unique_ptr<PrunedHead> head;
  // [vocab_size] number of the last tail with the id; empty until needed.
  std::vector<uint64_t> seen_in;
  uint64_t num_tails = 0;
};

/// FailedPrecondition in a child of the process that made the head: the pool's threads do not exist
/// there.
absl::Status CheckProcess(const Head& head) {
  if (head.process == getpid()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the head was made by process ", head.process,
                                                    ", and a fork has none of its ",
                                                    "threads; make one here"));
}

Handles<shortlist_head, Head>& Heads() {
  static auto& handles = *new Handles<shortlist_head, Head>("head", 3);
  return handles;
}

absl::StatusOr<DType> DTypeOf(int32_t dtype) {
  switch (dtype) {
    case SHORTLIST_F32:
      return DType::kF32;
    case SHORTLIST_F16:
      return DType::kF16;
    case SHORTLIST_BF16:
      return DType::kBf16;
  }
  return absl::InvalidArgumentError(absl::StrCat("dtype ", dtype, " not in [0, 2]"));
}

/// The input of a call, converted for PrunedHead.
struct Work {
  std::shared_ptr<const ActiveVocab> active;
  std::vector<std::span<const int32_t>> tails;
  HeadInput hidden;

  HeadSelection selection() const { return {*active, tails}; }
  /// Returns the maximum number of rows of a token.
  int64_t max_rows(int64_t full) const {
    if (active->is_full_head()) return full;
    int64_t longest = 0;
    for (const auto tail : tails) longest = std::max(longest, std::ssize(tail));
    return active->size() + longest;
  }
};

absl::Status ReadTails(const shortlist_states& states, Work& work) {
  if (states.tail_begin == nullptr || work.active->is_full_head()) return absl::OkStatus();
  if (states.tail_begin[0] != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("tail_begin[0] is ", states.tail_begin[0], ", not 0"));
  }
  for (int64_t m = 0; m < states.num_tokens; ++m) {
    const int64_t begin = states.tail_begin[m], end = states.tail_begin[m + 1];
    if (end < begin || end - begin > work.active->vocab_size()) {
      return absl::InvalidArgumentError(absl::StrCat("tail_begin[", m + 1, "] ", end, " not in [",
                                                     begin, ", ", begin + work.active->vocab_size(),
                                                     "]"));
    }
    if (end > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(absl::StrCat("tail_begin[", m + 1, "] ", end,
                                                     " not in [0, ",
                                                     std::numeric_limits<int32_t>::max(), "]"));
    }
    SHORTLIST_RETURN_IF_ERROR(CheckArray(states.tail_ids, end, "tail_ids"));
    work.tails.emplace_back(states.tail_ids + begin, static_cast<size_t>(end - begin));
  }
  return absl::OkStatus();
}

/// InvalidArgument for an id that occurs twice in a tail, or is in the snapshot: it would be
/// scored, and counted in a softmax, twice. PrunedHead reports ids out of range. head.mutex must be
/// held.
absl::Status CheckTails(const Work& work, Head& head) {
  const int64_t vocab_size = head.head->vocab_size();
  if (!work.tails.empty()) head.seen_in.resize(static_cast<size_t>(vocab_size));
  for (size_t m = 0; m < work.tails.size(); ++m) {
    ++head.num_tails;
    for (const int32_t id : work.tails[m]) {
      if (id < 0 || id >= vocab_size) continue;
      // A head may have more rows than the snapshot's vocabulary has ids.
      const bool is_active = id < work.active->vocab_size() && work.active->Contains(TokenId{id});
      if (is_active || head.seen_in[id] == head.num_tails) {
        return absl::InvalidArgumentError(absl::StrCat(
            "tail of token ", m, ": id ", id, is_active ? " is in the snapshot" : " comes twice"));
      }
      head.seen_in[id] = head.num_tails;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Work> ReadWork(const PrunedHead& head, const shortlist_states* states) {
  constexpr int64_t kMaxTokens = 1 << 20;
  SHORTLIST_RETURN_IF_ERROR(CheckNotNull(states, "states"));
  if (states->num_tokens < 0 || states->num_tokens > kMaxTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_tokens ", states->num_tokens, " not in [0, ", kMaxTokens, "]"));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckArray(states->hidden, states->num_tokens, "hidden"));
  Work work;
  work.hidden = {states->hidden, states->num_tokens};
  if (states->snapshot == nullptr) {
    work.active = ActiveVocab::FullHead(head.vocab_size());
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(work.active, Snapshots().Get(states->snapshot));
    if (work.active->is_full_head() && work.active->vocab_size() != head.num_rows()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the snapshot is the full head of ", work.active->vocab_size(),
                       " tokens, and the head has ", head.num_rows(), " rows"));
    }
  }
  SHORTLIST_RETURN_IF_ERROR(ReadTails(*states, work));
  return work;
}

/// Runs body(head, work) with the work of `states`, while no other call uses the head.
absl::Status WithWork(shortlist_head* handle, const shortlist_states* states,
                      absl::FunctionRef<absl::Status(PrunedHead& head, const Work& work)> body) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto owner, Heads().Get(handle));
  SHORTLIST_RETURN_IF_ERROR(CheckProcess(*owner));
  const std::lock_guard lock(owner->mutex);
  if (owner->head == nullptr) return absl::InvalidArgumentError("head was freed meanwhile");
  SHORTLIST_ASSIGN_OR_RETURN(const Work work, ReadWork(*owner->head, states));
  SHORTLIST_RETURN_IF_ERROR(CheckTails(work, *owner));
  return body(*owner->head, work);
}

}  // namespace
}  // namespace shortlist

using namespace shortlist;  // NOLINT: the functions below are its C face

shortlist_status shortlist_head_create(const void* weight, int32_t dtype, int64_t vocab_size,
                                       int64_t hidden, int32_t num_threads, shortlist_head** head) {
  return Call([&]() -> absl::Status {
    constexpr int32_t kMaxThreads = 1024;
    SHORTLIST_RETURN_IF_ERROR(CheckNotNull(head, "head"));
    SHORTLIST_ASSIGN_OR_RETURN(const DType type, DTypeOf(dtype));
    if (num_threads < 1 || num_threads > kMaxThreads) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_threads ", num_threads, " not in [1, ", kMaxThreads, "]"));
    }
    const auto made = std::make_shared<Head>(num_threads);
    SHORTLIST_ASSIGN_OR_RETURN(
        PrunedHead pruned,
        PrunedHead::Create({weight, type, vocab_size, hidden}, vocab_size, made->pool));
    made->head = std::make_unique<PrunedHead>(std::move(pruned));
    *head = Heads().Add(made);
    return absl::OkStatus();
  });
}

shortlist_status shortlist_head_free(shortlist_head* head) {
  return Call([&]() -> absl::Status {
    if (head == nullptr) return absl::OkStatus();
    SHORTLIST_ASSIGN_OR_RETURN(const auto owner, Heads().Get(head));
    SHORTLIST_RETURN_IF_ERROR(Heads().Free(head));
    if (!CheckProcess(*owner).ok()) {
      // Never freed: its threads do not exist here and cannot be joined.
      new std::shared_ptr<Head>(owner);
      return absl::OkStatus();
    }
    const std::lock_guard wait_for_calls(owner->mutex);
    owner->head.reset();  // a call that found the handle before gets an error
    return absl::OkStatus();
  });
}

shortlist_status shortlist_head_argmax(shortlist_head* head, const shortlist_states* states,
                                       int32_t* ids, float* logits) {
  return Call([&] {
    return WithWork(head, states, [&](PrunedHead& of, const Work& work) -> absl::Status {
      SHORTLIST_RETURN_IF_ERROR(CheckArray(ids, states->num_tokens, "ids"));
      SHORTLIST_ASSIGN_OR_RETURN(const auto best, of.Argmax(work.hidden, work.selection()));
      for (size_t m = 0; m < best.size(); ++m) {
        ids[m] = Raw(best[m].id);
        if (logits != nullptr) logits[m] = best[m].logit;
      }
      return absl::OkStatus();
    });
  });
}

shortlist_status shortlist_head_top_k(shortlist_head* head, const shortlist_states* states,
                                      int64_t k, int32_t* ids, float* logits, float* log_sum_exp) {
  return Call([&] {
    return WithWork(head, states, [&](PrunedHead& of, const Work& work) -> absl::Status {
      SHORTLIST_RETURN_IF_ERROR(CheckArray(ids, states->num_tokens, "ids"));
      SHORTLIST_RETURN_IF_ERROR(CheckArray(logits, states->num_tokens, "logits"));
      return of.TopK(work.hidden, work.selection(), k, /*draws=*/{}, {ids, logits, log_sum_exp});
    });
  });
}

shortlist_status shortlist_head_logits(shortlist_head* head, const shortlist_states* states,
                                       float* logits, int64_t stride) {
  return Call([&] {
    return WithWork(head, states, [&](PrunedHead& of, const Work& work) -> absl::Status {
      if (states->num_tokens == 0) return absl::OkStatus();
      SHORTLIST_RETURN_IF_ERROR(CheckArray(logits, states->num_tokens, "logits"));
      const int64_t max_rows = work.max_rows(of.num_rows());
      if (stride < max_rows) {
        return absl::OutOfRangeError(absl::StrCat("stride ", stride, " < ", max_rows, " rows"));
      }
      SHORTLIST_ASSIGN_OR_RETURN(const TokenLogits scored,
                                 of.Logits(work.hidden, work.selection()));
      for (int64_t m = 0; m < states->num_tokens; ++m) {
        const std::span<const float> row = scored.of_token(m);
        float* const end = std::copy(row.begin(), row.end(), logits + m * stride);
        std::fill(end, logits + (m + 1) * stride, -std::numeric_limits<float>::infinity());
      }
      return absl::OkStatus();
    });
  });
}

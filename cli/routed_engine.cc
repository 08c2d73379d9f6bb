#include "cli/routed_engine.h"

#include "base/status_macros.h"
#include "cli/kv_pool_size.h"

namespace shortlist {

absl::StatusOr<RoutedEngine> RoutedEngine::Open(Session& session, SchedulerOptions scheduler,
                                                int64_t num_shared_rows) {
  RoutedEngine opened;
  int64_t& num_slots = scheduler.max_total_tokens;
  if (num_slots == 0) {
    const int64_t context_length = scheduler.context_length == 0
                                       ? session.target().config().context_len
                                       : scheduler.context_length;
    num_slots = ChooseNumSlots(FreeMemoryBytes(), session.kv_slot_bytes(), context_length);
  }
  if (session.has_draft()) {
    SHORTLIST_ASSIGN_OR_RETURN(opened.drafter, session.NewDrafter(num_slots));
    SHORTLIST_ASSIGN_OR_RETURN(
        opened.vocab,
        DynamicVocabularyManager::Create(session.base(), {.dynamic_capacity = num_shared_rows}));
  }
  const RunFlags& flags = session.flags();
  const SpeculativeEngine::Options options{
      .num_draft_tokens = session.has_draft() ? flags.num_draft_tokens : 0,
      .draft_p_min = flags.draft_p_min,
      .prompt_lookup = flags.prompt_lookup,
      .verify = flags.verify,
      .num_slots = num_slots,
      .emit_size = session.num_ids()};
  SHORTLIST_ASSIGN_OR_RETURN(
      opened.engine, SpeculativeEngine::Create(session.target(), opened.drafter.get(),
                                               opened.vocab.get(), options, session.pool()));
  SHORTLIST_ASSIGN_OR_RETURN(opened.router,
                             Router::Create(*opened.engine, {.scheduler = scheduler}));
  return opened;
}

}  // namespace shortlist

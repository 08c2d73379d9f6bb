#ifndef SHORTLIST_CLI_ROUTED_ENGINE_H_
#define SHORTLIST_CLI_ROUTED_ENGINE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "cli/session.h"
#include "draft/drafter.h"
#include "draft/engine.h"
#include "router/router.h"
#include "vocab/dynamic_vocabulary_manager.h"

namespace shortlist {

/// A session's models behind a Router: drafter, active vocabulary, engine and router, each of which
/// needs those before it. The session must outlive it.
struct RoutedEngine {
  /// As the session's flags and `scheduler` say; max_total_tokens 0 stands for what ChooseNumSlots
  /// makes of the free memory. The active vocabulary has room for
  /// `num_shared_rows` ids beside its base, which all requests share.
  static absl::StatusOr<RoutedEngine> Open(Session& session, SchedulerOptions scheduler,
                                           int64_t num_shared_rows);

  std::unique_ptr<Drafter> drafter;                 // null: plain decoding
  std::unique_ptr<DynamicVocabularyManager> vocab;  // null: plain decoding
  std::unique_ptr<SpeculativeEngine> engine;
  std::unique_ptr<Router> router;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_ROUTED_ENGINE_H_

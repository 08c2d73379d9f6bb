#ifndef SHORTLIST_RUNTIME_DECODING_H_
#define SHORTLIST_RUNTIME_DECODING_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "draft/drafter.h"
#include "draft/engine.h"
#include "draft/verifier.h"
#include "runtime/models.h"
#include "vocab/active_vocab.h"
#include "vocab/base_ladder.h"
#include "vocab/discovery.h"
#include "vocab/dynamic_vocabulary_manager.h"
#include "vocab/vocab_sizer.h"

namespace shortlist {

/// How models decode, whoever schedules them.
struct DecodingOptions {
  bool use_draft = true;                  // false, or a target alone: plainly
  std::shared_ptr<const VocabBase> base;  // null: the full head's
  // Not null: the base is one of these, whichever makes it fastest (VocabSizer); not `base` then.
  std::shared_ptr<const BaseLadder> ladder;
  int64_t num_shared_rows = 0;  // dynamic rows that all requests share
  int64_t num_draft_tokens = SpeculativeEngine::Options{}.num_draft_tokens;
  double draft_p_min = SpeculativeEngine::Options{}.draft_p_min;
  bool prompt_lookup = SpeculativeEngine::Options{}.prompt_lookup;
  VerifyMode verify = SpeculativeEngine::Options{}.verify;
  double coverage_floor = SpeculativeEngine::Options{}.coverage_floor;
  DiscoveryOptions discovery;  // its variants are the models'
};

/// One way to decode with models, which must outlive it: a drafter, an active vocabulary and the
/// engine that needs both.
struct Decoding {
  /// `num_slots`: KV slots of target and draft. Errors as SpeculativeEngine::Create and
  /// Models::NewDrafter.
  static absl::StatusOr<Decoding> Create(Models& models, const DecodingOptions& options,
                                         int64_t num_slots);

  std::unique_ptr<Drafter> drafter;                 // null: plain decoding
  std::unique_ptr<DynamicVocabularyManager> vocab;  // likewise
  std::unique_ptr<VocabSizer> sizer;                // null: the base's size stays
  std::unique_ptr<SpeculativeEngine> engine;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_DECODING_H_

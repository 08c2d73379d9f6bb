#ifndef SHORTLIST_RUNTIME_DECODING_H_
#define SHORTLIST_RUNTIME_DECODING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "draft/chain_drafter.h"
#include "draft/engine.h"
#include "runtime/decoding_options.h"
#include "runtime/models.h"
#include "sketch/sketch.h"
#include "sketch/sketch_fitter.h"
#include "vocab/dynamic_vocabulary_manager.h"
#include "vocab/vocab_sizer.h"

namespace shortlist {

/// How sketches are fitted to a draft's hidden states while the draft runs (SketchFitter).
struct SketchLearning {
  // Files for the latest sketch and for the moments of all states so far; their folder is created.
  // Empty: nothing is saved.
  std::string sketch_cache, moments_cache;
  SketchFitter::Known known;  // num_fitted: that of DecodingOptions::sketch
  std::string warning;        // why one of the files is not used; empty: none is rejected
};

/// One way to decode with models, which must outlive it: a drafter, an active vocabulary and the
/// engine that uses both.
struct Decoding {
  /// `num_slots`: KV slots of target and draft. Errors as for SpeculativeEngine::Create and
  /// Models::NewDrafter.
  static absl::StatusOr<Decoding> Create(Models& models, const DecodingOptions& options,
                                         int64_t num_slots);

  std::unique_ptr<SketchFitter> fitter;             // null: the sketch is fixed
  std::unique_ptr<ChainDrafter> drafter;            // null: plain decoding
  std::unique_ptr<DynamicVocabularyManager> vocab;  // null: plain decoding
  std::unique_ptr<VocabSizer> sizer;                // null: all sizes are fixed
  std::unique_ptr<SpeculativeEngine> engine;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_DECODING_H_

#ifndef SHORTLIST_RUNTIME_DECODING_H_
#define SHORTLIST_RUNTIME_DECODING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "draft/chain_drafter.h"
#include "draft/engine.h"
#include "draft/verifier.h"
#include "head/sketch.h"
#include "head/sketch_fitter.h"
#include "runtime/models.h"
#include "vocab/active_vocab.h"
#include "vocab/base_ladder.h"
#include "vocab/dynamic_vocabulary_manager.h"
#include "vocab/vocab_sizer.h"

namespace shortlist {

/// Sketches that are fitted to the hidden states of a draft while it runs (SketchFitter).
struct SketchLearning {
  // Files for the latest sketch and for the moments of all states so far; their folder is made.
  // Empty: nothing is kept.
  std::string sketch_cache, moments_cache;
  SketchFitter::Known known;  // num_fitted is of DecodingOptions::sketch
};

/// How models decode, whoever schedules them.
struct DecodingOptions {
  bool use_draft = true;                  // false, or a target alone: plainly
  std::shared_ptr<const VocabBase> base;  // null: the full head's
  // Not null: the base is one of these, whichever makes it fastest (VocabSizer); not `base` then.
  std::shared_ptr<const BaseLadder> ladder;
  int64_t num_shared_rows = 0;  // dynamic rows that all requests share
  // Chooses num_sketch_rows (at least 1) further rows for every draft token; null: no such rows.
  std::shared_ptr<const Sketch> sketch;
  int64_t num_sketch_rows = Sketch::kDefaultRows;
  // At least 1: as few as this, or up to num_sketch_rows, whatever is fastest (VocabSizer). 0:
  // always num_sketch_rows.
  int64_t min_sketch_rows = 0;
  // True: there is no list. The sketch, as soon as there is one, chooses all rows, unless the full
  // head is faster (VocabSizer). Neither `base` nor `ladder` is used.
  bool sketch_alone = false;
  std::optional<SketchLearning> learning;  // nullopt: `sketch` stays
  int64_t num_draft_tokens = SpeculativeEngine::Options{}.num_draft_tokens;
  std::optional<double> draft_p_min;  // null: by measured costs
  bool prompt_lookup = SpeculativeEngine::Options{}.prompt_lookup;
  VerifyMode verify = SpeculativeEngine::Options{}.verify;
  double coverage_floor = SpeculativeEngine::Options{}.coverage_floor;
  int64_t continuation_rows = SpeculativeEngine::Options{}.continuation_rows;
};

/// How a sketch is asked for.
struct SketchOptions {
  static constexpr int64_t kByPath = -1;       // Sketch::kDefaultRows with a path, else 0
  static constexpr int64_t kAloneRows = 1024;  // of a sketch alone
  static constexpr int64_t kTailRows = 256;    // that a request should have beside it

  std::string path;            // of a file of WriteSketchFile; empty: a sketch of the head alone
  int64_t num_rows = kByPath;  // of each draft token; 0: no sketch
  int64_t min_rows = 0;        // as DecodingOptions::min_sketch_rows
  // Where the vocabulary is the full head, a sketch chooses all rows: that of `path`, or one that
  // is fitted while the draft runs and kept in the user's cache. Not where it reads no less.
  bool alone = true;

  int64_t rows() const {
    return num_rows != kByPath ? num_rows : path.empty() ? 0 : Sketch::kDefaultRows;
  }
  /// Parses N or MIN..MAX, of `num_rows` and `min_rows`, both from 1 on in a range, which rises.
  /// InvalidArgument names what is wrong.
  absl::Status ParseRows(std::string_view flag);
  /// InvalidArgument for a number of rows below 0, or when neither `base`, which takes `empty`,
  /// nor the sketch, nor `dynamic_rows` leave a draft anything to score.
  absl::Status Check(const VocabBase& base, int64_t dynamic_rows) const;
  /// Sets what `decoding`, which has its base and ladder, says of sketches, where there is a draft
  /// to use them. Errors of Models::OpenSketch; a cached sketch that cannot be read is passed over.
  absl::Status Open(Models& models, DecodingOptions& decoding) const;
};

/// One way to decode with models, which must outlive it: a drafter, an active vocabulary and the
/// engine that needs both.
struct Decoding {
  /// `num_slots`: KV slots of target and draft. Errors as SpeculativeEngine::Create and
  /// Models::NewDrafter.
  static absl::StatusOr<Decoding> Create(Models& models, const DecodingOptions& options,
                                         int64_t num_slots);

  std::unique_ptr<SketchFitter> fitter;             // null: the sketch stays
  std::unique_ptr<ChainDrafter> drafter;            // null: plain decoding
  std::unique_ptr<DynamicVocabularyManager> vocab;  // likewise
  std::unique_ptr<VocabSizer> sizer;                // null: all sizes stay
  std::unique_ptr<SpeculativeEngine> engine;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_DECODING_H_

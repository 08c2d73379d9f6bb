#ifndef SHORTLIST_VOCAB_VOCAB_SIZER_H_
#define SHORTLIST_VOCAB_VOCAB_SIZER_H_

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "vocab/base_ladder.h"
#include "vocab/dynamic_vocabulary_manager.h"
#include "vocab/size_control.h"

namespace shortlist {

/// Gives the base of a DynamicVocabularyManager the size that makes its engine fastest, and says
/// how many rows a sketch should choose in addition. If other code replaces the base, the sizer
/// leaves that base alone until it is given a ladder again. A base is made on a thread of its own;
/// the engine keeps the current one until the next is ready.
///
/// Replace, Cancel and num_changes may be called by any thread, all else only by the engine's
/// thread.
class VocabSizer {
 public:
  /// `manager` must outlive the sizer; its base is ladder->Base(ladder->start()). Null `ladder`:
  /// the base is not changed. `sketch_rows`: possible numbers of rows of the draft's sketch,
  /// rising; the largest is used first. Empty: no sketch. `awaits_sketch`: the sketch comes later;
  /// without a list the base is not changed before TellSketch().
  VocabSizer(DynamicVocabularyManager& manager, std::shared_ptr<const BaseLadder> ladder,
             std::vector<int64_t> sketch_rows, int64_t max_draft_tokens,
             bool awaits_sketch = false);

  /// Uses `ladder` from the next step on, beginning at its start.
  void Replace(std::shared_ptr<const BaseLadder> ladder);
  /// Called before other code sets a base of fixed size: from then on no base of a ladder is set,
  /// until Replace() is called.
  void Cancel();

  /// Called after every step, drafted or not: applies Replace(). Returns false if there is nothing.
  bool TakeNext();

  /// Reports that the awaited sketch is ready.
  void TellSketch();

  /// Counts a token emitted after `last`. `is_held`: a draft could propose it with any base.
  /// `sketch_rank`: number of rows that the sketch ranked before it, INT64_MAX if it did not rank
  /// it, nullopt if it did not score this position.
  void CountToken(TokenId last, TokenId id, bool is_held, std::optional<int64_t> sketch_rank);

  /// Counts a step drafted with `active`; steps drafted with another base are ignored. May replace
  /// the base.
  void AddStep(const SizeControl::Step& step, const ActiveVocab& active);

  /// Number of rows that the sketch should choose from now on; 0 without a sketch.
  int64_t num_sketch_rows() const;
  /// True if it chooses the size of the base.
  bool sizes_base() const { return ladder_ != nullptr; }
  /// True if it enlarges a base that contains too little.
  bool grows_base() const { return ladder_ != nullptr && ladder_->has_list(); }

  /// Number of changes of the size by measurements.
  int64_t num_changes() const { return num_changes_.load(std::memory_order_relaxed); }

 private:
  void Take(std::shared_ptr<const BaseLadder> ladder);
  void BeginBase();
  void SetBase(std::shared_ptr<const VocabBase> base);  // under mutex_

  DynamicVocabularyManager& manager_;
  const std::vector<int64_t> shares_;
  const int64_t max_draft_tokens_;
  bool awaits_sketch_;
  std::shared_ptr<const BaseLadder> ladder_;
  std::unique_ptr<SizeControl> control_;
  std::shared_ptr<const VocabBase> base_;                    // the last one set
  std::future<std::shared_ptr<const VocabBase>> next_base_;  // valid while it is being made
  std::atomic<int64_t> num_changes_ = 0;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<const BaseLadder> next_;  // null: no ladder waits
  bool is_cancelled_ = false;               // since the last Replace
  std::atomic<bool> has_next_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_VOCAB_SIZER_H_

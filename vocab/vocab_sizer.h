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

/// Gives the base of a DynamicVocabularyManager the size that makes its engine fastest, and tells
/// how many rows a sketch should choose besides. Where somebody else replaces the base, it leaves
/// that alone until it is given a ladder again. A base is made on a thread of its own: the engine
/// goes on with the one it has until the next is there.
///
/// TakeNext, TellSketch, CountToken, AddStep and num_sketch_rows are the engine's thread's; the
/// rest is any thread's.
class VocabSizer {
 public:
  /// `manager` must outlive this; its base is ladder->Base(ladder->start()). Null: the base stays
  /// as it is. `sketch_rows`: how many rows the draft's sketch may choose, rising; it begins with
  /// the most. Empty: there is no sketch. `awaits_sketch`: the sketch will be there later, and the
  /// base stays as it is until TellSketch.
  VocabSizer(DynamicVocabularyManager& manager, std::shared_ptr<const BaseLadder> ladder,
             std::vector<int64_t> sketch_rows, int64_t max_draft_tokens,
             bool awaits_sketch = false);

  /// From the next step on by this ladder, from its start.
  void Replace(std::shared_ptr<const BaseLadder> ladder);
  /// Whoever replaces the base by one of a fixed size calls this before: from then on no base of a
  /// ladder comes, until Replace gives another one.
  void Cancel();

  /// After every step, whoever drafted it: takes what Replace has left. False: there is nothing.
  bool TakeNext();

  /// The sketch that it awaits is there.
  void TellSketch();

  /// Tells of a token that was emitted behind `last`. `is_held`: a draft could propose it whatever
  /// the base. `sketch_rank`: how many rows the sketch ranked before it, INT64_MAX where it did not
  /// rank it; nullopt: it did not come to its place.
  void CountToken(TokenId last, TokenId id, bool is_held, std::optional<int64_t> sketch_rank);

  /// Tells of a step that was drafted with `active`; what another base drafted does not count. May
  /// replace the base.
  void AddStep(const SizeControl::Step& step, const ActiveVocab& active);

  /// That the sketch should choose from now on; 0: there is none.
  int64_t num_sketch_rows() const;
  /// Whether it sizes the base.
  bool sizes_base() const { return ladder_ != nullptr; }
  /// Whether it gives the base more rows where that holds too little.
  bool grows_base() const { return ladder_ != nullptr && ladder_->has_list(); }

  /// How often the size has changed by itself.
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
  std::shared_ptr<const VocabBase> base_;                    // that it has set
  std::future<std::shared_ptr<const VocabBase>> next_base_;  // valid while it is made
  std::atomic<int64_t> num_changes_ = 0;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<const BaseLadder> next_;  // null: none waits
  bool is_cancelled_ = false;               // since the last Replace
  std::atomic<bool> has_next_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_VOCAB_SIZER_H_

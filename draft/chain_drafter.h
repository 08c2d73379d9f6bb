#ifndef SHORTLIST_DRAFT_CHAIN_DRAFTER_H_
#define SHORTLIST_DRAFT_CHAIN_DRAFTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "draft/drafter.h"
#include "draft/token_chooser.h"
#include "head/head_on_device.h"
#include "head/pruned_head.h"
#include "head/row_tails.h"
#include "kernels/matrix.h"
#include "sketch/sketch.h"
#include "sketch/sketch_basis.h"
#include "sketch/sketch_fitter.h"

namespace shortlist {

/// Drafts a chain, one token per pass, for a batch of sequences. Base of ModelDrafter and
/// EagleDrafter. A subclass runs the network on the CPU. This class scores and chooses tokens, ends
/// each chain where its ChainPolicy says so (WantsMore, Weigh), and checks the row map. The head
/// may be on another device; hidden states are then copied there, and token ids are copied back.
class ChainDrafter : public Drafter {
 public:
  int64_t num_rows() const final { return head_.vocab_size(); }
  std::shared_ptr<const HeadRows> head_rows() const final { return head_.head_rows(); }
  int64_t num_sketch_rows() const final { return sketch_ ? sketch_->num_chosen() : 0; }
  void set_num_sketch_rows(int64_t num_rows) final {
    if (sketch_) sketch_->set_num_chosen(num_rows);
  }
  absl::Status Draft(std::span<DraftTask> tasks, bool wants_distributions) final;

  /// From now on each draft step, except over the full head, also scores `num_rows` (at least 1)
  /// rows that the sketch of this head chooses by the hidden state. Precondition: all tokens have a
  /// row. set_num_sketch_rows may lower
  /// the number. `device`: the head's device if that is not the CPU; the sketch is copied there.
  void UseSketch(std::shared_ptr<const Sketch> sketch, int64_t num_rows, ThreadPool& pool,
                 std::shared_ptr<const HeadOnDevice> device = nullptr);
  /// Same as UseSketch(), but with each new sketch that `fitter` makes from future hidden states.
  /// `fitter` must outlive this object.
  void LearnSketch(SketchFitter& fitter, int64_t num_rows, ThreadPool& pool,
                   std::shared_ptr<const HeadOnDevice> device = nullptr);
  /// Adds all future hidden states, including those of prompts, to `moments`, which must outlive
  /// this object. Null stops the collection.
  void CollectStates(StateMoments* moments) { moments_ = moments; }
  /// Bytes of the sketch that a draft pass reads; 0 without a sketch.
  int64_t sketch_bytes() const { return sketch_ ? sketch_->bytes() : 0; }

 protected:
  explicit ChainDrafter(PrunedHead head);

  /// Returns a head over `weight` on the CPU, or, if `device` is not null, over the copy there. It
  /// scores tokens below emit_size. head_rows: those of the weight's rows; null: row i is token i;
  /// InvalidArgument if there are such rows and a device. Other errors of PrunedHead::Create and
  /// HeadOnDevice::NewScorer.
  static absl::StatusOr<PrunedHead> CreateHead(const HeadWeight& weight, int64_t emit_size,
                                               ThreadPool& pool, const HeadOnDevice* device,
                                               std::shared_ptr<const HeadRows> head_rows = nullptr);

  /// Brings the draft's KV up to the sequences' last tokens, and then to those of their chains,
  /// which are forced. Returns the hidden states that predict the next token: [tasks.size(),
  /// hidden] f32, contiguous, in host memory.
  virtual absl::StatusOr<Matrix> Begin(std::span<DraftTask* const> tasks) = 0;

  /// Feeds the drafted tokens of each task that are not fed yet: the one predicted from `hidden`
  /// [tasks.size(), hidden] and those forced after it. Returns the hidden states that predict the
  /// following token, in the format of Begin().
  virtual absl::StatusOr<Matrix> Next(std::span<DraftTask* const> tasks, const Matrix& hidden) = 0;

  /// Number of the network's passes that compute `num_tokens` (at least 1) successive tokens of one
  /// chain.
  virtual int64_t NumPasses(int64_t num_tokens) const = 0;

  /// Subclasses pass all hidden states that the network computes, [n, hidden] f32. The states of
  /// prompts, which no head scores, are included: they are as informative as the others.
  absl::Status TellStates(const Matrix& hidden);

 private:
  absl::Status ProposeOne(std::span<DraftTask* const> tasks, const Matrix& hidden,
                          bool wants_distributions);
  absl::Status ProposeOver(const ActiveVocab& active, std::span<DraftTask* const> tasks,
                           const Matrix& hidden, bool wants_distributions);
  /// One token for one task, and the logit by which it was chosen.
  struct Choice {
    TokenId token{-1};  // -1: nothing to propose, the chain ends here
    float logit = 0.0f;
    bool stands = true;  // false: ChainPolicy::Weigh rejected the token
  };
  absl::Status Append(std::span<DraftTask* const> tasks, std::span<const Choice> choices,
                      HeadInput hidden);
  absl::Status SelectRows(const ActiveVocab& active, std::span<DraftTask* const> tasks,
                          const Matrix& states, bool wants_distributions);
  void ChooseFromLogits(std::span<DraftTask* const> tasks, bool wants_distributions,
                        std::span<Choice> choices);
  const ActiveVocab* VocabFor(DraftTask& task) const;
  bool HasRows(const DraftTask& task) const;
  absl::Status ChooseBySketch(std::span<DraftTask* const> tasks, const Matrix& states,
                              bool wants_distributions);

  PrunedHead head_;
  const std::shared_ptr<const ActiveVocab> no_rows_;  // of tokens whose few rows are in the tail
  std::optional<SketchChooser> sketch_;
  std::vector<SketchRace> races_;
  StateMoments* moments_ = nullptr;
  SketchFitter* fitter_ = nullptr;
  std::function<void(std::shared_ptr<const Sketch>)> use_fitted_;
  RowTails tails_;
  std::vector<std::span<const int32_t>> few_;  // of a pass, in place of tails_
  TokenLogits logits_;
  TokenChooser chooser_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_CHAIN_DRAFTER_H_

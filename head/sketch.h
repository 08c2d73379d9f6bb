#ifndef SHORTLIST_HEAD_SKETCH_H_
#define SHORTLIST_HEAD_SKETCH_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "head/sketch_basis.h"
#include "kernels/arena.h"
#include "kernels/head.h"
#include "kernels/sketch.h"

namespace shortlist {

/// All rows of a head in a few dimensions and int4: it tells for little which of them a hidden
/// state is likely to score highest, so that only these need exact logits. Immutable; any thread
/// may read it.
class Sketch {
 public:
  static constexpr int64_t kDefaultRows = 256;

  /// Of rows 0 .. num_rows - 1 of `head`, which is not needed afterwards. InvalidArgument when the
  /// basis is of another width, when its probes are not the head's rows (it was made for another
  /// head; the same one quantised or rounded will do), or for a row that is not finite in it or
  /// beyond kMaxSketchScale, which the message names.
  static absl::StatusOr<std::shared_ptr<const Sketch>> Create(const SketchBasis& basis,
                                                              const HeadWeight& head,
                                                              int64_t num_rows, ThreadPool& pool);

  SketchRows rows() const;
  int64_t rank() const { return rank_; }
  int64_t hidden() const { return hidden_; }
  /// [rank, hidden] f32: hidden states times this are queries of kernels/sketch.h.
  const float* states() const { return states_.data_ptr<float>(); }
  /// What a draft pass reads of it.
  int64_t bytes() const;

 private:
  Sketch() = default;

  int64_t rank_ = 0, hidden_ = 0, num_rows_ = 0;
  at::Tensor states_;
  Arena codes_, scales_;
};

/// The rows that a sketch chooses for the tokens of a draft pass. Holds scratch; one per thread.
class SketchChooser {
 public:
  /// `num_chosen` rows a token, at least 1; all of them where the sketch has fewer.
  SketchChooser(std::shared_ptr<const Sketch> sketch, int64_t num_chosen, ThreadPool& pool);

  /// hidden: [num_tokens, sketch.hidden()] f32. races: [num_tokens], or empty: by score.
  void Choose(const float* hidden, int64_t num_tokens, std::span<const SketchRace> races);
  /// Of token m of the last Choose: num_chosen() ascending ids.
  std::span<const int32_t> of_token(int64_t m) const;

  int64_t num_chosen() const { return num_chosen_; }

 private:
  std::shared_ptr<const Sketch> sketch_;
  int64_t num_chosen_;
  ThreadPool& pool_;
  std::vector<float> queries_;
  std::vector<int32_t> ids_;
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_SKETCH_H_

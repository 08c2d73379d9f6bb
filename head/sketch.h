#ifndef SHORTLIST_HEAD_SKETCH_H_
#define SHORTLIST_HEAD_SKETCH_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "head/head_kernels.h"
#include "head/sketch_basis.h"
#include "kernels/arena.h"
#include "kernels/head.h"
#include "kernels/sketch.h"

namespace shortlist {

/// All rows of a head in a few dimensions and int4: it tells for little which of them a hidden
/// state is likely to score highest, so that only these need exact logits. Where the basis has
/// kSketchFineRank dimensions to spare, its last so many are looked at for an eighth of the rows
/// only, which the first ones choose. Immutable; any thread may read it.
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

  /// The first dimensions, of all rows.
  SketchRows rows() const;
  bool has_fine() const { return has_fine_; }
  /// The others; there are some.
  SketchFine fine() const;
  /// Rows whose other dimensions are looked at when `num_ranked` are wanted; as many where there
  /// are no others.
  int64_t NumCandidates(int64_t num_ranked) const;
  int64_t rank() const { return rank_; }
  int64_t hidden() const { return hidden_; }
  /// [rank, hidden] f32: hidden states times this are queries of kernels/sketch.h.
  const float* states() const { return states_.data_ptr<float>(); }
  /// What a draft pass reads of it.
  int64_t bytes() const { return Bytes(num_rows_, rank_, hidden_); }
  static int64_t Bytes(int64_t num_rows, int64_t rank, int64_t hidden);
  /// Whether a sketch of the default rank and `num_scored` rows of `head` are at most half of what
  /// the full head takes.
  static bool Halves(const HeadWeight& head, int64_t num_rows, int64_t num_scored);
  /// SketchBasis::num_states.
  int64_t num_states() const { return num_states_; }

 private:
  Sketch() = default;

  void FillRows(const at::Tensor& projected);
  void FillFine(const at::Tensor& projected);

  int64_t rank_ = 0, hidden_ = 0, num_rows_ = 0, num_states_ = 0;
  bool has_fine_ = false;
  at::Tensor states_;
  Arena codes_, scales_, fine_codes_, fine_scales_;
};

/// The rows that a sketch chooses for the tokens of a draft pass. Holds scratch; one per thread.
class SketchChooser {
 public:
  /// Ranks the `num_ranked` (at least 1) best rows of a token, all of them where the sketch has
  /// fewer, and chooses them all. `kernels` not null: of the same states the very same rows, by
  /// codes in its device's memory; Choose brings them there.
  SketchChooser(std::shared_ptr<const Sketch> sketch, int64_t num_ranked, ThreadPool& pool,
                std::shared_ptr<HeadKernels> kernels = nullptr);

  /// hidden: [num_tokens, sketch.hidden()] f32 in host memory. races: [num_tokens], or empty: by
  /// score. Errors are the device's.
  absl::Status Choose(const float* hidden, int64_t num_tokens, std::span<const SketchRace> races);
  /// Of token m of the last Choose: the ascending ids of its num_chosen() best rows. Valid until
  /// the next call of either.
  std::span<const int32_t> of_token(int64_t m);
  /// Of token m of the last Choose: the ascending ids of all rows that were ranked, and the keys
  /// that rank them (kernels/sketch_rank.h).
  struct Ranked {
    std::span<const int32_t> ids;
    std::span<const uint32_t> keys;  // [ids.size()]
  };
  Ranked ranked_of_token(int64_t m) const;

  int64_t bytes() const { return sketch_->bytes(); }
  int64_t num_ranked() const { return num_ranked_; }
  int64_t num_chosen() const { return num_chosen_; }
  /// From now on the best `num_rows` of the ranked, at least 1; all where there are fewer.
  void set_num_chosen(int64_t num_rows);

 private:
  absl::Status ChooseOnDevice(int64_t num_tokens, std::span<const SketchRace> races, int32_t* ids,
                              uint32_t* keys);

  const std::shared_ptr<const Sketch> sketch_;
  const int64_t num_ranked_, num_candidates_;
  int64_t num_chosen_;
  ThreadPool& pool_;
  std::vector<float> queries_, fine_queries_;
  std::vector<int32_t> candidate_ids_;       // [tokens, num_candidates]
  std::vector<uint32_t> candidate_keys_;     // likewise
  std::vector<int32_t> ids_;                 // [tokens, num_ranked]
  std::vector<uint32_t> keys_;               // likewise
  std::vector<int32_t> chosen_;              // of one token
  std::vector<uint32_t> order_;              // likewise
  std::shared_ptr<HeadKernels> kernels_;     // null: the CPU
  at::Tensor device_codes_, device_scales_;  // once Choose has brought them there
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_SKETCH_H_

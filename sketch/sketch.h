#ifndef SHORTLIST_SKETCH_SKETCH_H_
#define SHORTLIST_SKETCH_SKETCH_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "head/head_on_device.h"
#include "kernels/arena.h"
#include "kernels/head.h"
#include "kernels/matrix.h"
#include "kernels/sketch.h"
#include "sketch/sketch_basis.h"

namespace shortlist {

/// All rows of a head in a few dimensions and int4. Finds at low cost the rows that a hidden state
/// is likely to score highest, so that only these need exact logits. If the basis has enough
/// dimensions, its last kSketchFineRank ones are read only for an eighth of the rows, which the
/// first dimensions choose. Immutable; any thread may read it.
class Sketch {
 public:
  /// Makes a sketch of rows 0 .. num_rows - 1 of `head`, which may be freed afterwards.
  /// InvalidArgument for a basis of another width, or one whose probes are not rows of the head: it
  /// was made for another head (a quantised or rounded copy is accepted). Also for a row that is
  /// not finite in the basis or exceeds kMaxSketchScale; the message names the row.
  static absl::StatusOr<std::shared_ptr<const Sketch>> Create(const SketchBasis& basis,
                                                              const HeadWeight& head,
                                                              int64_t num_rows, ThreadPool& pool);

  /// The first dimensions, for all rows.
  SketchRows rows() const;
  bool has_fine() const { return has_fine_; }
  /// The other dimensions. Precondition: has_fine().
  SketchFine fine() const;
  /// Number of rows whose other dimensions are read to rank `num_ranked`; `num_ranked` without
  /// other dimensions.
  int64_t NumCandidates(int64_t num_ranked) const;
  int64_t rank() const { return rank_; }
  int64_t hidden() const { return hidden_; }
  /// [rank, hidden] f32: its product with hidden states gives the queries of kernels/sketch.h.
  const float* states() const { return states_.floats(); }
  /// Number of bytes that a draft pass reads of the sketch.
  int64_t bytes() const { return Bytes(num_rows_, rank_, hidden_); }
  static int64_t Bytes(int64_t num_rows, int64_t rank, int64_t hidden);
  /// True if a sketch of the default rank and `num_scored` rows of `head` take at most half the
  /// bytes of the full head.
  static bool Halves(const HeadWeight& head, int64_t num_rows, int64_t num_scored);
  /// Returns SketchBasis::num_states.
  int64_t num_states() const { return num_states_; }

 private:
  Sketch() = default;

  void FillRows(const Matrix& projected);
  void FillFine(const Matrix& projected);

  int64_t rank_ = 0, hidden_ = 0, num_rows_ = 0, num_states_ = 0;
  bool has_fine_ = false;
  Matrix states_;
  Arena codes_, scales_, fine_codes_, fine_scales_;
};

/// Chooses rows by a sketch for the tokens of a draft pass. Holds scratch memory; one per thread.
class SketchChooser {
 public:
  /// Ranks the `num_ranked` (at least 1) best rows of a token, or all if the sketch has fewer, and
  /// at first chooses all of these. `device` not null: ranks all rows on the device of that head,
  /// with the same result; the first Choose copies the sketch there.
  SketchChooser(std::shared_ptr<const Sketch> sketch, int64_t num_ranked, ThreadPool& pool,
                std::shared_ptr<const HeadOnDevice> device = nullptr);

  /// hidden: [num_tokens, sketch.hidden()] f32 in host memory. races: [num_tokens]; empty: ranks by
  /// score. Returns errors of the device.
  absl::Status Choose(const float* hidden, int64_t num_tokens, std::span<const SketchRace> races);
  /// Returns the ascending ids of the num_chosen() best rows of token m of the last Choose. Valid
  /// until the next call of Choose or of_token.
  std::span<const int32_t> of_token(int64_t m);
  /// The ranked rows of token m of the last Choose: ascending ids, and the keys that rank them
  /// (kernels/sketch_rank.h).
  struct Ranked {
    std::span<const int32_t> ids;
    std::span<const uint32_t> keys;  // [ids.size()]
  };
  Ranked ranked_of_token(int64_t m) const;

  int64_t bytes() const { return sketch_->bytes(); }
  int64_t num_ranked() const { return num_ranked_; }
  int64_t num_chosen() const { return num_chosen_; }
  /// Sets the number of ranked rows to choose, at least 1; at most num_ranked() are chosen.
  void set_num_chosen(int64_t num_rows);

 private:
  absl::Status RankAll(const SketchRace* races, int64_t num_tokens, int32_t* ids, uint32_t* keys);

  const std::shared_ptr<const Sketch> sketch_;
  const int64_t num_ranked_, num_candidates_;
  int64_t num_chosen_;
  ThreadPool& pool_;
  std::vector<float> queries_, fine_queries_;
  std::vector<int32_t> candidate_ids_;          // [tokens, num_candidates]
  std::vector<uint32_t> candidate_keys_;        // [tokens, num_candidates]
  std::vector<int32_t> ids_;                    // [tokens, num_ranked]
  std::vector<uint32_t> keys_;                  // [tokens, num_ranked]
  std::vector<int32_t> chosen_;                 // of one token
  std::vector<uint32_t> order_;                 // of one token
  std::shared_ptr<const HeadOnDevice> device_;  // null: the CPU
  std::unique_ptr<SketchRanker> ranker_;        // on `device_`, from the first Choose on
};

}  // namespace shortlist

#endif  // SHORTLIST_SKETCH_SKETCH_H_

#ifndef SHORTLIST_MODEL_CHECKPOINT_EAGLE3_CONFIG_H_
#define SHORTLIST_MODEL_CHECKPOINT_EAGLE3_CONFIG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/model_source.h"
#include "io/weight_files.h"
#include "model/checkpoint/config.h"
#include "vocab/head_rows.h"

namespace shortlist {

/// What an EAGLE-3 head is (Li et al. 2025, "EAGLE-3: Scaling up Inference Acceleration of Large
/// Language Models via Training-Time Test"; with the norms of EAGLE-3.1): a draft of one or more
/// layers that reads states from inside its target. Read from three formats: SafeAILab's and
/// SpecForge's (a flat config.json) and that of speculators (nested).
struct Eagle3Config {
  enum class Format { kFlat, kSpeculators };
  Format format = Format::kFlat;

  /// The shape of its layers; architecture, windows and what belongs to whole models are unused.
  /// vocab_size: rows of its embedding, or of the target's. context_len: the target's after
  /// FitTarget, because that of the file is only the length it was trained with.
  ModelConfig layers;
  std::string first_layer;  // prefix of the first layer's tensors: "midlayer." or "layers.0."

  int64_t target_hidden = 0;
  int64_t num_taps = 0;  // states of the target that `fc` joins; 0: no fc (see reads_output)
  // Layer boundaries of the target (StateTaps), [num_taps]. Set by FitTarget.
  std::vector<int64_t> taps;
  std::string taps_reason;  // why these, for a log
  // eagle_aux_hidden_state_layer_ids of the file; nullopt: it has none.
  std::optional<std::vector<int64_t>> layer_ids;

  bool fc_bias = false;
  // Tensors of the norms before fc: one over all taps, or one for each tap; empty: none.
  std::vector<std::string> feature_norms;
  // The first layer adds its attention to the normed feature, not to the feature itself.
  bool norm_before_residual = false;
  // The feature of the next position is the last layer's output after the final norm, not before.
  bool recurs_normed = false;
  double logit_scale = 1.0;  // multiplies logits

  bool has_embedding = false;  // false: the target's
  // Rows of lm_head.weight; 0: it has none.
  int64_t num_head_rows = 0;
  bool head_is_embedding = false;  // without lm_head.weight: its embedding; else the target's head
  // Token of each row of lm_head.weight as stored; empty: row i is token i.
  std::vector<int32_t> head_ids;
  bool d2t_holds_ids = false;  // see HeadMap

  /// The tokens that have a row; null: all. Set by FitTarget. The head's rows in memory are in this
  /// order.
  std::shared_ptr<const HeadRows> head_rows;

  /// True if it reads the target's state after the final norm, as EAGLE-1 does, and has no fc.
  bool reads_output() const { return num_taps == 0; }
  /// Numbers of a feature of the target.
  int64_t feature_width() const { return target_hidden * (reads_output() ? 1 : num_taps); }

  /// Sets what depends on the target. `taps`: layer boundaries to read in place of those that the
  /// file implies. These are: eagle_aux_hidden_state_layer_ids of speculators as they are; of a
  /// flat file as they are if the largest is the number of layers n or the first is not 1, else
  /// plus 1 (layers whose output is meant); without ids 2, n / 2 and n - 3. FailedPrecondition,
  /// with both values, if sizes do not fit the target. InvalidArgument for a tap not in [0, n], or
  /// another number of taps than fc joins.
  absl::Status FitTarget(const ModelConfig& target, std::optional<std::vector<int64_t>> given,
                         const std::string& path);
};

/// True if these are the weights of an EAGLE-3 head: the first layer has a norm of the feature.
bool IsEagle3(const WeightFiles& weights);

/// Reads the head in `source`, without its weights. InvalidArgument names the field, or the tensor
/// with its shape and bound. Unimplemented for relatives of EAGLE-3 that are not supported
/// (P-EAGLE, MLA layers), or for an unsupported field.
absl::StatusOr<Eagle3Config> ReadEagle3Config(const ModelSource& source);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_EAGLE3_CONFIG_H_

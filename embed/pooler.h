#ifndef SHORTLIST_EMBED_POOLER_H_
#define SHORTLIST_EMBED_POOLER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "embed/dense_layer.h"
#include "embed/hidden_states.h"
#include "embed/sequence_vectors.h"

namespace shortlist {

struct EmbeddingConfig;

/// What one sequence's vector is to be.
struct VectorRequest {
  int64_t dimensions = 0;         // how many are kept, in [1, Pooler::size()]; 0: all
  std::optional<bool> normalize;  // to length 1; nullopt: as the model says
  // Its leading tokens up to the end of its prompt, which do not count where the model leaves the
  // prompt out (Pooler::include_prompt).
  int64_t num_prompt_tokens = 0;
};

/// Makes one vector of each sequence's hidden states: pools them, applies the model's dense layers,
/// keeps the leading dimensions, normalises; in this order (Matryoshka Representation Learning,
/// Kusupati et al. 2022, slices first). Immutable; any thread may run it, each with its own
/// ThreadPool.
class Pooler {
 public:
  struct Options {
    Pooling pooling = Pooling::kMean;
    int64_t hidden = 0;              // of the states, at least 1
    bool include_prompt = true;      // false: tokens of the prompt do not count
    std::vector<DenseLayer> layers;  // the first takes `hidden` features, each what the last gives
    bool normalize = true;
  };

  /// InvalidArgument names the layer that does not fit.
  static absl::StatusOr<Pooler> Create(Options options);
  /// Reads the dense layers' weights. Errors as Checkpoint; ResourceExhausted when memory is out.
  static absl::StatusOr<Pooler> Load(const EmbeddingConfig& config, ThreadPool& pool);

  /// Dimensions of a whole vector.
  int64_t size() const;
  const Options& options() const { return options_; }

  /// requests: [num_seqs]; or empty: all as VectorRequest() says. states.hidden is the options'
  /// (checked invariant). A sequence that has no vector does not touch the others: InvalidArgument
  /// for dimensions out of range, or no token that counts; Internal where a hidden state, or what a
  /// layer makes of it, is NaN or infinite, and for a vector of zeros that is to be normalised. A
  /// vector has the same bits alone or in any batch, and with any number of threads.
  SequenceVectors Run(const HiddenStates& states, std::span<const VectorRequest> requests,
                      ThreadPool& pool) const;

 private:
  explicit Pooler(Options options) : options_(std::move(options)) {}

  Options options_;
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_POOLER_H_

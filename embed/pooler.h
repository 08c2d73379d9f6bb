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

/// The requested form of one sequence's vector.
struct VectorRequest {
  int64_t dimensions = 0;         // leading dimensions to keep, in [1, Pooler::size()]; 0: all
  std::optional<bool> normalize;  // to length 1; nullopt: as the model specifies
  // Leading tokens up to the end of the prompt. Pooling ignores them if the model excludes the
  // prompt (Pooler::Options::include_prompt).
  int64_t num_prompt_tokens = 0;
};

/// Makes one vector of each sequence's hidden states. In this order: pools the states, applies the
/// model's dense layers, keeps the leading dimensions, normalises (Matryoshka Representation
/// Learning, Kusupati et al. 2022, slices first). Immutable; thread-safe, if each thread uses its
/// own ThreadPool.
class Pooler {
 public:
  struct Options {
    Pooling pooling = Pooling::kMean;
    int64_t hidden = 0;          // size of a state, at least 1
    bool include_prompt = true;  // false: pooling ignores the prompt's tokens
    // the first takes `hidden` features, each other the previous one's outputs
    std::vector<DenseLayer> layers;
    bool normalize = true;
  };

  /// Returns InvalidArgument with the layer that does not fit.
  static absl::StatusOr<Pooler> Create(Options options);
  /// Reads the dense layers' weights. Errors as for Checkpoint; ResourceExhausted if out of memory.
  static absl::StatusOr<Pooler> Load(const EmbeddingConfig& config, ThreadPool& pool);

  /// Dimensions of a full vector.
  int64_t size() const;
  const Options& options() const { return options_; }

  /// requests: [num_seqs], or empty: VectorRequest() for all. states.hidden must be the options'
  /// (checked invariant). A failed sequence does not affect the others: InvalidArgument for
  /// dimensions out of range, or if all tokens are ignored; Internal if a hidden state or a layer's
  /// output is NaN or infinite, or if a vector of zeros must be normalised. A vector has the same
  /// bits alone or in any batch, and with any number of threads.
  SequenceVectors Run(const HiddenStates& states, std::span<const VectorRequest> requests,
                      ThreadPool& pool) const;

 private:
  explicit Pooler(Options options) : options_(std::move(options)) {}

  Options options_;
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_POOLER_H_

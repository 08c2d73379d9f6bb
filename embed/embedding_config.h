#ifndef SHORTLIST_EMBED_EMBEDDING_CONFIG_H_
#define SHORTLIST_EMBED_EMBEDDING_CONFIG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "embed/dense_layer.h"
#include "embed/hidden_states.h"
#include "embed/message_config.h"
#include "io/model_source.h"

namespace shortlist {

/// A Dense module whose weights are not read yet.
struct DenseModule {
  ModelSource source;  // of its config.json and weights
  DenseShape shape;
};

/// How a model makes sparse vectors (embed/sparse_pooler.h, embed/splade_pooler.h).
enum class SparseKind { kNone, kTokenWeights, kSplade };

/// How the vectors of a model are compared.
enum class Similarity { kCosine, kDot, kEuclidean, kManhattan };

/// Arguments of transformers' tokenizer that do not affect ids. nullopt: not given.
struct TokenizerArguments {
  std::optional<bool> truncates_left;     // false: a text that is too long loses its last tokens
  std::optional<bool> gives_token_types;  // for the tokens of a pair
};

/// How a model makes vectors of texts, read from its directory; every value is within its bounds.
struct EmbeddingConfig {
  ModelSource transformer;  // of the encoder's or decoder's config.json and weights

  // Outputs of one pass. kSplade: if the checkpoint has a masked language model's head.
  bool makes_dense = true;
  SparseKind sparse = SparseKind::kNone;
  bool makes_multi_vector = false;  // embed/multi_vector.h
  int64_t max_sparse_weights = 0;   // per sparse vector, if the request does not say; 0: all

  // Dense vectors.
  Pooling pooling = Pooling::kMean;
  int64_t hidden = 0;              // size of the pooled hidden states
  bool include_prompt = true;      // false: pooling ignores the prompt's tokens
  std::vector<DenseModule> dense;  // applied in this order
  bool normalize = true;           // scale vectors to length 1
  int64_t truncate_dim = 0;        // dimensions if the request does not say; 0: all

  // Longer texts are cut to this many tokens, including special ones; nullopt: to the limit of the
  // model's config.json.
  std::optional<int64_t> max_seq_len;
  bool do_lower_case = false;             // lower-case texts before tokenizing
  TokenizerArguments tokenizer;           // overrides tokenizer_config.json
  std::optional<MessageConfig> messages;  // nullopt: texts go to the tokenizer unchanged

  // Prompts by name; a prompt precedes a text. "query" and "document" always exist.
  std::map<std::string, std::string> prompts = {{"query", ""}, {"document", ""}};
  std::optional<std::string> default_prompt_name;  // key of `prompts`, if the request names none
  Similarity similarity = Similarity::kCosine;
};

/// Configuration of a sentence-transformers CrossEncoder, in addition to its classifier.
struct PairConfig {
  std::optional<int64_t> max_seq_len;  // see EmbeddingConfig
  bool do_lower_case = false;          // lower-case both texts before tokenizing
  TokenizerArguments tokenizer;        // overrides tokenizer_config.json
  std::string default_prompt;          // precedes the first text, if the request has no prompt
  // nullopt: texts go to the tokenizer unchanged. With `pairs_alone` (set by no file) pairs do too
  // if there is no chat template.
  std::optional<MessageConfig> messages;
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_EMBEDDING_CONFIG_H_

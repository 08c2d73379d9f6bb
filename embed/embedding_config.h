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

/// A Dense module, whose weights are yet to be read.
struct DenseModule {
  ModelSource source;  // of its config.json and weights
  DenseShape shape;
};

/// What a model's sparse vectors are made by (embed/sparse_pooler.h, embed/splade_pooler.h).
enum class SparseKind { kNone, kTokenWeights, kSplade };

/// How the vectors of a model are compared.
enum class Similarity { kCosine, kDot, kEuclidean, kManhattan };

/// Arguments of transformers' tokenizer, as far as they do not concern ids. nullopt: not given.
struct TokenizerArguments {
  std::optional<bool> truncates_left;     // false: a text that is too long loses its last tokens
  std::optional<bool> gives_token_types;  // to the tokens of a pair
};

/// What a model directory says about the way from text to vector, every value within its bounds.
struct EmbeddingConfig {
  ModelSource transformer;  // of the encoder's or decoder's config.json and weights

  // What it makes, of one pass. kSplade: where its checkpoint holds a masked language model's head.
  bool makes_dense = true;
  SparseKind sparse = SparseKind::kNone;
  bool makes_multi_vector = false;  // embed/multi_vector.h
  int64_t max_sparse_weights = 0;   // of a sparse vector where a request names none; 0: all

  // Of dense vectors.
  Pooling pooling = Pooling::kMean;
  int64_t hidden = 0;              // of the hidden states that are pooled
  bool include_prompt = true;      // false: tokens of the prompt are left out of the pooling
  std::vector<DenseModule> dense;  // applied in this order
  bool normalize = true;           // the vector to length 1
  int64_t truncate_dim = 0;        // dimensions where a request names none; 0: all

  // Longer texts are cut to so many tokens, special ones included; nullopt: to what the model's
  // config.json admits.
  std::optional<int64_t> max_seq_len;
  bool do_lower_case = false;             // the text, before the tokenizer gets it
  TokenizerArguments tokenizer;           // in place of tokenizer_config.json's
  std::optional<MessageConfig> messages;  // nullopt: texts go to the tokenizer as they are

  // Name -> what goes before a text. "query" and "document" are always there.
  std::map<std::string, std::string> prompts = {{"query", ""}, {"document", ""}};
  std::optional<std::string> default_prompt_name;  // one of them, where a request names none
  Similarity similarity = Similarity::kCosine;
};

/// What a sentence-transformers CrossEncoder's directory says beside its classifier.
struct PairConfig {
  std::optional<int64_t> max_seq_len;  // as EmbeddingConfig's
  bool do_lower_case = false;          // both texts, before the tokenizer gets them
  TokenizerArguments tokenizer;        // in place of tokenizer_config.json's
  std::string default_prompt;          // goes before the first text, where there is no other
  // nullopt: texts go to the tokenizer as they are. With `pairs_alone` (no file says it) they do so
  // as well where there is no chat template.
  std::optional<MessageConfig> messages;
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_EMBEDDING_CONFIG_H_

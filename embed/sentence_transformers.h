#ifndef SHORTLIST_EMBED_SENTENCE_TRANSFORMERS_H_
#define SHORTLIST_EMBED_SENTENCE_TRANSFORMERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "embed/embedding_config.h"

namespace shortlist {

/// How the model in the Hugging Face directory `dir` makes vectors, as sentence-transformers (2 to
/// 6) reads it: modules.json (a Transformer, a Pooling, any number of Dense, a Normalize, in this
/// order), their config.json, config_sentence_transformers.json, sentence_bert_config.json,
/// and tokenizer_config.json's model_max_length.
///
/// Without modules.json the architecture decides: BERT, XLM-RoBERTa and ModernBERT pool the first
/// token, Contriever the mean, decoders the last token; vectors are normalised.
///
/// No weights are read. InvalidArgument names file, field, value and bound; NotFound a file that is
/// missing; Unimplemented the module, mode or architecture that is not supported.
absl::StatusOr<EmbeddingConfig> ReadEmbeddingConfig(const std::string& dir);

/// What is said of the way from a pair of texts to a score, beside the classifier: the default
/// prompt of config_sentence_transformers.json, and the length as above. Errors likewise.
absl::StatusOr<PairConfig> ReadPairConfig(const std::string& dir);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_SENTENCE_TRANSFORMERS_H_

#ifndef SHORTLIST_EMBED_SENTENCE_TRANSFORMERS_H_
#define SHORTLIST_EMBED_SENTENCE_TRANSFORMERS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "embed/embedding_config.h"
#include "io/model_source.h"

namespace shortlist {

/// Reads how the model in the Hugging Face directory `source` makes vectors, as
/// sentence-transformers (2 to 6) does. Reads modules.json (a Transformer, a Pooling, any number of
/// Dense, a Normalize, in this order), their config.json, config_sentence_transformers.json,
/// sentence_bert_config.json, and tokenizer_config.json's model_max_length.
///
/// A SparseEncoder has a Transformer (or MLMTransformer) and a SpladePooling, and makes only sparse
/// vectors.
///
/// Without modules.json the architecture decides: BERT, DistilBERT, RoBERTa, XLM-RoBERTa and
/// ModernBERT pool the first token, Contriever the mean, decoders the last token. Vectors are
/// normalised. A model with a masked language model's head, such as published SPLADE models, also
/// makes sparse vectors.
///
/// sparse_linear.pt and colbert_linear.pt next to the transformer's weights enable sparse vectors
/// and multi-vectors, as in FlagEmbedding for bge-m3.
///
/// Reads only names and shapes of the weights. Returns InvalidArgument with file, field, value and
/// bound; NotFound with a missing file; Unimplemented with an unsupported module, mode or
/// architecture, and for an EAGLE-3 head.
absl::StatusOr<EmbeddingConfig> ReadEmbeddingConfig(const ModelSource& source);

/// Reads the tokens that frame a text, to which FlagEmbedding gives no weight in a sparse vector:
/// cls_token, eos_token, pad_token and unk_token of tokenizer_config.json and
/// special_tokens_map.json. Returns their spellings; nullopt if neither file names one;
/// InvalidArgument with file, field and value.
absl::StatusOr<std::optional<std::vector<std::string>>> ReadFramingTokens(
    const ModelSource& source);

/// Reads how a pair of texts becomes the input of a classifier. The default prompt is that of
/// config_sentence_transformers.json if that file is used (ReadCrossEncoderFile). Length, letter
/// case and tokenizer arguments are read as for ReadEmbeddingConfig(). Without modules.json, only
/// tokenizer_config.json gives the length, as in sentence-transformers. Errors as for
/// ReadEmbeddingConfig().
absl::StatusOr<PairConfig> ReadPairConfig(const ModelSource& source);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_SENTENCE_TRANSFORMERS_H_

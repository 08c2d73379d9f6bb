#ifndef SHORTLIST_EMBED_SENTENCE_TRANSFORMERS_H_
#define SHORTLIST_EMBED_SENTENCE_TRANSFORMERS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "embed/embedding_config.h"
#include "io/model_source.h"

namespace shortlist {

/// How the model in `source` makes vectors, as sentence-transformers (2 to
/// 6) reads it: modules.json (a Transformer, a Pooling, any number of Dense, a Normalize, in this
/// order), their config.json, config_sentence_transformers.json, sentence_bert_config.json,
/// and tokenizer_config.json's model_max_length.
///
/// A SparseEncoder has a Transformer (or MLMTransformer) and a SpladePooling, and makes sparse
/// vectors alone.
///
/// Without modules.json the architecture decides: BERT, XLM-RoBERTa and ModernBERT pool the first
/// token, Contriever the mean, decoders the last token; vectors are normalised. With a masked
/// language model's head, as published SPLADE models have it, there are sparse vectors too.
///
/// sparse_linear.pt and colbert_linear.pt beside the transformer's weights make sparse vectors and
/// multi-vectors, as FlagEmbedding has it for bge-m3.
///
/// Of the weights, names and shapes alone are read. InvalidArgument names file, field, value and
/// bound; NotFound a file that is missing; Unimplemented the module, mode or architecture that is
/// not supported, and an EAGLE-3 head.
absl::StatusOr<EmbeddingConfig> ReadEmbeddingConfig(const ModelSource& source);

/// The tokens that frame a text, which FlagEmbedding gives no weight in a sparse vector: cls_token,
/// eos_token, pad_token and unk_token of tokenizer_config.json and special_tokens_map.json, as they
/// are spelled. nullopt where neither names one. InvalidArgument names file, field and value.
absl::StatusOr<std::optional<std::vector<std::string>>> ReadFramingTokens(
    const ModelSource& source);

/// What is said of the way from a pair of texts to a score, in addition to the classifier: the
/// default prompt of config_sentence_transformers.json where that file counts
/// (ReadCrossEncoderFile), and length, letter case and the tokenizer's arguments as above. Without
/// modules.json tokenizer_config.json alone says the length, as in sentence-transformers. Errors as
/// above.
absl::StatusOr<PairConfig> ReadPairConfig(const ModelSource& source);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_SENTENCE_TRANSFORMERS_H_

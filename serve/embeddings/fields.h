#ifndef SHORTLIST_SERVE_EMBEDDINGS_FIELDS_H_
#define SHORTLIST_SERVE_EMBEDDINGS_FIELDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/http/json_fields.h"
#include "serve/served_encoder.h"
#include "serve/service.h"

namespace shortlist {

// Readers of fields that the routes of encoders share; errors stay with `fields`.

/// The encoder that "model" names, among those that make what is wanted; without a name, or for
/// "default", "unknown" or "default/not-specified", the first of them. An index into
/// Generator::Options::encoders.
/// FailedPrecondition names the flag that would load one where there is none; InvalidArgument for
/// the name of a model that does something else; NotFound (the code "model_not_found") for no
/// model's name.
absl::StatusOr<size_t> ReadEncoderModel(const Service& service, JsonFields& fields,
                                        ServedEncoder::Makes wanted);

/// The same for a model that ranks documents: one that makes scores, or else one that makes
/// multi-vectors, where it is named or there is no other.
absl::StatusOr<size_t> ReadRankingModel(const Service& service, JsonFields& fields);

/// `name`, which must be there: a text, a list of texts, a list of ids, or a list of such lists;
/// ids are below the encoder's vocab_size. In place of a text an item of ReadPictureItem.
void ReadEncodeSources(JsonFields& fields, const char* name, const ServedEncoder& encoder,
                       EncodeBatch& batch);

/// "documents", "texts" or "items" to be scored against `query` (null: as they are): a list, not
/// empty, of texts or of
/// {"text": ...}.
void ReadDocuments(JsonFields& fields, const char* name, std::shared_ptr<const std::string> query,
                   EncodeBatch& batch);

/// "truncate", which is also "truncation" where `has_truncation` (Voyage's name), and
/// "truncate_prompt_tokens" (-1: what the model takes), which truncates; from which end:
/// "truncation_side" or "truncation_direction". Fails where two of them contradict each other.
/// `truncates`: where nothing says otherwise.
EncodeCut ReadEncodeCut(JsonFields& fields, const ServedEncoder& encoder, bool truncates,
                        bool has_truncation = false);

/// What goes before each text: "instruction" itself, or the model's prompt called "prompt_name", or
/// that of "input_type", else the model's default.
std::string ReadInstruction(JsonFields& fields, const ServedEncoder& encoder);

/// "instruct" or "instruction" of a pair, which some models read.
std::string ReadPairInstruction(JsonFields& fields, const ServedEncoder& encoder);

/// "dimensions" and "normalize".
EncodeWish ReadVectorWish(JsonFields& fields, const ServedEncoder& encoder);

/// Fails on "model" where the encoder makes no dense vectors.
void RequireDense(JsonFields& fields, const ServedEncoder& encoder);

/// "embedding_types", a list of "dense" (the default), "sparse" and "colbert", and what
/// ReadSparseCut reads; into `wish`, of which "dimensions" has been read.
void ReadEmbeddingTypes(JsonFields& fields, const ServedEncoder& encoder, EncodeWish& wish);

/// "sparse_top_n" and "sparse_threshold" of an encoder that makes sparse vectors; fails on "model"
/// where it makes none.
void ReadSparseCut(JsonFields& fields, const ServedEncoder& encoder, EncodeWish& wish);

/// "encoding_format": true for base64, false for floats.
bool ReadEncodingFormat(JsonFields& fields);

/// "priority", and "rid" or "request_id"; a fresh one where there is none.
std::string ReadEncodeScheduling(JsonFields& fields, EncodeBatch& batch);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_EMBEDDINGS_FIELDS_H_

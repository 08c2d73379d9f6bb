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

// Readers of fields that several routes of encoders share. An error is recorded in `fields`.

/// Returns the encoder that "model" names, among those that make `wanted`, as an index into
/// Generator::Options::encoders. Without a name, or for "default", "unknown" or
/// "default/not-specified", returns the first of them. FailedPrecondition if none is loaded; names
/// the flag that loads one. InvalidArgument for the name of a model of another kind. NotFound (code
/// "model_not_found") for an unknown name.
absl::StatusOr<size_t> ReadEncoderModel(const Service& service, JsonFields& fields,
                                        ServedEncoder::Makes wanted);

/// Same as ReadEncoderModel(), but for a model that ranks documents: one that makes scores. One
/// that makes multi-vectors is used if it is named or there is no other.
absl::StatusOr<size_t> ReadRankingModel(const Service& service, JsonFields& fields);

/// Reads the required field `name` into batch.inputs: a text, a list of texts, a list of ids, or a
/// list of lists of ids. Ids are below the encoder's vocab_size. An item of ReadPictureItem() may
/// take the place of a text.
void ReadEncodeSources(JsonFields& fields, const char* name, const ServedEncoder& encoder,
                       EncodeBatch& batch);

/// Reads "documents", "texts" or "items" into batch.inputs: a list, not empty, of texts or {"text":
/// ...}. They are paired with `query` unless it is null.
void ReadDocuments(JsonFields& fields, const char* name, std::shared_ptr<const std::string> query,
                   EncodeBatch& batch);

/// Reads how long inputs are cut. "truncate" may also be called "truncation" if `has_truncation`
/// (Voyage's name). "truncate_prompt_tokens" truncates to its value (-1: the model's maximum).
/// "truncation_side" or "truncation_direction" is the end that is cut. Fields that contradict each
/// other are an error. `truncates` is the default.
EncodeCut ReadEncodeCut(JsonFields& fields, const ServedEncoder& encoder, bool truncates,
                        bool has_truncation = false);

/// Returns the text that goes before each input: "instruction" itself, or the model's prompt that
/// "prompt_name" or "input_type" names, else the model's default prompt.
std::string ReadInstruction(JsonFields& fields, const ServedEncoder& encoder);

/// Reads "instruct" (SGLang) or "instruction" of a pair, which some models accept. Empty: the
/// model's own. An empty "instruction" is an error, since other engines then leave the instruction
/// out.
std::string ReadPairInstruction(JsonFields& fields, const ServedEncoder& encoder);

/// Reads "dimensions" and "normalize".
EncodeWish ReadVectorWish(JsonFields& fields, const ServedEncoder& encoder);

/// Records an error of "model" if the encoder makes no dense vectors.
void RequireDense(JsonFields& fields, const ServedEncoder& encoder);

/// Reads "embedding_types", a list of "dense" (the default), "sparse" and "colbert", and the fields
/// of ReadSparseCut(), into `wish`. Precondition: "dimensions" was read into `wish`.
void ReadEmbeddingTypes(JsonFields& fields, const ServedEncoder& encoder, EncodeWish& wish);

/// Reads "sparse_top_n" and "sparse_threshold". Records an error of "model" if the encoder makes no
/// sparse vectors.
void ReadSparseCut(JsonFields& fields, const ServedEncoder& encoder, EncodeWish& wish);

/// Reads "encoding_format". Returns true for base64, false for floats.
bool ReadEncodingFormat(JsonFields& fields);

/// Reads "priority", and "rid" or "request_id". Returns the request id, a new one if there is none.
std::string ReadEncodeScheduling(JsonFields& fields, EncodeBatch& batch);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_EMBEDDINGS_FIELDS_H_

#ifndef SHORTLIST_SERVE_EMBEDDINGS_PICTURES_H_
#define SHORTLIST_SERVE_EMBEDDINGS_PICTURES_H_

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"
#include "serve/http/json_fields.h"
#include "serve/served_encoder.h"

namespace shortlist {

class Fetcher;

// Readers of pictures among the inputs of encoders. An error is recorded in `fields`.
// ServedEncoder::prepare decodes the pictures later.

/// Reads an item {"text", "image"} of a list of inputs, in SGLang's format. Exactly one of the two
/// must be present and not null. With a picture the text may also be empty or "padding", which
/// SGLang adds if there is none. Rejects videos and audio by name, and pictures if the encoder
/// reads none.
void ReadPictureItem(const nlohmann::json& item, const std::string& place,
                     const ServedEncoder& encoder, JsonFields& fields, EncodeSource& source);

/// Reads "image_data" of /encode: a picture, or a list with a picture or null for each text. "text"
/// is absent, or has as many entries; each is a text or, next to a picture, as in
/// ReadPictureItem().
void ReadImageData(JsonFields& fields, const ServedEncoder& encoder, EncodeBatch& batch);

/// Replaces each picture of the batch that is a web address by the file at that address, one at a
/// time. InvalidArgument if `fetcher` is null or an address is not allowed; also returns the errors
/// of Fetcher::Turn. Errors name the input, except those of Fetcher::Turn::Wait. On the I/O thread.
boost::asio::awaitable<absl::Status> FetchPictures(Fetcher* fetcher, const std::string& client,
                                                   EncodeBatch& batch);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_EMBEDDINGS_PICTURES_H_

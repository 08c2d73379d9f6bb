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

// Pictures among the inputs of encoders; errors stay with `fields`. The pictures themselves are
// read later, by ServedEncoder::prepare.

/// An item {"text", "image"} of a list of inputs, as SGLang has it: one of the two is there, and
/// the other absent or null. Beside a picture the text may also be "padding", which SGLang puts in
/// where it has none, or empty. Videos and audio are refused by name, and pictures where the
/// encoder reads none.
void ReadPictureItem(const nlohmann::json& item, const std::string& place,
                     const ServedEncoder& encoder, JsonFields& fields, EncodeSource& source);

/// "image_data" of /encode: a picture, or a list of one or null for each text. "text" is absent,
/// or has as many entries, each of which is a text or, beside a picture, as in ReadPictureItem.
void ReadImageData(JsonFields& fields, const ServedEncoder& encoder, EncodeBatch& batch);

/// Puts what addresses hold in the place of those that are pictures of the batch, one after the
/// other. An error names the input: InvalidArgument where `fetcher` is null, and those of
/// Fetcher::Turn. On the I/O thread.
boost::asio::awaitable<absl::Status> FetchPictures(Fetcher* fetcher, const std::string& client,
                                                   EncodeBatch& batch);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_EMBEDDINGS_PICTURES_H_

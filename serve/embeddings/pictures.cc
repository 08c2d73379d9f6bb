#include "serve/embeddings/pictures.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/counted.h"
#include "nlohmann/json.hpp"
#include "serve/http/fetcher.h"
#include "serve/http/url.h"
#include "serve/live_encoding.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr size_t kMaxAddresses = 64;    // of a request, fetched one at a time
constexpr char kPadding[] = "padding";  // what SGLang sends for a text that is null

/// Sets `source` from the two parts of an input; null: missing. `text_place` and `picture_place`
/// are their names in errors.
void ReadParts(const json* text, const json* picture, const std::string& text_place,
               const std::string& picture_place, const ServedEncoder& encoder, JsonFields& fields,
               EncodeSource& source) {
  if (text != nullptr && text->is_null()) text = nullptr;
  if (picture != nullptr && picture->is_null()) picture = nullptr;
  if (text != nullptr && !text->is_string()) return fields.Fail(text_place, "not a text");
  if (picture == nullptr) {
    if (text == nullptr) return fields.Fail(text_place, "neither a text nor a picture is there");
    source.text = text->get<std::string>();
    if (source.text.size() > Tokenizer::kMaxTextBytes) {
      fields.Fail(text_place,
                  absl::StrCat(source.text.size(), " bytes, more than ", Tokenizer::kMaxTextBytes));
    }
    return;
  }
  if (!encoder.reads_pictures) {
    return fields.Fail(picture_place,
                       absl::StrCat("`", encoder.name, "` reads texts, and no pictures"));
  }
  if (!picture->is_string() || picture->get_ref<const std::string&>().empty()) {
    return fields.Fail(picture_place, "not a picture in base64 or a data: URI");
  }
  if (text != nullptr && *text != kPadding && *text != "") {
    return fields.Fail(text_place, absl::StrCat("with a picture: `", encoder.name,
                                                "` makes a vector of either, so send two inputs"));
  }
  source.picture = picture->get<std::string>();
}

/// Returns entry i of a list; a value that is not a list is returned itself.
const json* EntryOf(const json* value, size_t i) {
  return value != nullptr && value->is_array() ? &(*value)[i] : value;
}

}  // namespace

void ReadPictureItem(const json& item, const std::string& place, const ServedEncoder& encoder,
                     JsonFields& fields, EncodeSource& source) {
  JsonFields members(item, place + ".");
  const json* const text = members.Find("text");
  const json* const picture = members.Find("image");
  members.Refuse({"video", "audio"}, "not supported");
  members.RefuseUnknown();
  if (members.status().ok()) {
    ReadParts(text, picture, "text", "image", encoder, members, source);
  }
  fields.Take(members.status());
}

void ReadImageData(JsonFields& fields, const ServedEncoder& encoder, EncodeBatch& batch) {
  const json* const pictures = fields.Find("image_data");
  const json* const texts = fields.Find("text");
  if (pictures == nullptr) return fields.Fail("image_data", "missing");
  const bool lists_texts = texts != nullptr && texts->is_array();
  batch.field = "image_data";
  batch.is_list = lists_texts || (texts == nullptr && pictures->is_array());
  // One text may come with a list of one picture.
  const size_t count = pictures->is_array() ? pictures->size() : 1;
  const size_t num_texts = lists_texts ? texts->size() : 1;
  if (count == 0) return fields.Fail("image_data", "a list that is empty");
  if (texts != nullptr && num_texts != count) {
    return fields.Fail("image_data",
                       absl::StrCat(Counted(static_cast<int64_t>(count), "picture"), " for ",
                                    Counted(static_cast<int64_t>(num_texts), "text")));
  }
  batch.inputs.resize(count);
  for (size_t i = 0; i < count && fields.status().ok(); ++i) {
    const auto place = [i](const char* name, const json* value) {
      return value != nullptr && value->is_array() ? absl::StrCat(name, "[", i, "]")
                                                   : std::string(name);
    };
    ReadParts(EntryOf(texts, i), EntryOf(pictures, i), place("text", texts),
              place("image_data", pictures), encoder, fields, batch.inputs[i]);
  }
}

boost::asio::awaitable<absl::Status> FetchPictures(Fetcher* fetcher, const std::string& client,
                                                   EncodeBatch& batch) {
  // Checks all addresses before fetching the first.
  std::vector<size_t> addresses;
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    const std::string& picture = batch.inputs[i].picture;
    if (!WebUrl::Begins(picture)) continue;
    absl::Status status;
    if (fetcher == nullptr) {
      status = absl::InvalidArgumentError(
          absl::StrCat("an address (", picture.substr(0, picture.find(':') + 1),
                       "), which is not fetched without --image-url-hosts: send base64 or a data: "
                       "URI"));
    } else if (addresses.size() == kMaxAddresses) {
      status = absl::InvalidArgumentError(
          absl::StrCat("an address more than the ", kMaxAddresses, " of a request"));
    } else {
      status = fetcher->Check(picture);
    }
    if (!status.ok()) co_return OfInput(batch, i, status);
    addresses.push_back(i);
  }
  if (addresses.empty()) co_return absl::OkStatus();
  Fetcher::Turn turn(*fetcher, client);
  absl::Status waited = co_await turn.Wait();
  if (!waited.ok()) co_return waited;
  for (const size_t i : addresses) {
    EncodeSource& source = batch.inputs[i];
    absl::StatusOr<std::string> file = co_await turn.Get(source.picture);
    if (!file.ok()) co_return OfInput(batch, i, file.status());
    if (file->empty()) {
      co_return OfInput(batch, i, absl::InvalidArgumentError("an empty picture"));
    }
    source.picture = *std::move(file);
    source.picture_is_file = true;
  }
  co_return absl::OkStatus();
}

}  // namespace shortlist

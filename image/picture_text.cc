#include "image/picture_text.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "image/decode.h"

namespace shortlist {
namespace {

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

bool BeginsWith(std::string_view text, std::string_view prefix) {
  return absl::StartsWithIgnoreCase(Absl(text), Absl(prefix));
}

/// Returns the part of a data: URI after the comma.
absl::StatusOr<std::string_view> DataOfUri(std::string_view uri) {
  constexpr size_t kMostHeader = 256;
  const size_t comma = uri.substr(0, kMostHeader).find(',');
  if (comma == std::string_view::npos) {
    return absl::InvalidArgumentError("a data: URI without a comma");
  }
  std::string_view header = uri.substr(std::string_view("data:").size());
  header = header.substr(0, comma - std::string_view("data:").size());
  const std::string_view type = header.substr(0, header.find(';'));
  if (!type.empty() && !BeginsWith(type, "image/") &&
      !absl::EqualsIgnoreCase(Absl(type), "application/octet-stream")) {
    return absl::InvalidArgumentError(
        absl::StrCat("a data: URI of ", absl::CHexEscape(Absl(type)), ", where images are read"));
  }
  if (!absl::EndsWithIgnoreCase(Absl(header), ";base64")) {
    return absl::InvalidArgumentError("a data: URI that is not in base64");
  }
  return uri.substr(comma + 1);
}

}  // namespace

absl::StatusOr<std::string> ReadPictureText(std::string_view text) {
  for (const char* scheme : {"http:", "https:", "ftp:", "file:", "s3:"}) {
    if (!BeginsWith(text, scheme)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "an address (", scheme, "), which is not fetched: send base64 or a data: URI"));
  }
  if (BeginsWith(text, "data:")) {
    const absl::StatusOr<std::string_view> data = DataOfUri(text);
    if (!data.ok()) return data.status();
    text = *data;
  }
  // Four characters for three bytes, and some line breaks.
  constexpr size_t kMostText = static_cast<size_t>(kMaxPictureBytes) / 3 * 4 * 80 / 76;
  if (text.size() > kMostText) {
    return absl::InvalidArgumentError(
        absl::StrCat("a picture of ", text.size(), " characters of base64, more than ", kMostText));
  }
  std::string bytes;
  if (!absl::Base64Unescape(Absl(text), &bytes)) {
    return absl::InvalidArgumentError("neither base64 nor a data: URI");
  }
  if (bytes.empty()) return absl::InvalidArgumentError("an empty picture");
  return bytes;
}

}  // namespace shortlist

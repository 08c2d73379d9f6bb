#ifndef SHORTLIST_IMAGE_PICTURE_TEXT_H_
#define SHORTLIST_IMAGE_PICTURE_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace shortlist {

/// Returns the bytes of a picture that a client sends as text: base64, or a data: URI (RFC 2397) in
/// base64. InvalidArgument for a text that is too long (kMaxPictureBytes) or not base64, a media
/// type other than an image (video, audio), and an address or a path: nothing is fetched here.
absl::StatusOr<std::string> ReadPictureText(std::string_view text);

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_PICTURE_TEXT_H_

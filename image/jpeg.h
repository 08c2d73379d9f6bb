#ifndef SHORTLIST_IMAGE_JPEG_H_
#define SHORTLIST_IMAGE_JPEG_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "image/picture.h"

namespace shortlist {

/// DecodePicture() for a file with the signature of a JPEG. Throws std::bad_alloc.
absl::StatusOr<Picture> DecodeJpeg(std::string_view bytes);

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_JPEG_H_

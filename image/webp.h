#ifndef SHORTLIST_IMAGE_WEBP_H_
#define SHORTLIST_IMAGE_WEBP_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "image/picture.h"

namespace shortlist {

/// DecodePicture() for a file with the signature of a WebP. Throws std::bad_alloc.
absl::StatusOr<Picture> DecodeWebp(std::string_view bytes);

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_WEBP_H_

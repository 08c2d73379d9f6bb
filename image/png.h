#ifndef SHORTLIST_IMAGE_PNG_H_
#define SHORTLIST_IMAGE_PNG_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "image/picture.h"

namespace shortlist {

/// DecodePicture() for a file with the signature of a PNG. Throws std::bad_alloc.
absl::StatusOr<Picture> DecodePng(std::string_view bytes);

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_PNG_H_

#ifndef SHORTLIST_CLI_PICTURE_READER_H_
#define SHORTLIST_CLI_PICTURE_READER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "image/picture_processor.h"
#include "request/encoding.h"
#include "runtime/encoding_model.h"

namespace shortlist {

/// Converts pictures in files and base64 to model input. Immutable; thread-safe.
class PictureReader {
 public:
  /// `model` must read pictures (EncodingModel::clip). Errors as PictureProcessor::Read, and
  /// InvalidArgument if its output size differs from the model's input size.
  static absl::StatusOr<PictureReader> Open(const EncodingModel& model);

  /// Errors as DecodePicture.
  absl::StatusOr<EncodeInput> Read(std::string_view bytes) const;
  /// `text` is base64 or a data: URI. Errors as ReadPictureText and DecodePicture.
  absl::StatusOr<EncodeInput> ReadText(std::string_view text) const;
  /// Reads a file. Errors as ReadFile and DecodePicture.
  absl::StatusOr<EncodeInput> ReadPath(const std::string& path) const;

 private:
  PictureReader(PictureProcessor processor, int64_t num_tokens)
      : processor_(std::move(processor)), num_tokens_(num_tokens) {}

  PictureProcessor processor_;
  int64_t num_tokens_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_PICTURE_READER_H_

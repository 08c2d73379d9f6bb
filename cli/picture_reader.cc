#include "cli/picture_reader.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "image/decode.h"
#include "image/picture_text.h"

namespace shortlist {

absl::StatusOr<PictureReader> PictureReader::Open(const EncodingModel& model) {
  SHORTLIST_CHECK(model.clip() != nullptr);
  const ClipConfig& config = *model.clip();
  SHORTLIST_ASSIGN_OR_RETURN(PictureProcessor processor, PictureProcessor::Read(model.source()));
  if (processor.width() != config.picture_size || processor.height() != config.picture_size) {
    return absl::InvalidArgumentError(absl::StrCat(
        model.source().path(), ": the processor makes pictures of ", processor.width(), " x ",
        processor.height(), ", the model reads ", config.picture_size, " x ", config.picture_size));
  }
  return PictureReader(std::move(processor), config.picture_tokens());
}

absl::StatusOr<EncodeInput> PictureReader::Read(std::string_view bytes) const {
  SHORTLIST_ASSIGN_OR_RETURN(const Picture picture, DecodePicture(bytes));
  EncodeInput input;
  input.ids.resize(static_cast<size_t>(num_tokens_));
  input.picture = std::make_shared<const PicturePixels>(
      PicturePixels{.rgb = processor_.Apply(picture), .values = processor_.values()});
  return input;
}

absl::StatusOr<EncodeInput> PictureReader::ReadText(std::string_view text) const {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string bytes, ReadPictureText(text));
  return Read(bytes);
}

absl::StatusOr<EncodeInput> PictureReader::ReadPath(const std::string& path) const {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxPictureBytes));
  absl::StatusOr<EncodeInput> input = Read(bytes);
  if (input.ok()) return input;
  return absl::Status(input.status().code(), absl::StrCat(path, ": ", input.status().message()));
}

}  // namespace shortlist

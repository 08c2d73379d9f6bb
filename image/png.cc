#include "image/png.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "image/decode.h"
#include "image/over_white.h"
#include "image/png_chunks.h"

namespace shortlist {
namespace {

/// libpng's state. Its errors leave by longjmp, which runs no destructors. So each step below is a
/// function without objects to destroy, in its own frame and in those of its callees.
struct PngReader {
  const char* bytes = nullptr;
  size_t size = 0;
  size_t at = 0;
  int64_t num_rows = kMaxPixels;
  png_structp png = nullptr;
  png_infop info = nullptr;
  char message[128] = "out of memory";

  PngReader() = default;
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }

  absl::Status Error() const { return absl::InvalidArgumentError(absl::StrCat("PNG: ", message)); }
};

[[noreturn]] void Leave(png_structp png, png_const_charp message) {
  auto& reader = *static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(reader.message, sizeof(reader.message), "%s", message);
  png_longjmp(png, 1);
}

void Ignore(png_structp, png_const_charp) {}

/// True after the last row of the last pass.
bool HasAllRows(const PngReader& reader) {
  constexpr int kNumInterlacedPasses = 7;
  return png_get_current_row_number(reader.png) >= reader.num_rows ||
         png_get_current_pass_number(reader.png) >= kNumInterlacedPasses;
}

void Read(png_structp png, png_bytep out, size_t size) {
  auto& reader = *static_cast<PngReader*>(png_get_io_ptr(png));
  // libpng unpacks what follows the last row, up to a thousand times the size of the file.
  if (HasAllRows(reader)) png_error(png, "more than the rows");
  if (size > reader.size - reader.at) png_error(png, "truncated");
  std::memcpy(out, reader.bytes + reader.at, size);
  reader.at += size;
}

/// Returns false if memory is exhausted or the header is wrong.
bool ReadHeader(PngReader& reader) {
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, Leave, Ignore);
  if (reader.png == nullptr) return false;
  reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) return false;
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  // ReadPngChunks has checked those that count.
  png_set_crc_action(reader.png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
  // CheckPictureSize has checked the size. libpng's own limit is a million for each side.
  png_set_user_limits(reader.png, kMaxPixels, kMaxPixels);
  png_set_read_fn(reader.png, &reader, Read);
  png_read_info(reader.png, reader.info);
  return true;
}

/// Format of a pixel.
struct Layout {
  bool is_deep_grey = false;  // of 16 bits
  bool has_alpha = false;     // its own, or by its colour in the palette
};

Layout LayoutOf(const PngReader& reader, bool has_clear_entries) {
  const int color = png_get_color_type(reader.png, reader.info);
  return {.is_deep_grey =
              color == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(reader.png, reader.info) == 16,
          .has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0 ||
                       (color == PNG_COLOR_TYPE_PALETTE && has_clear_entries)};
}

/// Sets libpng's output: RGB of 8 bits, with alpha if the picture has it, or 16-bit grey unchanged.
bool Prepare(PngReader& reader, bool is_deep_grey) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_structp png = reader.png;
  if (is_deep_grey) {
    png_set_swap(png);
    return true;
  }
  if (png_get_color_type(png, reader.info) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  png_set_expand_gray_1_2_4_to_8(png);
  png_set_strip_16(png);
  png_set_gray_to_rgb(png);
  return true;
}

/// An error after the last row is ignored: libpng looks for the end of the packed bytes, PIL does
/// not.
bool ReadRows(PngReader& reader, uint8_t* rows, int64_t stride, size_t row_bytes) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return HasAllRows(reader);
  const int num_passes = png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  if (png_get_rowbytes(reader.png, reader.info) != row_bytes) {
    png_error(reader.png, "rows of an unknown kind");
  }
  for (int pass = 0; pass < num_passes; ++pass) {
    for (int64_t y = 0; y < reader.num_rows; ++y)
      png_read_row(reader.png, rows + y * stride, nullptr);
  }
  return true;
}

/// row: [width, 3]. Its first 2 * width bytes are values of 16 bits.
void DeepGreyToRgb(uint8_t* row, int64_t width) {
  for (int64_t x = width - 1; x >= 0; --x) {
    uint16_t value = 0;
    std::memcpy(&value, row + 2 * x, sizeof(value));
    std::fill_n(row + 3 * x, 3, static_cast<uint8_t>(std::min<uint16_t>(value, 255)));
  }
}

/// Returns a number of the first chunk, IHDR, at a fixed offset.
int64_t HeaderNumber(std::string_view bytes, size_t at) {
  int64_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

}  // namespace

absl::StatusOr<Picture> DecodePng(std::string_view bytes) {
  constexpr size_t kTypeAt = 12, kWidthAt = 16, kHeightAt = 20, kHeaderEnd = 24;
  if (bytes.size() < kHeaderEnd) return absl::InvalidArgumentError("PNG: truncated");
  // libpng would skip other chunks before IHDR; the bytes here would then not be the size.
  if (bytes.substr(kTypeAt, 4) != "IHDR") {
    return absl::InvalidArgumentError("PNG: the first chunk is not IHDR");
  }
  Picture picture{
      .width = HeaderNumber(bytes, kWidthAt), .height = HeaderNumber(bytes, kHeightAt), .rgb = {}};
  SHORTLIST_RETURN_IF_ERROR(CheckPictureSize("PNG", picture.width, picture.height));
  SHORTLIST_ASSIGN_OR_RETURN(const PngChunks chunks, ReadPngChunks(bytes));
  PngReader reader;
  reader.bytes = chunks.file.data();
  reader.size = chunks.file.size();
  if (!ReadHeader(reader)) return reader.Error();
  if (png_get_image_width(reader.png, reader.info) != picture.width ||
      png_get_image_height(reader.png, reader.info) != picture.height) {
    return absl::InvalidArgumentError("PNG: two sizes");
  }
  const Layout layout = LayoutOf(reader, chunks.has_clear_entries);
  if (!Prepare(reader, layout.is_deep_grey)) return reader.Error();
  const int64_t stride = picture.width * (layout.has_alpha ? 4 : 3);
  picture.rgb.resize(static_cast<size_t>(stride * picture.height));
  const auto row_bytes = static_cast<size_t>(layout.is_deep_grey ? picture.width * 2 : stride);
  reader.num_rows = picture.height;
  if (!ReadRows(reader, picture.rgb.data(), stride, row_bytes)) return reader.Error();
  for (int64_t y = 0; layout.is_deep_grey && y < picture.height; ++y) {
    DeepGreyToRgb(picture.rgb.data() + y * stride, picture.width);
  }
  if (layout.has_alpha) PutOverWhite(picture.rgb);
  if (chunks.see_through) WhitenColor(*chunks.see_through, picture.rgb);
  return picture;
}

}  // namespace shortlist

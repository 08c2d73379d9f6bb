#include "image/jpeg.h"

#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>  // needed by jpeglib.h
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "image/decode.h"

namespace shortlist {
namespace {

/// An ordinary progressive file has about ten scans. Each is a pass over all coefficients, so large
/// pictures may have fewer.
constexpr int kMaxScans = 64;
constexpr int64_t kMaxScannedPixels = 16 * kMaxPixels;

/// libjpeg's state. Its errors leave by longjmp, which runs no destructors. So each step below is a
/// function without objects to destroy, in its own frame and in those of its callees.
struct JpegReader {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  jmp_buf escape;
  char message[JMSG_LENGTH_MAX] = "";
  bool has_all_rows = false;

  JpegReader() = default;
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&info); }

  absl::Status Error() const { return absl::InvalidArgumentError(absl::StrCat("JPEG: ", message)); }
};

[[noreturn]] void Leave(j_common_ptr info) {
  auto& reader = *static_cast<JpegReader*>(info->client_data);
  info->err->format_message(info, reader.message);
  std::longjmp(reader.escape, 1);
}

/// libjpeg warns about data that can still be decoded, as PIL does. But if the file ends before the
/// last row, libjpeg would continue with grey.
void Warn(j_common_ptr info, int level) {
  const auto& reader = *static_cast<const JpegReader*>(info->client_data);
  const bool ends_early = level < 0 && info->err->msg_code == JWRN_JPEG_EOF;
  if (ends_early && !reader.has_all_rows) Leave(info);
}

/// Returns the number of scans, without decoding them.
int64_t NumScans(std::string_view bytes) {
  constexpr unsigned char kMark = 0xff, kFirstWithLength = 0xc0, kEnd = 0xd9, kScan = 0xda;
  int64_t num_scans = 0;
  size_t at = bytes.find(static_cast<char>(kMark));
  while (at != std::string_view::npos && at + 3 < bytes.size()) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
    const unsigned char mark = byte(1);
    if (mark == kEnd) break;
    if (mark == kScan) ++num_scans;
    // 0 follows a byte of data, kMark another mark, and 0xd0 to 0xd8 have no length.
    const bool has_length =
        mark >= kFirstWithLength && mark != kMark && (mark < 0xd0 || mark > 0xd8);
    const size_t length = has_length ? 2 + (byte(2) << 8 | byte(3)) : mark == kMark ? 1 : 2;
    at = bytes.find(static_cast<char>(kMark), at + length);
  }
  return num_scans;
}

void CountScans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
  auto& reader = *static_cast<JpegReader*>(info->client_data);
  std::snprintf(reader.message, sizeof(reader.message), "more than %d scans", kMaxScans);
  std::longjmp(reader.escape, 1);
}

bool ReadHeader(JpegReader& reader, const char* bytes, size_t size) {
  jpeg_decompress_struct& info = reader.info;
  info.err = jpeg_std_error(&reader.errors);
  info.client_data = &reader;
  reader.errors.error_exit = Leave;
  reader.errors.emit_message = Warn;
  reader.errors.output_message = [](j_common_ptr) {};
  if (setjmp(reader.escape) != 0) return false;
  jpeg_create_decompress(&info);
  info.mem->max_memory_to_use = kMaxJpegBytes;
  reader.progress.progress_monitor = CountScans;
  info.progress = &reader.progress;
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes), size);
  jpeg_read_header(&info, TRUE);
  return true;
}

bool Start(JpegReader& reader) {
  if (setjmp(reader.escape) != 0) return false;
  jpeg_start_decompress(&reader.info);
  return true;
}

bool ReadRow(JpegReader& reader, uint8_t* row) {
  if (setjmp(reader.escape) != 0) return false;
  JSAMPROW rows[] = {row};
  jpeg_read_scanlines(&reader.info, rows, 1);
  return true;
}

/// Reads the rest after the last row and fails if it is broken. As in PIL, the file may also end
/// there without its end marker.
bool Finish(JpegReader& reader) {
  reader.has_all_rows = true;
  if (setjmp(reader.escape) != 0) return false;
  jpeg_finish_decompress(&reader.info);
  return true;
}

/// Returns a * b / 255, rounded as in PIL.
int MultiplyBytes(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

/// cmyk: [width, 4], inverted.
void CmykToRgb(const uint8_t* cmyk, int64_t width, uint8_t* rgb) {
  for (int64_t x = 0; x < width; ++x) {
    const int white = cmyk[4 * x + 3];
    for (int64_t c = 0; c < 3; ++c) {
      rgb[3 * x + c] = static_cast<uint8_t>(white - MultiplyBytes(255 - cmyk[4 * x + c], white));
    }
  }
}

}  // namespace

absl::StatusOr<Picture> DecodeJpeg(std::string_view bytes) {
  JpegReader reader;
  if (!ReadHeader(reader, bytes.data(), bytes.size())) return reader.Error();
  jpeg_decompress_struct& info = reader.info;
  const int num_channels = info.num_components;
  if (num_channels != 1 && num_channels != 3 && num_channels != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("JPEG: ", num_channels, " channels, where 1, 3 and 4 are known"));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckPictureSize("JPEG", info.image_width, info.image_height));
  const int64_t max_scans = std::min<int64_t>(
      kMaxScans, kMaxScannedPixels / (int64_t{info.image_width} * info.image_height));
  if (NumScans(bytes) > max_scans) {
    return absl::InvalidArgumentError(absl::StrCat("JPEG: more than ", max_scans, " scans"));
  }
  const bool is_cmyk = num_channels == 4;
  info.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
  if (!Start(reader)) return reader.Error();
  Picture picture{.width = info.image_width, .height = info.image_height, .rgb = {}};
  picture.rgb.resize(static_cast<size_t>(picture.width * picture.height * 3));
  std::vector<uint8_t> cmyk(is_cmyk ? static_cast<size_t>(picture.width * 4) : 0);
  for (int64_t y = 0; y < picture.height; ++y) {
    uint8_t* const row = picture.rgb.data() + y * picture.width * 3;
    if (!ReadRow(reader, is_cmyk ? cmyk.data() : row)) return reader.Error();
    if (is_cmyk) CmykToRgb(cmyk.data(), picture.width, row);
  }
  if (!Finish(reader)) return reader.Error();
  return picture;
}

}  // namespace shortlist

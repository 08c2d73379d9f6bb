#include "image/png_chunks.h"

#include <zlib.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

constexpr size_t kSignature = 8, kFrame = 8, kChecksum = 4, kHeaderBytes = 13;
constexpr size_t kMaxEntries = 256;
enum ColorType { kGrey = 0, kRgb = 2, kPalette = 3 };

absl::Status Refuse(const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat("PNG: ", problem));
}

uint32_t BigEndian(std::string_view bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

void Append(std::string_view kind, std::string_view data, std::string& file) {
  const auto size = static_cast<uint32_t>(data.size());
  for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<char>(size >> shift));
  file.append(kind).append(data).append(kChecksum, '\0');
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<PngChunks> Read() {
    SHORTLIST_RETURN_IF_ERROR(ReadToPixels());
    std::string pixels;
    ReadPixels(pixels);
    SHORTLIST_RETURN_IF_ERROR(ReadToEnd());
    PngChunks chunks;
    chunks.file = bytes_.substr(0, kSignature);
    Append("IHDR", header_, chunks.file);
    if (color_ == kPalette) {
      AppendPalette(chunks.file);
      chunks.has_clear_entries = transparency_.has_value();
    } else {
      chunks.see_through = SeeThrough();
    }
    Append("IDAT", pixels, chunks.file);
    Append("IEND", "", chunks.file);
    return chunks;
  }

 private:
  struct Chunk {
    std::string_view kind;
    size_t size = 0;        // as stated in the chunk
    std::string_view data;  // shorter if the file ends early
    bool is_whole() const { return data.size() == size; }
  };

  /// Reads the next chunk up to its checksum; returns nullopt if no chunk begins here.
  std::optional<Chunk> Next() {
    if (bytes_.size() - at_ < kFrame) return std::nullopt;
    Chunk chunk{.kind = bytes_.substr(at_ + 4, 4), .size = BigEndian(bytes_, at_), .data = {}};
    const auto names = [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    if (!std::ranges::all_of(chunk.kind, names)) return std::nullopt;
    at_ += kFrame;
    chunk.data = bytes_.substr(at_, chunk.size);
    at_ += chunk.data.size();
    return chunk;
  }

  void SkipChecksum() { at_ += std::min(kChecksum, bytes_.size() - at_); }

  absl::Status ReadToPixels() {
    at_ = kSignature;
    while (true) {
      const size_t begin = at_;
      const std::optional<Chunk> chunk = Next();
      if (!chunk) return Refuse(bytes_.size() - at_ < kFrame ? "truncated" : "a broken chunk");
      if (chunk->kind == "IDAT") {
        at_ = begin;
        return absl::OkStatus();
      }
      if (chunk->kind == "IEND") return Refuse("no pixels");
      if (!chunk->is_whole() || bytes_.size() - at_ < kChecksum) return Refuse("truncated");
      const auto* const summed = reinterpret_cast<const Bytef*>(chunk->kind.data());
      const auto num_summed = static_cast<uInt>(chunk->kind.size() + chunk->size);
      if (crc32(0, summed, num_summed) != BigEndian(bytes_, at_)) {
        return Refuse(std::string(chunk->kind) + ": CRC error");
      }
      at_ += kChecksum;
      SHORTLIST_RETURN_IF_ERROR(TakeHeader(*chunk));
      if (chunk->kind == "PLTE") palette_ = chunk->data;
      if (chunk->kind == "acTL" && chunk->size >= 8) {
        is_animated_ = BigEndian(chunk->data, 0) > 1;
      }
      if (chunk->kind == "tRNS") SHORTLIST_RETURN_IF_ERROR(TakeTransparency(chunk->data));
    }
  }

  absl::Status TakeHeader(const Chunk& chunk) {
    if (chunk.kind != "IHDR") {
      return header_.empty() ? Refuse("the first chunk is not IHDR") : absl::OkStatus();
    }
    if (!header_.empty()) return Refuse("two headers");
    if (chunk.size != kHeaderBytes) return Refuse("IHDR: not 13 bytes");
    header_ = chunk.data;
    depth_ = static_cast<uint8_t>(header_[8]);
    color_ = static_cast<uint8_t>(header_[9]);
    return absl::OkStatus();
  }

  void ReadPixels(std::string& pixels) {
    while (true) {
      const size_t begin = at_;
      const std::optional<Chunk> chunk = Next();
      if (!chunk || chunk->kind != "IDAT") {
        at_ = begin;
        return;
      }
      pixels.append(chunk->data);
      SkipChecksum();
    }
  }

  absl::Status ReadToEnd() {
    while (const std::optional<Chunk> chunk = Next()) {
      if (chunk->kind == "IEND" || (chunk->kind == "fcTL" && is_animated_)) break;
      if (!chunk->is_whole()) return Refuse("truncated");
      if (chunk->kind == "tRNS") SHORTLIST_RETURN_IF_ERROR(TakeTransparency(chunk->data));
      SkipChecksum();
    }
    if (color_ != kPalette || !transparency_) return absl::OkStatus();
    if (!ClearEntry() && transparency_->size() > kMaxEntries) {
      return Refuse("tRNS: more than 256 entries");
    }
    return ClearEntry().value_or(0) < kMaxEntries ? absl::OkStatus()
                                                  : Refuse("tRNS: more than 256 entries");
  }

  absl::Status TakeTransparency(std::string_view data) {
    const size_t least = color_ == kRgb ? 6 : color_ == kGrey ? 2 : 0;
    if (data.size() < least) return Refuse("tRNS: truncated");
    transparency_ = data;
    return absl::OkStatus();
  }

  /// Returns the only transparent entry if all other given entries are opaque. PIL then ignores a
  /// line feed at the end.
  std::optional<size_t> ClearEntry() const {
    std::string_view alphas = *transparency_;
    if (!alphas.empty() && alphas.back() == '\n') alphas.remove_suffix(1);
    const size_t clear = alphas.find('\0');
    const bool is_alone = clear != alphas.npos && std::ranges::count(alphas, '\xff') + 1 ==
                                                      static_cast<int64_t>(alphas.size());
    return is_alone ? std::optional(clear) : std::nullopt;
  }

  void AppendPalette(std::string& file) const {
    if (palette_.size() < 3) return;  // libpng then reports that it is missing
    const size_t num_entries = depth_ <= 8 ? size_t{1} << depth_ : kMaxEntries;
    std::string palette(palette_.substr(0, palette_.size() / 3 * 3));
    if (palette.size() < 3 * num_entries) palette.resize(3 * num_entries, '\0');
    Append("PLTE", palette, file);
    if (!transparency_) return;
    std::string alphas(*transparency_);
    if (const std::optional<size_t> clear = ClearEntry()) {
      alphas.assign(*clear, '\xff');
      alphas.push_back('\0');
    }
    alphas.resize(num_entries, '\xff');
    Append("tRNS", alphas, file);
  }

  std::optional<std::array<uint8_t, 3>> SeeThrough() const {
    if (!transparency_ || (color_ != kGrey && color_ != kRgb)) return std::nullopt;
    const auto low = [this](size_t channel) {
      return static_cast<uint8_t>((*transparency_)[2 * channel + 1]);
    };
    if (color_ == kRgb) return std::array{low(0), low(1), low(2)};
    const bool is_black = (*transparency_)[0] == '\0' && low(0) == 0;
    const uint8_t grey = depth_ == 1 ? static_cast<uint8_t>(is_black ? 0 : 255) : low(0);
    return std::array{grey, grey, grey};
  }

  const std::string_view bytes_;
  size_t at_ = 0;
  std::string_view header_, palette_;
  int depth_ = 0, color_ = 0;
  bool is_animated_ = false;
  std::optional<std::string_view> transparency_;
};

}  // namespace

absl::StatusOr<PngChunks> ReadPngChunks(std::string_view bytes) { return Reader(bytes).Read(); }

}  // namespace shortlist

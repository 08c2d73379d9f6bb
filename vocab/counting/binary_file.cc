#include "vocab/counting/binary_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace shortlist {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view bytes;
  const char* format;
};
// A text may begin with a signature of printable characters only; such an entry includes the byte
// that follows it in the format.
constexpr std::array kSignatures = {
    Signature{"PAR1\x15"sv, "a Parquet file"},
    Signature{"ARROW1\0"sv, "an Arrow file"},
    Signature{"\xFF\xFF\xFF\xFF"sv, "a stream of Arrow"},
    Signature{"FEA1\0"sv, "a Feather file"},
    Signature{"Obj\x01"sv, "an Avro file"},
    Signature{"SQLite format 3\0"sv, "an SQLite database"},
    Signature{"PK\x03\x04"sv, "a zip archive"},
    Signature{"PK\x05\x06"sv, "an empty zip archive"},
    Signature{"BZh91AY&SY"sv, "a bzip2 archive"},
    Signature{"7z\xBC\xAF\x27\x1C"sv, "a 7z archive"},
    Signature{"Rar!\x1A\x07"sv, "a RAR archive"},
    Signature{"\x04\x22\x4D\x18"sv, "an LZ4 archive"},
    Signature{"\x1F\x8B"sv, "packed twice (gzip in another format)"},
    Signature{"\xFD"
              "7zXZ\0"sv,
              "packed twice (xz in another format)"},
    Signature{"\x28\xB5\x2F\xFD"sv, "packed twice (Zstandard in another format)"},
    Signature{"%PDF-1."sv, "a PDF document"},
    Signature{"%PDF-2."sv, "a PDF document"},
    Signature{"\x7F"
              "ELF"sv,
              "an ELF program"},
    Signature{"\x89HDF\r\n\x1A\n"sv, "an HDF5 file"},
    Signature{"\x93NUMPY"sv, "an .npy array"},
    Signature{"\x89PNG\r\n"sv, "a PNG picture"},
    Signature{"\xFF\xD8\xFF"sv, "a JPEG picture"},
    Signature{"\xFF\xFE"sv, "UTF-16"},
    Signature{"\xFE\xFF"sv, "UTF-16"},
};

constexpr int64_t kStrayBytes = 16;  // always accepted, also in the shortest text
constexpr size_t kTarOffset = 257;
constexpr std::string_view kTarMagic = "ustar";

/// True for control characters, except white space, backspace (overstruck manual pages) and escape
/// (coloured logs).
bool IsControl(char byte) {
  constexpr std::string_view kOfText = "\b\t\n\v\f\r\x1B";
  const auto value = static_cast<unsigned char>(byte);
  return (value < 0x20 || value == 0x7F) && kOfText.find(byte) == std::string_view::npos;
}

absl::Status NotText(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(what),
      ", and only text and rows of JSON in UTF-8 are read, as they are or packed by gzip, xz or "
      "Zstandard: convert it first"));
}

}  // namespace

absl::Status CheckIsText(std::string_view head) {
  head = head.substr(0, kCheckedBytes);
  for (const Signature& signature : kSignatures) {
    if (head.starts_with(signature.bytes)) return NotText(signature.format);
  }
  if (head.size() > kTarOffset && head.substr(kTarOffset).starts_with(kTarMagic)) {
    return NotText("a tar archive");
  }
  const auto num_controls = std::ranges::count_if(head, IsControl);
  if (num_controls <= kStrayBytes || num_controls * 20 <= std::ssize(head)) {
    return absl::OkStatus();
  }
  return NotText(absl::StrCat("binary: ", num_controls, " of its first ", head.size(),
                              " bytes are control characters"));
}

}  // namespace shortlist

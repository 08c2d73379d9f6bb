#include "io/npy.h"

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "io/tensor_file.h"

namespace shortlist {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr int64_t kMaxElements = int64_t{1} << 28;

absl::Status Invalid(const std::string& problem) { return absl::InvalidArgumentError(problem); }

constexpr std::array<std::pair<std::string_view, IntegerType>, 8> kTypes = {{
    {"<i8", {8, true}},
    {"<u8", {8, false}},
    {"<i4", {4, true}},
    {"<u4", {4, false}},
    {"<i2", {2, true}},
    {"<u2", {2, false}},
    {"|i1", {1, true}},
    {"|u1", {1, false}},
}};

/// Returns the header (a Python dict) after `key` and white space.
std::string_view ValueAfter(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
  return rest;
}

absl::StatusOr<IntegerType> TypeOf(std::string_view header) {
  std::string_view rest = ValueAfter(header, "'descr'");
  if (!rest.empty()) rest.remove_prefix(1);  // the quote
  rest = rest.substr(0, rest.find('\''));
  for (const auto& [name, type] : kTypes) {
    if (rest == name) return type;
  }
  if (rest == "|b1") return Invalid("dtype \"|b1\": a mask of bool, not token ids");
  return Invalid(absl::StrCat("dtype \"", Excerpt(rest), "\" is not a little-endian integer"));
}

/// Returns the extent of the only dimension: "(7,)".
absl::StatusOr<int64_t> LengthOf(std::string_view header) {
  std::string_view shape = ValueAfter(header, "'shape'");
  shape = shape.substr(0, shape.find(')') + 1);
  int64_t length = -1;
  const size_t comma = shape.find(',');
  if (shape.starts_with("(") && shape.ends_with(",)") && comma == shape.size() - 2 &&
      absl::SimpleAtoi(std::string(shape.substr(1, comma - 1)), &length) && length >= 0 &&
      length <= kMaxElements) {
    return length;
  }
  return Invalid(absl::StrCat("shape \"", Excerpt(shape),
                              "\" is not of one dimension with at most ", kMaxElements,
                              " elements"));
}

}  // namespace

std::string NpyHeaderOf(std::string_view dtype, std::span<const int64_t> shape) {
  constexpr size_t kAlignment = 64, kPrefixBytes = 10;
  std::string fields =
      absl::StrCat("{'descr': '", std::string(dtype), "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(shape, ", "), shape.size() == 1 ? ",), }" : "), }");
  const size_t used = kPrefixBytes + fields.size() + 1;
  fields.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  fields.push_back('\n');
  std::string header(kMagic);
  header += std::string("\x01\x00", 2);
  header.push_back(static_cast<char>(fields.size() & 0xFF));
  header.push_back(static_cast<char>(fields.size() >> 8));
  return header + fields;
}

std::string NpyFileOf(std::span<const int64_t> values) {
  const int64_t shape[] = {std::ssize(values)};
  std::string file = NpyHeaderOf("<i8", shape);
  file.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return file;
}

absl::StatusOr<std::vector<int64_t>> ParseNpyIntegers(const std::string& contents) {
  if (!contents.starts_with(kMagic) || contents.size() < 12) return Invalid("not an .npy file");
  const int version = static_cast<uint8_t>(contents[6]);
  if (version < 1 || version > 3) return Invalid(absl::StrCat("version ", version, " of .npy"));
  const size_t length_bytes = version == 1 ? 2 : 4;
  uint32_t header_bytes = 0;
  std::memcpy(&header_bytes, contents.data() + 8, length_bytes);
  const size_t begin = 8 + length_bytes;
  if (header_bytes > contents.size() - begin) {
    return Invalid(absl::StrCat("its header of ", header_bytes, " bytes is cut short"));
  }
  const std::string_view header(contents.data() + begin, header_bytes);
  for (const char* key : {"'descr'", "'shape'"}) {
    // Readers differ in which of two they take.
    if (header.find(key) != header.rfind(key)) {
      return Invalid(absl::StrCat("its header has ", key, " twice"));
    }
  }
  SHORTLIST_ASSIGN_OR_RETURN(const IntegerType type, TypeOf(header));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t length, LengthOf(header));
  const std::string_view data = std::string_view(contents).substr(begin + header_bytes);
  if (std::ssize(data) != length * type.bytes) {
    return Invalid(absl::StrCat(data.size(), " bytes of data, not the ", length * type.bytes,
                                " of ", length, " elements"));
  }
  return ReadIntegers(data.data(), length, type);
}

}  // namespace shortlist

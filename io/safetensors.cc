#include "io/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors data are little-endian");

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

struct StoredType {
  const char* name;
  int64_t bits;
  std::optional<DType> dtype;
};
constexpr std::array kStoredTypes = {
    StoredType{"F32", 32, DType::kF32},     StoredType{"F16", 16, DType::kF16},
    StoredType{"BF16", 16, DType::kBf16},   StoredType{"F64", 64, std::nullopt},
    StoredType{"I64", 64, std::nullopt},    StoredType{"U64", 64, std::nullopt},
    StoredType{"I32", 32, std::nullopt},    StoredType{"U32", 32, std::nullopt},
    StoredType{"I16", 16, std::nullopt},    StoredType{"U16", 16, std::nullopt},
    StoredType{"I8", 8, std::nullopt},      StoredType{"U8", 8, std::nullopt},
    StoredType{"BOOL", 8, std::nullopt},    StoredType{"F8_E4M3", 8, std::nullopt},
    StoredType{"F8_E5M2", 8, std::nullopt}, StoredType{"F8_E8M0", 8, std::nullopt},
    StoredType{"C64", 64, std::nullopt},    StoredType{"F4", 4, std::nullopt},
};

/// Returns a JSON number that is an integer in [0, 2^63).
std::optional<int64_t> AsSize(const json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned()) {
    const uint64_t number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  const int64_t number = value.get<int64_t>();
  return number >= 0 ? std::optional(number) : std::nullopt;
}

absl::Status BadEntry(const std::string& name, const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat("tensor ", Quote(name), ": ", problem));
}

/// Parses one header entry. `data_bytes`: number of bytes after the header in the file.
/// `entry.offset` counts from the end of the header.
absl::StatusOr<TensorEntry> ParseEntry(const std::string& name, const json& value,
                                       int64_t data_bytes) {
  if (!value.is_object())
    return BadEntry(name, absl::StrCat("is ", value.type_name(), ", not an object"));
  for (const auto& [key, unused] : value.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      return BadEntry(name, absl::StrCat("unknown field ", Quote(key)));
    }
  }
  TensorEntry entry;
  const auto dtype = value.find("dtype");
  if (dtype == value.end() || !dtype->is_string())
    return BadEntry(name, "dtype missing or not a string");
  entry.dtype_name = dtype->get<std::string>();
  const auto* stored =
      std::find_if(kStoredTypes.begin(), kStoredTypes.end(),
                   [&](const StoredType& type) { return entry.dtype_name == type.name; });
  if (stored == kStoredTypes.end()) {
    return BadEntry(name, absl::StrCat("unknown dtype ", Quote(entry.dtype_name)));
  }
  entry.dtype = stored->dtype;

  const auto shape = value.find("shape");
  if (shape == value.end() || !shape->is_array())
    return BadEntry(name, "shape missing or not an array");
  for (const json& extent : *shape) {
    const std::optional<int64_t> size = AsSize(extent);
    if (!size) {
      return BadEntry(name, absl::StrCat("shape holds ", Quote(extent), ", not in [0, 2^63)"));
    }
    entry.shape.push_back(*size);
  }
  if (const absl::Status size = SetSize(stored->bits, entry); !size.ok()) {
    return BadEntry(name, std::string(size.message()));
  }

  const auto offsets = value.find("data_offsets");
  if (offsets == value.end() || !offsets->is_array() || offsets->size() != 2) {
    return BadEntry(name, "data_offsets missing or not an array of two");
  }
  const std::optional<int64_t> begin = AsSize((*offsets)[0]);
  const std::optional<int64_t> end = AsSize((*offsets)[1]);
  if (!begin || !end || *begin > *end) {
    return BadEntry(name, absl::StrCat("data_offsets ", Quote(*offsets),
                                       " not an ascending pair in [0, 2^63)"));
  }
  if (*end > data_bytes) {
    return BadEntry(
        name, absl::StrCat("data end at byte ", *end, ", but the file holds only ", data_bytes,
                           " bytes of data: truncated, or offsets out of range"));
  }
  if (*end - *begin != entry.num_bytes) {
    return BadEntry(name, absl::StrCat("data_offsets span ", *end - *begin, " bytes, shape ",
                                       ShapeString(entry.shape), " of ", entry.dtype_name,
                                       " needs ", entry.num_bytes));
  }
  entry.offset = *begin;
  return entry;
}

/// Checks that the tensors, in order of their offsets, cover the data without gap or overlap, as
/// the format demands.
absl::Status CheckCover(const std::map<std::string, TensorEntry>& entries, int64_t data_bytes) {
  std::vector<const std::pair<const std::string, TensorEntry>*> order;
  for (const auto& item : entries) order.push_back(&item);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.offset, a->second.num_bytes) <
           std::pair(b->second.offset, b->second.num_bytes);
  });
  int64_t covered = 0;
  for (const auto* item : order) {
    const int64_t offset = item->second.offset;
    if (offset != covered) {
      return BadEntry(item->first,
                      absl::StrCat(offset < covered ? "overlaps" : "leaves a hole after",
                                   " the tensor before it: begins at ", offset,
                                   ", the one before ends at ", covered));
    }
    covered += item->second.num_bytes;
  }
  if (covered != data_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("header describes ", covered, " bytes of data, the file holds ", data_bytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, TensorEntry>> ReadHeader(const RawFile& file) {
  const int64_t file_bytes = file.size();
  if (file_bytes < kLengthBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_bytes, " bytes, too short for a safetensors header length"));
  }
  uint64_t header_bytes = 0;
  SHORTLIST_RETURN_IF_ERROR(file.Read(0, kLengthBytes, &header_bytes));
  if (header_bytes > static_cast<uint64_t>(kMaxHeaderBytes)) {
    return absl::InvalidArgumentError(absl::StrCat("header of ", header_bytes,
                                                   " bytes, more than the ", kMaxHeaderBytes,
                                                   " the format admits"));
  }
  const int64_t data_begin = kLengthBytes + static_cast<int64_t>(header_bytes);
  if (data_begin > file_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "header of ", header_bytes, " bytes in a file of ", file_bytes, " bytes: truncated"));
  }
  std::string text(header_bytes, '\0');
  SHORTLIST_RETURN_IF_ERROR(
      file.Read(kLengthBytes, static_cast<int64_t>(header_bytes), text.data()));
  if (text.empty() || text[0] != '{') {
    return absl::InvalidArgumentError("header does not begin with '{'");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const json header, ParseJson(text, "header"));
  const int64_t data_bytes = file_bytes - data_begin;
  std::map<std::string, TensorEntry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;  // free-form strings, e.g. {"format": "pt"}
    SHORTLIST_ASSIGN_OR_RETURN(TensorEntry entry, ParseEntry(name, value, data_bytes));
    entries.emplace(name, std::move(entry));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckCover(entries, data_bytes));
  for (auto& [name, entry] : entries) entry.offset += data_begin;
  return entries;
}

}  // namespace

absl::StatusOr<TensorFile> OpenSafetensors(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(RawFile file, RawFile::Open(path));
  absl::StatusOr<std::map<std::string, TensorEntry>> entries = ReadHeader(file);
  if (!entries.ok()) return WithPath(path, entries.status());
  return TensorFile(std::move(file), *std::move(entries));
}

}  // namespace shortlist

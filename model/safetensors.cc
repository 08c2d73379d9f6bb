#include "model/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "model/quote.h"
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

/// A JSON number that is a non-negative integer an int64 can hold.
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

/// Describes one header entry. `data_bytes`: what follows the header in the file; `entry.offset`
/// counts from there.
absl::StatusOr<SafetensorsEntry> ParseEntry(const std::string& name, const json& value,
                                            int64_t data_bytes) {
  if (!value.is_object())
    return BadEntry(name, absl::StrCat("is ", value.type_name(), ", not an object"));
  for (const auto& [key, unused] : value.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      return BadEntry(name, absl::StrCat("unknown field ", Quote(key)));
    }
  }
  SafetensorsEntry entry;
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
  entry.num_elements = 1;
  for (const json& extent : *shape) {
    const std::optional<int64_t> size = AsSize(extent);
    if (!size) {
      return BadEntry(name, absl::StrCat("shape holds ", Quote(extent), ", not in [0, 2^63)"));
    }
    entry.shape.push_back(*size);
    if (__builtin_mul_overflow(entry.num_elements, *size, &entry.num_elements)) {
      return BadEntry(
          name, absl::StrCat("shape ", ShapeString(entry.shape), " has more than 2^63 elements"));
    }
  }
  int64_t num_bits = 0;
  if (__builtin_mul_overflow(entry.num_elements, stored->bits, &num_bits) || num_bits % 8 != 0) {
    return BadEntry(name, absl::StrCat("shape ", ShapeString(entry.shape), " of ", entry.dtype_name,
                                       " is no whole number of bytes below 2^60"));
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
  if (*end - *begin != num_bits / 8) {
    return BadEntry(name, absl::StrCat("data_offsets span ", *end - *begin, " bytes, shape ",
                                       ShapeString(entry.shape), " of ", entry.dtype_name,
                                       " needs ", num_bits / 8));
  }
  entry.offset = *begin;
  entry.num_bytes = *end - *begin;
  return entry;
}

/// The format demands that the tensors, in order of their offsets, cover the data without gap or
/// overlap.
absl::Status CheckCover(const std::map<std::string, SafetensorsEntry>& entries,
                        int64_t data_bytes) {
  std::vector<const std::pair<const std::string, SafetensorsEntry>*> order;
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

absl::Status ReadAt(int descriptor, int64_t offset, int64_t count, void* out) {
  char* next = static_cast<char*>(out);
  while (count > 0) {
    const ssize_t got =
        pread(descriptor, next, static_cast<size_t>(std::min<int64_t>(count, 1 << 30)), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::UnavailableError(absl::StrCat("cannot read: ", std::strerror(errno)));
    if (got == 0)
      return absl::UnavailableError(
          absl::StrCat("ends at byte ", offset, ": cut short while open"));
    next += got;
    offset += got;
    count -= got;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, SafetensorsEntry>> ReadHeader(int descriptor,
                                                                   int64_t file_bytes) {
  if (file_bytes < kLengthBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_bytes, " bytes, too short for a safetensors header length"));
  }
  uint64_t header_bytes = 0;
  SHORTLIST_RETURN_IF_ERROR(ReadAt(descriptor, 0, kLengthBytes, &header_bytes));
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
      ReadAt(descriptor, kLengthBytes, static_cast<int64_t>(header_bytes), text.data()));
  if (text.empty() || text[0] != '{') {
    return absl::InvalidArgumentError("header does not begin with '{'");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const json header, ParseJson(text, "header"));
  const int64_t data_bytes = file_bytes - data_begin;
  std::map<std::string, SafetensorsEntry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;  // free-form strings, e.g. {"format": "pt"}
    SHORTLIST_ASSIGN_OR_RETURN(SafetensorsEntry entry, ParseEntry(name, value, data_bytes));
    entries.emplace(name, std::move(entry));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckCover(entries, data_bytes));
  for (auto& [name, entry] : entries) entry.offset += data_begin;
  return entries;
}

absl::Status WithPath(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

}  // namespace

std::string ShapeString(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer; it is refused below.
  const int raw = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (raw < 0) {
    const int error = errno;
    const std::string message = absl::StrCat(path, ": ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(message) : absl::UnavailableError(message);
  }
  SafetensorsFile file;
  file.path_ = path;
  file.descriptor_ = std::shared_ptr<const int>(new int(raw), [](const int* descriptor) {
    close(*descriptor);
    delete descriptor;
  });
  struct stat info = {};
  if (fstat(raw, &info) != 0)
    return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
  if (!S_ISREG(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  auto entries = ReadHeader(raw, info.st_size);
  if (!entries.ok()) return WithPath(path, entries.status());
  file.entries_ = *std::move(entries);
  return file;
}

absl::Status SafetensorsFile::Read(const SafetensorsEntry& entry, int64_t begin, int64_t count,
                                   void* out) const {
  const absl::Status status = ReadAt(*descriptor_, entry.offset + begin, count, out);
  return status.ok() ? status : WithPath(path_, status);
}

}  // namespace shortlist

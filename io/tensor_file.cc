#include "io/tensor_file.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "io/gguf/block_format.h"

namespace shortlist {

std::optional<DType> TensorEntry::block_type() const {
  if (format == nullptr || !IsBlocked(format->stored)) return std::nullopt;
  return format->stored;
}

absl::Status TensorFile::Read(const TensorEntry& entry, int64_t begin, int64_t count,
                              void* out) const {
  const absl::Status status = ReadChecked(entry, begin, count, out);
  return status.ok() ? status : WithPath(path(), status);
}

absl::Status TensorFile::ReadChecked(const TensorEntry& entry, int64_t begin, int64_t count,
                                     void* out) const {
  if (entry.format != nullptr) {
    return ReadDecoded(file_, entry, begin, count, static_cast<char*>(out));
  }
  if (entry.record != nullptr) SHORTLIST_RETURN_IF_ERROR(entry.record->Check(file_));
  return entry.strides.empty() ? file_.Read(entry.offset + begin, count, out)
                               : ReadStrided(entry, begin, count, static_cast<char*>(out));
}

absl::Status TensorFile::ReadBlocks(const TensorEntry& entry, int64_t first, int64_t count,
                                    void* out) const {
  const absl::Status status = ReadBlockRows(file_, entry, first, count, static_cast<char*>(out));
  return status.ok() ? status : WithPath(path(), status);
}

absl::Status TensorFile::ReadStrided(const TensorEntry& entry, int64_t begin, int64_t count,
                                     char* out) const {
  const int64_t element_bytes = entry.num_bytes / entry.num_elements;
  std::string stored(*SpanElements(entry.shape, entry.strides) * element_bytes, '\0');
  SHORTLIST_RETURN_IF_ERROR(
      file_.Read(entry.offset, static_cast<int64_t>(stored.size()), stored.data()));
  // Finds the index of the element and its place in `stored`, one dimension at a time.
  const size_t num_dims = entry.shape.size();
  std::vector<int64_t> index(num_dims);
  int64_t place = 0;
  int64_t rest = begin / element_bytes;
  for (size_t i = num_dims; i-- > 0; rest /= entry.shape[i]) {
    index[i] = rest % entry.shape[i];
    place += index[i] * entry.strides[i];
  }
  for (int64_t done = 0; done < count; done += element_bytes) {
    std::memcpy(out + done, stored.data() + place * element_bytes, element_bytes);
    for (size_t i = num_dims; i-- > 0;) {
      place += entry.strides[i];
      if (++index[i] < entry.shape[i]) break;
      place -= entry.shape[i] * entry.strides[i];
      index[i] = 0;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> TensorFile::ReadIntegers(const TensorEntry& entry) const {
  constexpr int64_t kMaxIntegers = int64_t{1} << 28;
  static const auto& types = *new std::map<std::string, IntegerType>{
      {"I64", {8, true}},  {"I32", {4, true}},  {"I16", {2, true}},
      {"I8", {1, true}},   {"U64", {8, false}}, {"U32", {4, false}},
      {"U16", {2, false}}, {"U8", {1, false}},  {"BOOL", {1, false}}};
  const auto type = types.find(entry.dtype_name);
  if (type == types.end() || entry.shape.size() != 1 || entry.num_elements > kMaxIntegers) {
    return WithPath(path(), absl::InvalidArgumentError(absl::StrCat(
                                entry.dtype_name, " of shape ", ShapeString(entry.shape),
                                ", not at most ", kMaxIntegers, " integers of one dimension")));
  }
  std::string raw(entry.num_bytes, '\0');
  if (!raw.empty()) SHORTLIST_RETURN_IF_ERROR(Read(entry, 0, entry.num_bytes, raw.data()));
  absl::StatusOr<std::vector<int64_t>> integers =
      shortlist::ReadIntegers(raw.data(), entry.num_elements, type->second);
  if (!integers.ok()) return WithPath(path(), integers.status());
  return integers;
}

absl::StatusOr<std::vector<int64_t>> ReadIntegers(const char* bytes, int64_t count,
                                                  const IntegerType& type) {
  const int shift = static_cast<int>(64 - 8 * type.bytes);
  std::vector<int64_t> integers(count);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, bytes + i * type.bytes, type.bytes);
    integers[i] = type.is_signed ? static_cast<int64_t>(value << shift) >> shift
                                 : static_cast<int64_t>(value);
    if (!type.is_signed && integers[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("element ", i, ": ", value, " is not below 2^63"));
    }
  }
  return integers;
}

absl::Status SetSize(int64_t bits, TensorEntry& entry) {
  entry.num_elements = 1;
  for (const int64_t extent : entry.shape) {
    if (__builtin_mul_overflow(entry.num_elements, extent, &entry.num_elements)) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ShapeString(entry.shape), " has more than 2^63 elements"));
    }
  }
  int64_t num_bits = 0;
  if (__builtin_mul_overflow(entry.num_elements, bits, &num_bits) || num_bits % 8 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("shape ", ShapeString(entry.shape), " of ",
                                                   entry.dtype_name,
                                                   " is not a whole number of bytes below 2^60"));
  }
  entry.num_bytes = num_bits / 8;
  return absl::OkStatus();
}

TensorEntry RowsOf(const TensorEntry& entry, int64_t first, int64_t count) {
  SHORTLIST_CHECK(entry.strides.empty() && !entry.shape.empty());
  const int64_t columns = entry.shape.size() > 1 ? entry.shape.back() : 1;
  SHORTLIST_CHECK(first >= 0 && count >= 0 && (first + count) * columns <= entry.num_elements);
  TensorEntry rows = entry;
  if (entry.num_elements == 0) return rows;
  const int64_t element_bytes = entry.num_bytes / entry.num_elements;
  const int64_t row_bytes = entry.format != nullptr
                                ? columns / entry.format->num_elements() * entry.format->num_bytes()
                                : columns * element_bytes;
  rows.offset += first * row_bytes;
  rows.num_elements = count * columns;
  rows.num_bytes = rows.num_elements * element_bytes;
  rows.shape =
      entry.shape.size() > 1 ? std::vector<int64_t>{count, columns} : std::vector<int64_t>{count};
  return rows;
}

std::optional<int64_t> SpanElements(const std::vector<int64_t>& shape,
                                    const std::vector<int64_t>& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return std::nullopt;
    }
  }
  return last == INT64_MAX ? std::nullopt : std::optional(last + 1);
}

std::string ShapeString(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

absl::Status WithPath(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

}  // namespace shortlist

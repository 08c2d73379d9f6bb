#include "io/gguf/gguf_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/gguf/block_format.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

constexpr char kMagic[] = "GGUF";
constexpr int64_t kMaxTensors = 1 << 17;
constexpr int64_t kMaxPairs = 1 << 16;
constexpr int64_t kMaxElements = 1 << 22;  // of an array
constexpr size_t kMaxNameBytes = 1024;     // of a key or a tensor
constexpr uint32_t kMaxDims = 4;
constexpr int64_t kMaxAlignment = 1 << 20;
constexpr uint32_t kInt32Tensor = 26,
                   kInt64Tensor = 27;  // types of tensors of integers, such as d2t

// Bytes that an element of the header takes at least.
constexpr int64_t kMinTensorBytes = 24;
constexpr int64_t kMinPairBytes = 13;
constexpr int64_t kMinStringBytes = 8;

enum ValueType : uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64
};

absl::Status Invalid(const std::string& problem) { return absl::InvalidArgumentError(problem); }

/// Reads the header from the beginning, a chunk at a time.
class HeaderReader {
 public:
  explicit HeaderReader(const RawFile& file)
      : file_(file), end_(std::min(file.size(), GgufFile::kMaxHeaderBytes)) {}

  int64_t position() const { return chunk_begin_ + place_; }
  int64_t left() const { return end_ - position(); }

  absl::Status Bytes(int64_t count, char* out) {
    if (count > left()) {
      return Invalid(absl::StrCat("its header is cut short, or longer than ",
                                  GgufFile::kMaxHeaderBytes, " bytes, at byte ", position()));
    }
    while (count > 0) {
      const auto held = static_cast<int64_t>(chunk_.size()) - place_;
      if (held == 0) {
        SHORTLIST_RETURN_IF_ERROR(NextChunk());
        continue;
      }
      const int64_t copied = std::min(count, held);
      std::memcpy(out, chunk_.data() + place_, static_cast<size_t>(copied));
      place_ += copied;
      out += copied;
      count -= copied;
    }
    return absl::OkStatus();
  }

  template <typename T>
  absl::StatusOr<T> Number() {
    T value;
    SHORTLIST_RETURN_IF_ERROR(Bytes(sizeof(T), reinterpret_cast<char*>(&value)));
    return value;
  }

  /// A number of elements of at least `min_bytes` each.
  absl::StatusOr<int64_t> Count(const char* what, int64_t min_bytes, int64_t max) {
    SHORTLIST_ASSIGN_OR_RETURN(const uint64_t count, Number<uint64_t>());
    const int64_t most = std::min(max, left() / min_bytes);
    if (count <= static_cast<uint64_t>(most)) return static_cast<int64_t>(count);
    return Invalid(absl::StrCat(count, " ", what, ", more than ", most));
  }

  absl::StatusOr<std::string> String(int64_t max_bytes) {
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t length, Count("bytes of a text", 1, max_bytes));
    std::string text(static_cast<size_t>(length), '\0');
    SHORTLIST_RETURN_IF_ERROR(Bytes(length, text.data()));
    return text;
  }

 private:
  absl::Status NextChunk() {
    constexpr int64_t kChunkBytes = 1 << 20;
    chunk_begin_ += static_cast<int64_t>(chunk_.size());
    place_ = 0;
    chunk_.resize(static_cast<size_t>(std::min(kChunkBytes, end_ - chunk_begin_)));
    return file_.Read(chunk_begin_, static_cast<int64_t>(chunk_.size()), chunk_.data());
  }

  const RawFile& file_;
  const int64_t end_;
  std::string chunk_;
  int64_t chunk_begin_ = 0;
  int64_t place_ = 0;  // in chunk_
};

template <typename T>
absl::StatusOr<int64_t> ReadInteger(HeaderReader& in) {
  SHORTLIST_ASSIGN_OR_RETURN(const T value, in.Number<T>());
  if constexpr (sizeof(T) == 8 && !std::is_signed_v<T>) {
    if (value > INT64_MAX) return Invalid(absl::StrCat(value, " is not below 2^63"));
  }
  return static_cast<int64_t>(value);
}

absl::StatusOr<int64_t> ReadInteger(HeaderReader& in, uint32_t type) {
  switch (type) {
    case kUint8:
    case kBool:
      return ReadInteger<uint8_t>(in);
    case kInt8:
      return ReadInteger<int8_t>(in);
    case kUint16:
      return ReadInteger<uint16_t>(in);
    case kInt16:
      return ReadInteger<int16_t>(in);
    case kUint32:
      return ReadInteger<uint32_t>(in);
    case kInt32:
      return ReadInteger<int32_t>(in);
    case kUint64:
      return ReadInteger<uint64_t>(in);
    default:
      return ReadInteger<int64_t>(in);
  }
}

absl::StatusOr<double> ReadReal(HeaderReader& in, uint32_t type) {
  if (type == kFloat64) return in.Number<double>();
  SHORTLIST_ASSIGN_OR_RETURN(const float value, in.Number<float>());
  return static_cast<double>(value);
}

/// Bytes that a value of `type` takes at least; 0 for an unknown type and for arrays.
int64_t MinBytes(uint32_t type) {
  constexpr int64_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, kMinStringBytes, 0, 8, 8, 8};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

absl::StatusOr<GgufValue> ReadArray(HeaderReader& in) {
  SHORTLIST_ASSIGN_OR_RETURN(const uint32_t type, in.Number<uint32_t>());
  const int64_t min_bytes = MinBytes(type);
  if (min_bytes == 0) return Invalid(absl::StrCat("an array of type ", type, " is not supported"));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t count,
                             in.Count("elements of an array", min_bytes, kMaxElements));
  const auto read = [&](auto list, auto&& read_one) -> absl::StatusOr<GgufValue> {
    list.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      SHORTLIST_ASSIGN_OR_RETURN(auto value, read_one());
      list.push_back(std::move(value));
    }
    return GgufValue(std::move(list));
  };
  if (type == kString) {
    return read(std::vector<std::string>(), [&] { return in.String(INT64_MAX); });
  }
  if (type == kFloat32 || type == kFloat64) {
    return read(std::vector<double>(), [&] { return ReadReal(in, type); });
  }
  return read(std::vector<int64_t>(), [&] { return ReadInteger(in, type); });
}

absl::StatusOr<GgufValue> ReadValue(HeaderReader& in) {
  SHORTLIST_ASSIGN_OR_RETURN(const uint32_t type, in.Number<uint32_t>());
  if (type == kArray) return ReadArray(in);
  if (MinBytes(type) == 0) return Invalid(absl::StrCat("a value of unknown type ", type));
  if (type == kString) {
    SHORTLIST_ASSIGN_OR_RETURN(std::string text, in.String(INT64_MAX));
    return GgufValue(std::move(text));
  }
  if (type == kFloat32 || type == kFloat64) {
    SHORTLIST_ASSIGN_OR_RETURN(const double value, ReadReal(in, type));
    return GgufValue(value);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t value, ReadInteger(in, type));
  return GgufValue(value);
}

absl::StatusOr<std::map<std::string, GgufValue>> ReadPairs(HeaderReader& in, int64_t count) {
  std::map<std::string, GgufValue> values;
  for (int64_t i = 0; i < count; ++i) {
    SHORTLIST_ASSIGN_OR_RETURN(std::string key, in.String(kMaxNameBytes));
    absl::StatusOr<GgufValue> value = ReadValue(in);
    if (!value.ok()) return WithPath(absl::StrCat("metadata ", Quote(key)), value.status());
    if (!values.emplace(key, *std::move(value)).second) {
      return Invalid(absl::StrCat("metadata ", Quote(key), " occurs twice"));
    }
  }
  return values;
}

/// Reads the entry of one tensor; its offset is still relative to the data.
absl::StatusOr<TensorEntry> ReadTensor(HeaderReader& in) {
  TensorEntry entry;
  SHORTLIST_ASSIGN_OR_RETURN(const uint32_t num_dims, in.Number<uint32_t>());
  if (num_dims < 1 || num_dims > kMaxDims) {
    return Invalid(absl::StrCat(num_dims, " dimensions, not 1 to ", kMaxDims));
  }
  entry.shape.resize(num_dims);
  for (uint32_t i = num_dims; i-- > 0;) {  // the fastest comes first
    SHORTLIST_ASSIGN_OR_RETURN(entry.shape[i], ReadInteger<uint64_t>(in));
    if (entry.shape[i] < 1) return Invalid("an extent of 0");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const uint32_t type, in.Number<uint32_t>());
  entry.format = FindBlockFormat(type);
  if (entry.format != nullptr) {
    entry.dtype_name = entry.format->name();
    entry.dtype = entry.format->dtype();
    if (entry.shape.back() % entry.format->num_elements() != 0) {
      return Invalid(absl::StrCat("rows of ", entry.shape.back(),
                                  " elements are no whole blocks of ", entry.format->name(), " (",
                                  entry.format->num_elements(), ")"));
    }
    SHORTLIST_RETURN_IF_ERROR(SetSize(8 * DTypeBytes(*entry.dtype), entry));
  } else if (type == kInt32Tensor || type == kInt64Tensor) {
    entry.dtype_name = type == kInt32Tensor ? "I32" : "I64";
    SHORTLIST_RETURN_IF_ERROR(SetSize(type == kInt32Tensor ? 32 : 64, entry));
  } else {
    return absl::UnimplementedError(absl::StrCat(BlockFormatName(type), " is not supported; ",
                                                 SupportedBlockFormats(), " are"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(entry.offset, ReadInteger<uint64_t>(in));
  return entry;
}

int64_t StoredBytes(const TensorEntry& entry) {
  if (entry.format == nullptr) return entry.num_bytes;
  return entry.num_elements / entry.format->num_elements() * entry.format->num_bytes();
}

/// Makes offsets absolute, and checks that the tensors fill the data: each begins at the first
/// aligned byte after another, as llama.cpp also demands. A gap is a tensor that the header lacks.
absl::Status PlaceTensors(int64_t data_begin, int64_t alignment, int64_t file_size,
                          std::map<std::string, TensorEntry>& tensors) {
  const int64_t data_bytes = std::max<int64_t>(file_size - data_begin, 0);
  std::vector<std::pair<int64_t, const std::string*>> order;
  for (auto& [name, entry] : tensors) {
    const int64_t num_bytes = StoredBytes(entry);
    if (entry.offset % alignment != 0) {
      return Invalid(absl::StrCat("tensor ", Quote(name), ": offset ", entry.offset,
                                  " is no multiple of ", alignment));
    }
    if (entry.offset > data_bytes || num_bytes > data_bytes - entry.offset) {
      return Invalid(absl::StrCat("tensor ", Quote(name), ": ", num_bytes, " bytes at offset ",
                                  entry.offset, " exceed the ", data_bytes, " bytes of data"));
    }
    entry.offset += data_begin;
    order.emplace_back(entry.offset, &name);
  }
  std::sort(order.begin(), order.end());
  int64_t end = data_begin;  // aligned
  for (size_t i = 0; i < order.size(); ++i) {
    const auto& [offset, name] = order[i];
    if (offset < end) {
      return Invalid(
          absl::StrCat("tensors ", Quote(*order[i - 1].second), " and ", Quote(*name), " overlap"));
    }
    if (offset > end) {
      return Invalid(absl::StrCat("no tensor has the ", offset - end, " bytes before ",
                                  Quote(*name), ", at offset ", offset - data_begin));
    }
    const int64_t num_bytes = StoredBytes(tensors[*name]);
    end += (num_bytes + alignment - 1) / alignment * alignment;
  }
  if (!order.empty() && file_size > end) {
    return Invalid(absl::StrCat("no tensor has the last ", file_size - end, " bytes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<GgufFile> Parse(RawFile raw) {
  HeaderReader in(raw);
  char magic[4];
  if (raw.size() < 24) return Invalid("not a GGUF file: it has fewer than 24 bytes");
  SHORTLIST_RETURN_IF_ERROR(in.Bytes(sizeof(magic), magic));
  if (std::memcmp(magic, kMagic, sizeof(magic)) != 0) {
    return Invalid("not a GGUF file: it does not begin with \"GGUF\"");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const uint32_t version, in.Number<uint32_t>());
  if (version != 2 && version != 3) {
    return absl::UnimplementedError(
        absl::StrCat("GGUF version ", version, "; versions 2 and 3, little-endian, are supported"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_tensors,
                             in.Count("tensors", kMinTensorBytes, kMaxTensors));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_pairs,
                             in.Count("metadata pairs", kMinPairBytes, kMaxPairs));
  SHORTLIST_ASSIGN_OR_RETURN(auto values, ReadPairs(in, num_pairs));
  std::map<std::string, TensorEntry> tensors;
  for (int64_t i = 0; i < num_tensors; ++i) {
    SHORTLIST_ASSIGN_OR_RETURN(std::string name, in.String(kMaxNameBytes));
    absl::StatusOr<TensorEntry> entry = ReadTensor(in);
    if (!entry.ok()) return WithPath(absl::StrCat("tensor ", Quote(name)), entry.status());
    if (!tensors.emplace(name, *std::move(entry)).second) {
      return Invalid(absl::StrCat("tensor ", Quote(name), " occurs twice"));
    }
  }
  GgufMetadata metadata(raw.path(), std::move(values));
  SHORTLIST_ASSIGN_OR_RETURN(const auto given, metadata.Int("general.alignment", 1, kMaxAlignment));
  const int64_t alignment = given.value_or(32);
  const int64_t data_begin = (in.position() + alignment - 1) / alignment * alignment;
  SHORTLIST_RETURN_IF_ERROR(PlaceTensors(data_begin, alignment, raw.size(), tensors));
  return GgufFile{std::move(raw), std::move(metadata), std::move(tensors)};
}

}  // namespace

absl::StatusOr<GgufFile> GgufFile::Open(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(RawFile raw, RawFile::Open(path));
  absl::StatusOr<GgufFile> file = Parse(std::move(raw));
  // Errors of GgufMetadata name the path already.
  if (!file.ok() && !std::string(file.status().message()).starts_with(path)) {
    return WithPath(path, file.status());
  }
  return file;
}

template <typename T>
absl::StatusOr<const T*> GgufMetadata::Find(const std::string& key, const char* expected) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return nullptr;
  if (const T* value = std::get_if<T>(&found->second)) return value;
  return Invalid(key, absl::StrCat("not ", expected));
}

absl::StatusOr<std::optional<int64_t>> GgufMetadata::Int(const std::string& key, int64_t low,
                                                         int64_t high) const {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t* value, Find<int64_t>(key, "an integer"));
  if (value == nullptr) return std::nullopt;
  if (*value < low || *value > high) {
    return Invalid(key, absl::StrCat(*value, " not in [", low, ", ", high, "]"));
  }
  return *value;
}

absl::StatusOr<std::optional<double>> GgufMetadata::Real(const std::string& key) const {
  const auto found = values_.find(key);
  if (found != values_.end() && std::holds_alternative<int64_t>(found->second)) {
    return static_cast<double>(std::get<int64_t>(found->second));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const double* value, Find<double>(key, "a number"));
  if (value == nullptr) return std::nullopt;
  if (!std::isfinite(*value)) return Invalid(key, "not finite");
  return *value;
}

absl::StatusOr<std::optional<std::string>> GgufMetadata::String(const std::string& key) const {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string* value, Find<std::string>(key, "a text"));
  if (value == nullptr) return std::nullopt;
  return *value;
}

absl::StatusOr<const std::vector<std::string>*> GgufMetadata::Strings(
    const std::string& key) const {
  return Find<std::vector<std::string>>(key, "a list of texts");
}

absl::StatusOr<const std::vector<int64_t>*> GgufMetadata::Ints(const std::string& key) const {
  return Find<std::vector<int64_t>>(key, "a list of integers");
}

absl::StatusOr<const std::vector<double>*> GgufMetadata::Reals(const std::string& key) const {
  return Find<std::vector<double>>(key, "a list of numbers");
}

absl::Status GgufMetadata::Invalid(const std::string& key, const std::string& problem) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": metadata ", key, ": ", problem));
}

}  // namespace shortlist

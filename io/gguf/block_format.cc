#include "io/gguf/block_format.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/weight_block.h"
#include "io/tensor_file.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxBlockElements = 256;
constexpr int64_t kChunkBytes = 64 << 10;

constexpr BlockFormat kFormats[] = {
    {0, DType::kF32},  {1, DType::kF16},  {30, DType::kBf16}, {2, DType::kQ40},
    {3, DType::kQ41},  {6, DType::kQ50},  {7, DType::kQ51},   {8, DType::kQ80},
    {12, DType::kQ4K}, {13, DType::kQ5K}, {14, DType::kQ6K},  {20, DType::kIq4Nl},
};

constexpr std::pair<uint32_t, const char*> kUnsupported[] = {
    {9, "Q8_1"},     {10, "Q2_K"},  {11, "Q3_K"},  {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"},
    {18, "IQ3_XXS"}, {19, "IQ1_S"}, {21, "IQ3_S"}, {22, "IQ2_S"}, {23, "IQ4_XS"},  {24, "I8"},
    {25, "I16"},     {26, "I32"},   {27, "I64"},   {28, "F64"},   {29, "IQ1_M"},   {34, "TQ1_0"},
    {35, "TQ2_0"},   {39, "MXFP4"}, {40, "NVFP4"},
};

/// Writes `count` stored elements, from element `first` on, as entry.dtype.
absl::Status Decode(const RawFile& file, const TensorEntry& entry, int64_t first, int64_t count,
                    char* out) {
  const BlockFormat& format = *entry.format;
  const int64_t element_bytes = DTypeBytes(format.dtype());
  if (!IsBlocked(format.stored)) {
    return file.Read(entry.offset + first * element_bytes, count * element_bytes, out);
  }
  const int64_t end = first + count;
  const int64_t num_elements = format.num_elements(), num_bytes = format.num_bytes();
  const int64_t chunk_blocks = kChunkBytes / num_bytes;
  std::vector<uint8_t> stored(chunk_blocks * num_bytes);
  std::array<float, kMaxBlockElements> values;
  const int64_t last_block = (end + num_elements - 1) / num_elements;
  for (int64_t block = first / num_elements; block < last_block; block += chunk_blocks) {
    const int64_t num_blocks = std::min(chunk_blocks, last_block - block);
    SHORTLIST_RETURN_IF_ERROR(
        file.Read(entry.offset + block * num_bytes, num_blocks * num_bytes, stored.data()));
    for (int64_t b = 0; b < num_blocks; ++b) {
      DecodeBlock(format.stored, stored.data() + b * num_bytes, values.data());
      const int64_t block_first = (block + b) * num_elements;
      const int64_t from = std::max(first, block_first);
      const int64_t to = std::min(end, block_first + num_elements);
      for (int64_t i = from; i < to; ++i) {
        StoreFromFloat(out, format.dtype(), i - first, values[i - block_first]);
      }
    }
  }
  return absl::OkStatus();
}

/// Returns where row `row` of the entry's rows is stored.
int64_t StoredRow(const TensorEntry& entry, int64_t row) {
  if (entry.paired_rows == 0) return row;
  const int64_t half = entry.paired_rows / 2;
  const int64_t in_head = row % entry.paired_rows;
  return row - in_head + in_head % half * 2 + in_head / half;
}

}  // namespace

const char* BlockFormat::name() const {
  switch (stored) {
    case DType::kF32:
      return "F32";
    case DType::kF16:
      return "F16";
    case DType::kBf16:
      return "BF16";
    default:
      return BlockTypeOf(stored).name;
  }
}

int64_t BlockFormat::num_elements() const {
  return IsBlocked(stored) ? BlockTypeOf(stored).num_elements : 1;
}

int64_t BlockFormat::num_bytes() const {
  return IsBlocked(stored) ? BlockTypeOf(stored).num_bytes : DTypeBytes(stored);
}

const BlockFormat* FindBlockFormat(uint32_t id) {
  const auto* const format = std::find_if(std::begin(kFormats), std::end(kFormats),
                                          [id](const BlockFormat& f) { return f.id == id; });
  return format == std::end(kFormats) ? nullptr : format;
}

std::string BlockFormatName(uint32_t id) {
  if (const BlockFormat* format = FindBlockFormat(id)) return format->name();
  for (const auto& [other, name] : kUnsupported) {
    if (other == id) return name;
  }
  return absl::StrCat("type ", id);
}

std::string SupportedBlockFormats() {
  std::string names;
  for (const BlockFormat& format : kFormats) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", format.name());
  }
  return names;
}

absl::Status ReadDecoded(const RawFile& file, const TensorEntry& entry, int64_t begin,
                         int64_t count, char* out) {
  const int64_t element_bytes = DTypeBytes(*entry.dtype);
  const int64_t first = begin / element_bytes, end = first + count / element_bytes;
  if (entry.paired_rows == 0) return Decode(file, entry, first, end - first, out);
  const int64_t num_columns = entry.shape.back();
  for (int64_t i = first; i < end;) {
    const int64_t row = i / num_columns, column = i % num_columns;
    const int64_t length = std::min(end - i, num_columns - column);
    SHORTLIST_RETURN_IF_ERROR(Decode(file, entry, StoredRow(entry, row) * num_columns + column,
                                     length, out + (i - first) * element_bytes));
    i += length;
  }
  return absl::OkStatus();
}

absl::Status ReadBlockRows(const RawFile& file, const TensorEntry& entry, int64_t first,
                           int64_t count, char* out) {
  const BlockFormat& format = *entry.format;
  const int64_t row_bytes = entry.shape.back() / format.num_elements() * format.num_bytes();
  if (entry.paired_rows == 0) {
    return file.Read(entry.offset + first * row_bytes, count * row_bytes, out);
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = StoredRow(entry, first + i);
    SHORTLIST_RETURN_IF_ERROR(
        file.Read(entry.offset + row * row_bytes, row_bytes, out + i * row_bytes));
  }
  return absl::OkStatus();
}

}  // namespace shortlist

#include "io/gguf/block_format.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/tensor_file.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxBlockElements = 256;
constexpr int64_t kChunkBytes = 64 << 10;

float F16At(const uint8_t* bytes) {
  uint16_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return F16ToFloat(bits);
}

void DecodeQ8_0(const uint8_t* block, float* values) {
  const float scale = F16At(block);
  for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<int8_t>(block[2 + i]);
}

/// Calls set(i, code) for 32 codes of 4 bits: the low nibbles are elements 0 to 15.
template <typename Set>
void ForEachNibble(const uint8_t* bytes, Set&& set) {
  for (int i = 0; i < 16; ++i) {
    set(i, bytes[i] & 15);
    set(i + 16, bytes[i] >> 4);
  }
}

void DecodeQ4_0(const uint8_t* block, float* values) {
  const float scale = F16At(block);
  ForEachNibble(block + 2, [&](int i, int code) { values[i] = scale * (code - 8); });
}

void DecodeQ4_1(const uint8_t* block, float* values) {
  const float scale = F16At(block), min = F16At(block + 2);
  ForEachNibble(block + 4, [&](int i, int code) { values[i] = scale * code + min; });
}

/// Bit i of `bits` is the fifth bit of code i.
int FifthBit(const uint8_t* bits, int i) { return (bits[i / 8] >> (i % 8) & 1) << 4; }

void DecodeQ5_0(const uint8_t* block, float* values) {
  const float scale = F16At(block);
  ForEachNibble(block + 6, [&](int i, int code) {
    values[i] = scale * ((code | FifthBit(block + 2, i)) - 16);
  });
}

void DecodeQ5_1(const uint8_t* block, float* values) {
  const float scale = F16At(block), min = F16At(block + 2);
  ForEachNibble(block + 8, [&](int i, int code) {
    values[i] = scale * (code | FifthBit(block + 4, i)) + min;
  });
}

void DecodeIq4Nl(const uint8_t* block, float* values) {
  static constexpr int kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};
  const float scale = F16At(block);
  ForEachNibble(block + 2, [&](int i, int code) { values[i] = scale * kLevels[code]; });
}

/// The scale and the minimum of one of 8 sub-blocks of 32 elements, 6 bits each, of a K block.
struct SubBlock {
  int scale, min;

  static SubBlock At(const uint8_t* packed, int s) {
    if (s < 4) return {packed[s] & 63, packed[s + 4] & 63};
    return {(packed[s + 4] & 15) | (packed[s - 4] >> 6) << 4,
            (packed[s + 4] >> 4) | (packed[s] >> 6) << 4};
  }
};

/// Q4_K and Q5_K: 8 sub-blocks of 32. `fifth_bits`: bit s of byte e belongs to element e of
/// sub-block s; null: codes of 4 bits.
void DecodeK(const uint8_t* block, const uint8_t* fifth_bits, const uint8_t* codes, float* values) {
  const float scale = F16At(block), min_scale = F16At(block + 2);
  for (int s = 0; s < 8; ++s) {
    const SubBlock sub = SubBlock::At(block + 4, s);
    const float sub_scale = scale * sub.scale, sub_min = min_scale * sub.min;
    for (int e = 0; e < 32; ++e) {
      const int shift = s % 2 * 4;
      int code = codes[s / 2 * 32 + e] >> shift & 15;
      if (fifth_bits != nullptr) code |= (fifth_bits[e] >> s & 1) << 4;
      values[s * 32 + e] = sub_scale * code - sub_min;
    }
  }
}

void DecodeQ4K(const uint8_t* block, float* values) { DecodeK(block, nullptr, block + 16, values); }

void DecodeQ5K(const uint8_t* block, float* values) {
  DecodeK(block, block + 16, block + 48, values);
}

void DecodeQ6K(const uint8_t* block, float* values) {
  const float scale = F16At(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, row = i % 128 / 32, e = i % 32;
    const uint8_t low = block[half * 64 + row % 2 * 32 + e];
    const uint8_t high = block[128 + half * 32 + e];
    const int code = (row < 2 ? low & 15 : low >> 4) | (high >> (2 * row) & 3) << 4;
    const float sub_scale = scale * static_cast<int8_t>(block[192 + i / 16]);
    values[i] = sub_scale * (code - 32);
  }
}

constexpr BlockFormat kFormats[] = {
    {"F32", 0, 1, 4, DType::kF32, nullptr},
    {"F16", 1, 1, 2, DType::kF16, nullptr},
    {"BF16", 30, 1, 2, DType::kBf16, nullptr},
    {"Q4_0", 2, 32, 18, DType::kBf16, DecodeQ4_0},
    {"Q4_1", 3, 32, 20, DType::kBf16, DecodeQ4_1},
    {"Q5_0", 6, 32, 22, DType::kBf16, DecodeQ5_0},
    {"Q5_1", 7, 32, 24, DType::kBf16, DecodeQ5_1},
    {"Q8_0", 8, 32, 34, DType::kBf16, DecodeQ8_0},
    {"Q4_K", 12, 256, 144, DType::kBf16, DecodeQ4K},
    {"Q5_K", 13, 256, 176, DType::kBf16, DecodeQ5K},
    {"Q6_K", 14, 256, 210, DType::kBf16, DecodeQ6K},
    {"IQ4_NL", 20, 32, 18, DType::kBf16, DecodeIq4Nl},
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
  const int64_t element_bytes = DTypeBytes(format.dtype);
  if (format.decode == nullptr) {
    return file.Read(entry.offset + first * element_bytes, count * element_bytes, out);
  }
  const int64_t end = first + count;
  const int64_t chunk_blocks = kChunkBytes / format.num_bytes;
  std::vector<uint8_t> stored(chunk_blocks * format.num_bytes);
  std::array<float, kMaxBlockElements> values;
  const int64_t last_block = (end + format.num_elements - 1) / format.num_elements;
  for (int64_t block = first / format.num_elements; block < last_block; block += chunk_blocks) {
    const int64_t num_blocks = std::min(chunk_blocks, last_block - block);
    SHORTLIST_RETURN_IF_ERROR(file.Read(entry.offset + block * format.num_bytes,
                                        num_blocks * format.num_bytes, stored.data()));
    for (int64_t b = 0; b < num_blocks; ++b) {
      format.decode(stored.data() + b * format.num_bytes, values.data());
      const int64_t block_first = (block + b) * format.num_elements;
      const int64_t from = std::max(first, block_first);
      const int64_t to = std::min(end, block_first + format.num_elements);
      for (int64_t i = from; i < to; ++i) {
        StoreFromFloat(out, format.dtype, i - first, values[i - block_first]);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

const BlockFormat* FindBlockFormat(uint32_t id) {
  const auto* const format = std::find_if(std::begin(kFormats), std::end(kFormats),
                                          [id](const BlockFormat& f) { return f.id == id; });
  return format == std::end(kFormats) ? nullptr : format;
}

std::string BlockFormatName(uint32_t id) {
  if (const BlockFormat* format = FindBlockFormat(id)) return format->name;
  for (const auto& [other, name] : kUnsupported) {
    if (other == id) return name;
  }
  return absl::StrCat("type ", id);
}

std::string SupportedBlockFormats() {
  std::string names;
  for (const BlockFormat& format : kFormats) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", format.name);
  }
  return names;
}

absl::Status ReadBlocks(const RawFile& file, const TensorEntry& entry, int64_t begin, int64_t count,
                        char* out) {
  const int64_t element_bytes = DTypeBytes(*entry.dtype);
  const int64_t first = begin / element_bytes, end = first + count / element_bytes;
  if (entry.paired_rows == 0) return Decode(file, entry, first, end - first, out);
  const int64_t num_columns = entry.shape.back(), half = entry.paired_rows / 2;
  for (int64_t i = first; i < end;) {
    const int64_t row = i / num_columns, column = i % num_columns;
    const int64_t in_head = row % entry.paired_rows;
    const int64_t stored_row = row - in_head + in_head % half * 2 + in_head / half;
    const int64_t length = std::min(end - i, num_columns - column);
    SHORTLIST_RETURN_IF_ERROR(Decode(file, entry, stored_row * num_columns + column, length,
                                     out + (i - first) * element_bytes));
    i += length;
  }
  return absl::OkStatus();
}

}  // namespace shortlist

#include "kernels/blocks.h"

#include <atomic>
#include <cstring>

#include "base/check.h"
#include "base/weight_block.h"
#include "kernels/cpu/block_layout.h"

namespace shortlist {
namespace {

constexpr int64_t kGroup = BlockType::kGroup;

int64_t NumGroups(DType dtype, int64_t width) {
  SHORTLIST_CHECK(width % BlockTypeOf(dtype).num_elements == 0);
  return width / kGroup;
}

void StoreF16(uint8_t* target, uint16_t bits) { std::memcpy(target, &bits, sizeof(bits)); }

uint16_t LoadF16(const uint8_t* source) {
  uint16_t bits;
  std::memcpy(&bits, source, sizeof(bits));
  return bits;
}

uint32_t LoadWord(const uint8_t* bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

/// Writes the words of 32 codes.
void StoreCodes(const uint8_t* codes, int code_bits, uint8_t* words, int64_t stride) {
  const auto step = [&](int s) { return LoadWord(codes + 4 * s); };
  const auto store = [&](int w, uint32_t word) { std::memcpy(words + w * stride, &word, 4); };
  if (code_bits == 8) {
    for (int s = 0; s < 8; ++s) store(s, step(s));
    return;
  }
  for (int s = 0; s < 4; ++s) {
    store(s, (step(s) & 0x0f0f0f0f) | (step(s + 4) & 0x0f0f0f0f) << 4);
  }
  const int upper_bits = code_bits - 4;
  const uint32_t mask = upper_bits == 1 ? 0x01010101 : 0x03030303;
  const int steps_of_word = upper_bits == 0 ? 0 : 8 / upper_bits;
  for (int w = 0; w < upper_bits; ++w) {
    uint32_t word = 0;
    for (int s = 0; s < steps_of_word; ++s) {
      word |= (step(w * steps_of_word + s) >> 4 & mask) << (s * upper_bits);
    }
    store(4 + w, word);
  }
}

/// The inverse of StoreCodes.
void LoadCodes(const uint8_t* words, int64_t stride, int code_bits, uint8_t* codes) {
  const auto word = [&](int w) { return LoadWord(words + w * stride); };
  const auto store = [&](int s, uint32_t step) { std::memcpy(codes + 4 * s, &step, 4); };
  for (int s = 0; s < 8; ++s) {
    if (code_bits == 8) {
      store(s, word(s));
      continue;
    }
    uint32_t step = (s < 4 ? word(s) : word(s - 4) >> 4) & 0x0f0f0f0f;
    if (code_bits == 5) step |= (word(4) >> s & 0x01010101) << 4;
    if (code_bits == 6) step |= (word(4 + s / 4) >> (2 * (s % 4)) & 0x03030303) << 4;
    store(s, step);
  }
}

/// Writes group `group` of a block to its place.
void StoreGroup(const BlockType& type, const BlockParts& parts, int64_t group,
                const GroupPlace& place, uint8_t* target) {
  StoreCodes(parts.codes + group * kGroup, type.code_bits, target + place.words, place.word_stride);
  StoreF16(target + place.scale, parts.scale);
  if (type.has_mins) StoreF16(target + place.min, parts.min);
  if (!type.has_scale_codes()) return;
  for (int h = 0; h < type.num_scales; ++h) {
    target[place.scale_codes + h * place.scale_stride] =
        static_cast<uint8_t>(parts.scale_codes[group * type.num_scales + h]);
  }
  if (type.has_mins) target[place.min_code] = parts.min_codes[group];
}

/// Calls store(group, parts, group of the block) for each group of a row of stored blocks.
template <typename Store>
void ForEachGroup(const void* blocks, DType dtype, int64_t width, Store&& store) {
  const BlockType& type = BlockTypeOf(dtype);
  BlockParts parts;
  const int64_t num_groups = NumGroups(dtype, width);
  for (int64_t group = 0; group < num_groups; ++group) {
    const int64_t in_block = group % type.num_groups();
    if (in_block == 0) {
      const int64_t block = group / type.num_groups();
      ReadBlock(dtype, static_cast<const uint8_t*>(blocks) + block * type.num_bytes, parts);
    }
    store(group, parts, in_block);
  }
}

}  // namespace

int64_t StoredRowBytes(DType dtype, int64_t width) {
  const BlockType& type = BlockTypeOf(dtype);
  return NumGroups(dtype, width) / type.num_groups() * type.num_bytes;
}

int64_t BlockRowBytes(DType dtype, int64_t width) {
  const BlockType& type = BlockTypeOf(dtype);
  const int64_t num_groups = NumGroups(dtype, width);
  return num_groups * (4 * type.code_bits + GroupScaleBytes(type)) +
         num_groups / type.num_groups() * BlockScaleBytes(type);
}

void PackBlockRow(const void* blocks, DType dtype, int64_t width, void* row) {
  const BlockType& type = BlockTypeOf(dtype);
  const int64_t num_groups = NumGroups(dtype, width);
  auto* const target = static_cast<uint8_t*>(row);
  ForEachGroup(blocks, dtype, width, [&](int64_t group, const BlockParts& parts, int64_t in_block) {
    StoreGroup(type, parts, in_block, PlaceInRow(type, num_groups, group), target);
  });
}

void DecodeBlockRow(const void* row, DType dtype, int64_t width, float* values) {
  const BlockType& type = BlockTypeOf(dtype);
  const int64_t num_groups = NumGroups(dtype, width);
  const auto* const source = static_cast<const uint8_t*>(row);
  for (int64_t group = 0; group < num_groups; ++group) {
    const GroupPlace place = PlaceInRow(type, num_groups, group);
    const float block_scale = F16ToFloat(LoadF16(source + place.scale));
    float min = type.has_mins ? F16ToFloat(LoadF16(source + place.min)) : 0.0f;
    if (type.has_scale_codes() && type.has_mins) min *= source[place.min_code];
    uint8_t codes[kGroup];
    LoadCodes(source + place.words, place.word_stride, type.code_bits, codes);
    for (int64_t k = 0; k < kGroup; ++k) {
      float scale = block_scale;
      if (type.has_scale_codes()) {
        const int64_t half = k * type.num_scales / kGroup;
        scale *= static_cast<int8_t>(source[place.scale_codes + half * place.scale_stride]);
      }
      const int code = codes[k];
      const int number = type.levels != nullptr ? type.levels[code] : code - type.zero;
      const float value = scale * static_cast<float>(number);
      values[group * kGroup + k] = type.has_mins ? value + min : value;
    }
  }
}

int64_t BlockPanelBytes(DType dtype, int64_t in_features) {
  return kPanelRows * BlockRowBytes(dtype, in_features);
}

void PackBlockPanel(const void* const* rows, int64_t num_rows, DType dtype, int64_t in_features,
                    void* panel) {
  const BlockType& type = BlockTypeOf(dtype);
  auto* const target = static_cast<uint8_t*>(panel);
  for (int64_t r = 0; r < num_rows; ++r) {
    ForEachGroup(rows[r], dtype, in_features,
                 [&](int64_t group, const BlockParts& parts, int64_t in_block) {
                   StoreGroup(type, parts, in_block, PlaceInPanel(type, group, r), target);
                 });
  }
}

bool BlocksAreFinite(const void* blocks, DType dtype, int64_t num_rows, int64_t width,
                     ThreadPool& pool) {
  const BlockType& type = BlockTypeOf(dtype);
  std::atomic<bool> finite = true;
  pool.ParallelFor(num_rows, /*grain=*/16, [&](int64_t begin, int64_t end) {
    const int64_t num_blocks = (end - begin) * width / type.num_elements;
    const auto* block = static_cast<const uint8_t*>(blocks) + begin * StoredRowBytes(dtype, width);
    for (int64_t b = 0; b < num_blocks; ++b, block += type.num_bytes) {
      constexpr int kInfinity = 0x7c00;  // and NaN above it
      const auto is_finite = [&](int64_t at) {
        return (LoadF16(block + at) & kInfinity) != kInfinity;
      };
      if (!is_finite(type.scale_offset) || (type.has_mins && !is_finite(2))) finite = false;
    }
  });
  return finite;
}

}  // namespace shortlist

#include "base/weight_block.h"

#include <cstring>
#include <iterator>

#include "base/check.h"

namespace shortlist {
namespace {

/// In the order of DType, from kQ40 on. The code of weight 0 of Q8_0 is that of BlockParts.
constexpr BlockType kTypes[] = {
    {"Q4_0", 32, 18, 4, 8, false, 1, nullptr, 0},
    {"Q4_1", 32, 20, 4, 0, true, 1, nullptr, 0},
    {"Q5_0", 32, 22, 5, 16, false, 1, nullptr, 0},
    {"Q5_1", 32, 24, 5, 0, true, 1, nullptr, 0},
    {"Q8_0", 32, 34, 8, 128, false, 1, nullptr, 0},
    {"Q4_K", 256, 144, 4, 0, true, 1, nullptr, 0},
    {"Q5_K", 256, 176, 5, 0, true, 1, nullptr, 0},
    {"Q6_K", 256, 210, 6, 32, false, 2, nullptr, 208},
    {"IQ4_NL", 32, 18, 4, 0, false, 1, kIq4NlLevels, 0},
};

uint16_t Bits16(const uint8_t* bytes) {
  uint16_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

/// 32 codes of 4 bits: the low nibbles are codes 0 to 15.
void ReadNibbles(const uint8_t* bytes, uint8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = bytes[i] & 15;
    codes[i + 16] = bytes[i] >> 4;
  }
}

/// Bit i of `bits` is the fifth bit of code i.
void AddFifthBits(const uint8_t* bits, uint8_t* codes) {
  for (int i = 0; i < 32; ++i) codes[i] |= static_cast<uint8_t>((bits[i / 8] >> (i % 8) & 1) << 4);
}

/// Q4_0, Q4_1, Q5_0, Q5_1 and IQ4_NL.
void ReadGroup(const BlockType& type, const uint8_t* block, BlockParts& parts) {
  block += type.has_mins ? 4 : 2;
  const uint8_t* const fifth_bits = block;
  if (type.code_bits == 5) block += 4;
  ReadNibbles(block, parts.codes);
  if (type.code_bits == 5) AddFifthBits(fifth_bits, parts.codes);
}

void ReadQ80(const uint8_t* block, BlockParts& parts) {
  for (int i = 0; i < 32; ++i) parts.codes[i] = block[2 + i] ^ 0x80;
}

/// Q4_K and Q5_K: scale and minimum, 8 pairs of codes of 6 bits, fifth bits, codes.
void ReadK(const BlockType& type, const uint8_t* block, BlockParts& parts) {
  parts.min ^= 0x8000;  // it is subtracted
  const uint8_t* const packed = block + 4;
  for (int s = 0; s < 4; ++s) {
    parts.scale_codes[s] = static_cast<int8_t>(packed[s] & 63);
    parts.min_codes[s] = packed[s + 4] & 63;
    parts.scale_codes[s + 4] = static_cast<int8_t>((packed[s + 8] & 15) | (packed[s] >> 6) << 4);
    parts.min_codes[s + 4] = static_cast<uint8_t>((packed[s + 8] >> 4) | (packed[s + 4] >> 6) << 4);
  }
  const uint8_t* const fifth_bits = block + 16;  // bit s of byte e: of code e of group s
  const uint8_t* const codes = block + (type.code_bits == 5 ? 48 : 16);
  for (int pair = 0; pair < 4; ++pair) {  // of groups, in the low and the high nibbles
    uint8_t* const low = parts.codes + pair * 64;
    for (int e = 0; e < 32; ++e) {
      low[e] = codes[pair * 32 + e] & 15;
      low[e + 32] = codes[pair * 32 + e] >> 4;
    }
  }
  if (type.code_bits == 4) return;
  for (int group = 0; group < 8; ++group) {
    uint8_t* const target = parts.codes + group * 32;
    for (int e = 0; e < 32; ++e) {
      target[e] = static_cast<uint8_t>(target[e] | (fifth_bits[e] >> group & 1) << 4);
    }
  }
}

void ReadQ6K(const uint8_t* block, BlockParts& parts) {
  for (int half = 0; half < 2; ++half) {
    const uint8_t* const low = block + half * 64;
    const uint8_t* const high = block + 128 + half * 32;
    uint8_t* const codes = parts.codes + half * 128;
    for (int e = 0; e < 32; ++e) {
      codes[e] = static_cast<uint8_t>((low[e] & 15) | (high[e] & 3) << 4);
      codes[e + 32] = static_cast<uint8_t>((low[e + 32] & 15) | (high[e] >> 2 & 3) << 4);
      codes[e + 64] = static_cast<uint8_t>(low[e] >> 4 | (high[e] >> 4 & 3) << 4);
      codes[e + 96] = static_cast<uint8_t>(low[e + 32] >> 4 | (high[e] >> 6) << 4);
    }
  }
  std::memcpy(parts.scale_codes, block + 192, 16);
}

}  // namespace

const BlockType& BlockTypeOf(DType dtype) {
  SHORTLIST_CHECK(IsBlocked(dtype));
  const auto index = static_cast<size_t>(dtype) - static_cast<size_t>(DType::kQ40);
  SHORTLIST_CHECK(index < std::size(kTypes));
  return kTypes[index];
}

void ReadBlock(DType dtype, const uint8_t* block, BlockParts& parts) {
  const BlockType& type = BlockTypeOf(dtype);
  parts.scale = Bits16(block + type.scale_offset);
  parts.min = type.has_mins ? Bits16(block + 2) : uint16_t{0};
  switch (dtype) {
    case DType::kQ80:
      return ReadQ80(block, parts);
    case DType::kQ4K:
    case DType::kQ5K:
      return ReadK(type, block, parts);
    case DType::kQ6K:
      return ReadQ6K(block, parts);
    default:
      return ReadGroup(type, block, parts);
  }
}

void DecodeBlock(DType dtype, const uint8_t* block, float* values) {
  const BlockType& type = BlockTypeOf(dtype);
  BlockParts parts;
  ReadBlock(dtype, block, parts);
  const float block_scale = F16ToFloat(parts.scale), block_min = F16ToFloat(parts.min);
  const int64_t scaled = BlockType::kGroup / type.num_scales;  // weights that share a scale
  const bool has_codes = type.has_scale_codes();
  for (int64_t i = 0; i < type.num_elements; ++i) {
    const int64_t part = i / scaled, group = i / BlockType::kGroup;
    const float scale = has_codes ? block_scale * parts.scale_codes[part] : block_scale;
    const float min = has_codes ? block_min * parts.min_codes[group] : block_min;
    const int number =
        type.levels != nullptr ? type.levels[parts.codes[i]] : parts.codes[i] - type.zero;
    const float value = scale * static_cast<float>(number);
    values[i] = type.has_mins ? value + min : value;
  }
}

}  // namespace shortlist

#include "base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace shortlist {
namespace {

enum class SequenceKind { kWellFormed, kBroken, kIncomplete };

struct Sequence {
  SequenceKind kind;
  size_t size;  // bytes of the sequence, or of its maximal subpart; at least 1
};

/// Returns the first sequence of `bytes`, which is not empty.
Sequence FirstSequence(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {SequenceKind::kWellFormed, 1};
  if (lead < 0xC2 || lead > 0xF4) return {SequenceKind::kBroken, 1};
  const size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and all above U+10FFFF.
  uint8_t low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  for (size_t i = 1; i < size; ++i) {
    if (i == bytes.size()) return {SequenceKind::kIncomplete, i};
    if (byte(i) < low || byte(i) > high) return {SequenceKind::kBroken, i};
    low = 0x80;
    high = 0xBF;
  }
  return {SequenceKind::kWellFormed, size};
}

bool BeginsWithEightAscii(std::string_view text, size_t offset) {
  uint64_t block = 0;
  if (text.size() - offset < sizeof(block)) return false;
  std::memcpy(&block, text.data() + offset, sizeof(block));
  return (block & 0x8080808080808080) == 0;
}

}  // namespace

std::optional<size_t> FindInvalidUtf8(std::string_view text) {
  for (size_t offset = 0; offset < text.size();) {
    if (BeginsWithEightAscii(text, offset)) {
      offset += 8;
      continue;
    }
    const Sequence sequence = FirstSequence(text.substr(offset));
    if (sequence.kind != SequenceKind::kWellFormed) return offset;
    offset += sequence.size;
  }
  return std::nullopt;
}

size_t AppendUtf8(std::string_view bytes, std::string& text, Replacement replacement) {
  while (!bytes.empty()) {
    const Sequence sequence = FirstSequence(bytes);
    if (sequence.kind == SequenceKind::kIncomplete) return bytes.size();
    if (sequence.kind == SequenceKind::kWellFormed) {
      text.append(bytes.substr(0, sequence.size));
    } else {
      AppendReplaced(sequence.size, text, replacement);
    }
    bytes.remove_prefix(sequence.size);
  }
  return 0;
}

void AppendReplaced(size_t num_left_out, std::string& text, Replacement replacement) {
  if (replacement == Replacement::kPerSubpart) num_left_out = std::min<size_t>(num_left_out, 1);
  for (size_t i = 0; i < num_left_out; ++i) text.append(kReplacementCharacter);
}

}  // namespace shortlist

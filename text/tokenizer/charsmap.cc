#include "text/tokenizer/charsmap.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "text/unicode.h"

namespace shortlist {
namespace {

uint32_t LittleEndian32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// Fields of a unit in the layout of Darts-clone.
bool HasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t Value(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t Label(uint32_t unit) { return unit & 0x800000FF; }
uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

}  // namespace

absl::StatusOr<Charsmap> Charsmap::Parse(std::string_view bytes) {
  if (bytes.size() < 4) return absl::InvalidArgumentError("charsmap shorter than its header");
  const uint32_t trie_bytes = LittleEndian32(bytes, 0);
  if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes > bytes.size() - 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("charsmap of ", bytes.size(), " bytes says that its trie has ", trie_bytes));
  }
  Charsmap map;
  map.units_.resize(trie_bytes / 4);
  for (size_t i = 0; i < map.units_.size(); ++i) map.units_[i] = LittleEndian32(bytes, 4 + 4 * i);
  map.replacements_ = bytes.substr(4 + trie_bytes);
  if (const std::optional<size_t> offset = FindInvalidUtf8(map.replacements_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("charsmap's replacements are not valid UTF-8 at byte ", *offset));
  }
  if (map.replacements_.empty() || map.replacements_.back() != '\0') map.replacements_ += '\0';
  return map;
}

std::optional<std::string_view> Charsmap::Find(std::string_view text) const {
  size_t node = Offset(units_[0]);
  for (const char c : text) {
    const uint8_t byte = static_cast<uint8_t>(c);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || Label(units_[node]) != byte) return std::nullopt;
    const uint32_t unit = units_[node];
    node ^= Offset(unit);
    if (!HasLeaf(unit)) continue;
    if (node >= units_.size() || Value(units_[node]) >= replacements_.size()) return std::nullopt;
    const size_t begin = Value(units_[node]);
    // A damaged table may point into the middle of a character.
    if ((replacements_[begin] & 0xC0) == 0x80) return std::nullopt;
    const size_t end = replacements_.find('\0', begin);
    return std::string_view(replacements_).substr(begin, end - begin);
  }
  return std::nullopt;
}

void Charsmap::AppendNormalized(std::string_view grapheme, std::string& out) const {
  constexpr size_t kMaxWholeBytes = 5;
  if (grapheme.size() <= kMaxWholeBytes) {
    if (const auto replacement = Find(grapheme)) {
      out.append(*replacement);
      return;
    }
  }
  for (size_t i = 0; i < grapheme.size();) {
    const std::string_view character = grapheme.substr(i, SequenceSize(grapheme[i]));
    out.append(Find(character).value_or(character));
    i += character.size();
  }
}

std::optional<std::string> Charsmap::Normalize(std::string_view text, size_t max_bytes) const {
  std::string out;
  out.reserve(text.size());
  size_t begin = 0;
  for (const size_t end : GraphemeEnds(text)) {
    AppendNormalized(text.substr(begin, end - begin), out);
    begin = end;
    if (out.size() > max_bytes) return std::nullopt;
  }
  return out;
}

}  // namespace shortlist

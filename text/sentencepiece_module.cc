#include <sentencepiece_processor.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <utility>

#include "text/sentencepiece_model.h"
#include "text/utf8.h"

namespace shortlist {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

// What the public interface does not tell, read from the file itself. Numbers of
// sentencepiece_model.proto.
constexpr uint64_t kTrainerSpec = 2, kNormalizerSpec = 3, kDenormalizerSpec = 5;
constexpr uint64_t kByteFallback = 35, kUnkSurface = 44;
constexpr uint64_t kPrecompiledCharsmap = 2, kAddDummyPrefix = 3, kRemoveExtraWhitespaces = 4;

struct Specs {
  std::string unk_surface = " \xE2\x81\x87 ";
  std::string_view charsmap;
  std::string_view denormalizer_charsmap;
  bool byte_fallback = false;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
};

/// One field of a protobuf message: `bytes` of a length-delimited one, otherwise `value`.
struct ProtoField {
  uint64_t number = 0;
  uint64_t value = 0;
  std::string_view bytes;
};

bool ReadVarint(std::string_view& message, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (message.empty()) return false;
    const uint8_t byte = static_cast<uint8_t>(message.front());
    message.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/// Calls visit(field) for each field of `message`. False when it is not well formed or visit says
/// so.
template <typename Visit>
bool ForEachField(std::string_view message, Visit visit) {
  while (!message.empty()) {
    ProtoField field;
    uint64_t tag = 0;
    uint64_t size = 0;
    if (!ReadVarint(message, tag)) return false;
    field.number = tag >> 3;
    switch (tag & 7) {
      case 0:
        if (!ReadVarint(message, field.value)) return false;
        break;
      case 1:
        size = 8;
        break;
      case 2:
        if (!ReadVarint(message, size)) return false;
        break;
      case 5:
        size = 4;
        break;
      default:
        return false;
    }
    if (size > message.size()) return false;
    field.bytes = message.substr(0, size);
    message.remove_prefix(size);
    if (!visit(field)) return false;
  }
  return true;
}

bool ReadSpecs(std::string_view serialized, Specs& specs) {
  return ForEachField(serialized, [&](const ProtoField& part) {
    switch (part.number) {
      case kTrainerSpec:
        return ForEachField(part.bytes, [&](const ProtoField& field) {
          if (field.number == kUnkSurface) specs.unk_surface = field.bytes;
          if (field.number == kByteFallback) specs.byte_fallback = field.value != 0;
          return true;
        });
      case kNormalizerSpec:
        return ForEachField(part.bytes, [&](const ProtoField& field) {
          if (field.number == kPrecompiledCharsmap) specs.charsmap = field.bytes;
          if (field.number == kAddDummyPrefix) specs.add_dummy_prefix = field.value != 0;
          if (field.number == kRemoveExtraWhitespaces) {
            specs.remove_extra_whitespaces = field.value != 0;
          }
          return true;
        });
      case kDenormalizerSpec:
        return ForEachField(part.bytes, [&](const ProtoField& field) {
          if (field.number == kPrecompiledCharsmap) specs.denormalizer_charsmap = field.bytes;
          return true;
        });
      default:
        return true;
    }
  });
}

/// SentencePiece walks the normaliser's double array (darts-clone) without bounds. This checks that
/// no walk leaves it and that each value lies within the replacement strings.
bool CharsmapIsSound(std::string_view charsmap) {
  if (charsmap.empty()) return true;
  uint32_t trie_bytes = 0;
  if (charsmap.size() < sizeof(trie_bytes)) return false;
  std::memcpy(&trie_bytes, charsmap.data(), sizeof(trie_bytes));
  charsmap.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes >= charsmap.size()) return false;

  std::vector<uint32_t> units(trie_bytes / 4);
  std::memcpy(units.data(), charsmap.data(), trie_bytes);
  const uint64_t replacements_bytes = charsmap.size() - trie_bytes;
  for (uint32_t position = 0; position < units.size(); ++position) {
    const uint32_t unit = units[position];
    const bool is_value = (unit >> 31) != 0;
    if (is_value && position != 0) continue;
    const uint32_t offset = (unit >> 10) << ((unit & (1u << 9)) >> 6);
    const uint32_t child = position ^ offset;
    if ((child | 0xFF) >= units.size()) return false;
    const bool has_value = (unit >> 8 & 1) != 0;
    if (has_value && (units[child] & 0x7FFFFFFF) >= replacements_bytes) return false;
  }
  return true;
}

/// The byte that "<0x0A>" names, or -1.
int ParseBytePiece(std::string_view name) {
  if (name.size() != 6 || !name.starts_with("<0x") || name.back() != '>') return -1;
  int byte = 0;
  for (const char digit : name.substr(3, 2)) {
    const size_t value = std::string_view("0123456789ABCDEF").find(digit);
    if (value == std::string_view::npos) return -1;
    byte = byte * 16 + static_cast<int>(value);
  }
  return byte;
}

std::string WithSpaces(std::string_view name) {
  std::string bytes;
  while (!name.empty()) {
    const bool is_space = name.starts_with(kSpaceMark);
    bytes.push_back(is_space ? ' ' : name.front());
    name.remove_prefix(is_space ? kSpaceMark.size() : 1);
  }
  return bytes;
}

class Model final : public SentencePieceModel {
 public:
  static LoadResult Load(std::string_view serialized);
  std::optional<int32_t> FindPiece(std::string_view name) const override;
  std::variant<std::vector<int32_t>, std::string> Encode(std::string_view text) const override;

 private:
  sentencepiece::SentencePieceProcessor processor_;
};

SentencePieceModel::LoadResult Model::Load(std::string_view serialized) {
  Specs specs;
  if (serialized.empty()) return "empty file";
  if (!ReadSpecs(serialized, specs)) return "not a SentencePiece model, or a truncated one";
  if (!CharsmapIsSound(specs.charsmap)) return "damaged normalisation table";
  if (!specs.denormalizer_charsmap.empty()) return "a denormalizer_spec is not supported";

  auto model = std::make_unique<Model>();
  try {
    const auto status = model->processor_.LoadFromSerializedProto(serialized);
    if (!status.ok()) return std::string("not a SentencePiece model: ") + status.message();
  } catch (const std::exception& error) {
    return std::string("not a SentencePiece model: ") + error.what();
  }

  const auto& processor = model->processor_;
  for (int32_t id = 0; id < processor.GetPieceSize(); ++id) {
    const std::string& name = processor.IdToPiece(id);
    const std::string where = "piece " + std::to_string(id);
    if (FindInvalidUtf8(name).has_value() || name.find('\0') != std::string::npos) {
      return where + " is not UTF-8 or contains a NUL byte";
    }
    if (std::isnan(processor.GetScore(id))) return where + " has score NaN";
    Piece piece;
    piece.name = name;
    if (processor.IsControl(id)) {
      piece.is_control = true;
    } else if (processor.IsUnknown(id)) {
      piece.bytes = specs.unk_surface;
    } else if (processor.IsByte(id)) {
      const int byte = ParseBytePiece(name);
      if (byte < 0) return where + " is of type BYTE but not named <0x00> to <0xFF>";
      piece.bytes = static_cast<char>(byte);
    } else {
      piece.bytes = WithSpaces(name);
      piece.begins_with_space_mark = name.starts_with(kSpaceMark);
    }
    model->pieces_.push_back(std::move(piece));
  }
  if (const int bos = processor.bos_id(); bos >= 0) model->bos_ = bos;
  if (const int eos = processor.eos_id(); eos >= 0) model->eos_ = eos;
  model->add_dummy_prefix_ = specs.add_dummy_prefix;
  model->remove_extra_whitespaces_ = specs.remove_extra_whitespaces;
  if (specs.byte_fallback && specs.charsmap.empty() && !specs.remove_extra_whitespaces) {
    size_t longest = 1;
    for (const Piece& piece : model->pieces_) longest = std::max(longest, piece.name.size());
    model->max_token_bytes_ = static_cast<int64_t>(longest);
  }
  return model;
}

std::optional<int32_t> Model::FindPiece(std::string_view name) const {
  const int id = processor_.PieceToId(name);
  if (id < 0 || id >= size() || pieces_[id].name != name) return std::nullopt;
  return id;
}

std::variant<std::vector<int32_t>, std::string> Model::Encode(std::string_view text) const {
  std::vector<int32_t> ids;
  try {
    const auto status = processor_.Encode(text, &ids);
    if (!status.ok()) return std::string(status.message());
  } catch (const std::exception& error) {
    return std::string(error.what());
  }
  return ids;
}

}  // namespace
}  // namespace shortlist

/// What text/sentencepiece_model.cc looks up in this module.
extern "C" __attribute__((visibility("default"))) shortlist::SentencePieceModel::LoadResult
ShortlistLoadSentencePiece(std::string_view serialized) {
  return shortlist::Model::Load(serialized);
}

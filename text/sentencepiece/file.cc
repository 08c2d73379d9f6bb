#include "text/sentencepiece/file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_set>

#include "base/utf8.h"
#include "text/sentencepiece/charsmap.h"

namespace shortlist {
namespace {

using PieceType = SentencePieceFile::PieceType;

const char* const kNotWellFormed = "not a SentencePiece model, or a truncated one";

const char* const kNoField = " exists in no version of SentencePiece: the file is damaged";

// Wire types of protobuf.
enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Field numbers and wire types of sentencepiece_model.proto, as far as libsentencepiece reads them.
struct Schema {
  uint64_t number;
  WireType type;
};
constexpr uint64_t kFirstExtension = 200;  // of the whole model and of a piece
namespace model {
constexpr uint64_t kPiece = 1, kTrainerSpec = 2, kNormalizerSpec = 3, kSelfTestData = 4,
                   kDenormalizerSpec = 5;
}
namespace piece {
constexpr uint64_t kName = 1, kScore = 2, kType = 3;
constexpr Schema kSchema[] = {{kName, kBytes}, {kScore, kFixed32}, {kType, kVarint}};  // all of it
}  // namespace piece
namespace trainer {
constexpr uint64_t kBpe = 2;  // a model_type
constexpr uint64_t kModelType = 3, kSuffix = 24, kByteFallback = 35, kUnkSurface = 44;
constexpr Schema kSchema[] = {
    {kModelType, kVarint}, {kSuffix, kVarint}, {26, kVarint}, {kByteFallback, kVarint},
    {40, kVarint},         {41, kVarint},      {42, kVarint}, {43, kVarint},
    {kUnkSurface, kBytes}, {45, kBytes},       {46, kBytes},  {47, kBytes},
    {48, kBytes}};
}  // namespace trainer
namespace normalizer {
constexpr uint64_t kCharsmap = 2, kAddDummyPrefix = 3, kRemoveExtraWhitespaces = 4,
                   kMarksSpaces = 5;
constexpr Schema kSchema[] = {{1, kBytes},
                              {kCharsmap, kBytes},
                              {kAddDummyPrefix, kVarint},
                              {kRemoveExtraWhitespaces, kVarint},
                              {kMarksSpaces, kVarint},
                              {6, kBytes}};
}  // namespace normalizer

/// One field of a protobuf message: `bytes` if length-delimited or fixed, otherwise `value`.
struct ProtoField {
  uint64_t number = 0;
  WireType type = kVarint;
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

bool ReadField(std::string_view& message, ProtoField& field) {
  uint64_t tag = 0;
  if (!ReadVarint(message, tag) || tag > std::numeric_limits<uint32_t>::max()) return false;
  field.number = tag >> 3;
  field.type = static_cast<WireType>(tag & 7);
  uint64_t size = 0;
  switch (field.type) {
    case kVarint:
      if (!ReadVarint(message, field.value)) return false;
      break;
    case kFixed64:
      size = 8;
      break;
    case kBytes:
      if (!ReadVarint(message, size)) return false;
      break;
    case kFixed32:
      size = 4;
      break;
    default:
      return false;
  }
  if (field.number == 0 || size > message.size()) return false;
  field.bytes = message.substr(0, size);
  message.remove_prefix(size);
  return true;
}

/// Calls visit(field) for each field of `message` until it returns a non-empty string. Returns that
/// string, a description of a malformed message, or an empty string.
template <typename Visit>
std::string ForEachField(std::string_view message, Visit visit) {
  while (!message.empty()) {
    ProtoField field;
    if (!ReadField(message, field)) return kNotWellFormed;
    if (std::string problem = visit(field); !problem.empty()) return problem;
  }
  return "";
}

/// Like ForEachField(), for a message of `schema`. Visits only fields of the schema, and reports
/// one of another wire type, one that appears twice, and other fields below `first_ignored`.
template <size_t kSize, typename Visit>
std::string ForEachKnownField(const char* name, const Schema (&schema)[kSize],
                              std::string_view message, Visit visit, uint64_t first_ignored = 0) {
  std::array<bool, kSize> seen{};
  return ForEachField(message, [&](const ProtoField& field) -> std::string {
    for (size_t i = 0; i < kSize; ++i) {
      if (schema[i].number != field.number) continue;
      const std::string where = std::string(name) + " field " + std::to_string(field.number);
      if (schema[i].type != field.type) {
        return where + " has wire type " + std::to_string(field.type) + ", not " +
               std::to_string(schema[i].type);
      }
      if (seen[i]) return where + " appears twice";
      seen[i] = true;
      return visit(field);
    }
    if (field.number >= first_ignored) return "";
    return std::string(name) + " field " + std::to_string(field.number) + kNoField;
  });
}

class Parser {
 public:
  std::string Parse(std::string_view serialized) {
    std::array<bool, 6> seen{};
    const std::string problem = ForEachField(serialized, [&](const ProtoField& field) {
      if (field.number >= kFirstExtension) return std::string();
      const std::string where = "field " + std::to_string(field.number);
      if (field.number > model::kDenormalizerSpec) return where + kNoField;
      if (field.type != kBytes) return where + " is no message";
      if (field.number != model::kPiece && seen[field.number]) return where + " appears twice";
      seen[field.number] = true;
      return ParsePart(field);
    });
    return problem.empty() ? CheckWhole() : problem;
  }

  SentencePieceFile Take() { return std::move(file_); }

 private:
  std::string ParsePart(const ProtoField& part) {
    switch (part.number) {
      case model::kPiece:
        return ParsePiece(part.bytes);
      case model::kTrainerSpec:
        return ForEachKnownField("trainer_spec", trainer::kSchema, part.bytes,
                                 [this](const ProtoField& field) { return ReadTrainer(field); });
      case model::kNormalizerSpec:
        return ForEachKnownField("normalizer_spec", normalizer::kSchema, part.bytes,
                                 [this](const ProtoField& field) { return ReadNormalizer(field); });
      case model::kSelfTestData:
        if (part.bytes.size() <= SentencePieceFile::kMaxSelfTestBytes) return "";
        return "self_test_data has " + std::to_string(part.bytes.size()) + " bytes, more than " +
               std::to_string(SentencePieceFile::kMaxSelfTestBytes);
      default:
        return ForEachKnownField("denormalizer_spec", normalizer::kSchema, part.bytes,
                                 [](const ProtoField& field) -> std::string {
                                   const bool is_map = field.number == normalizer::kCharsmap &&
                                                       !field.bytes.empty();
                                   return is_map ? "a denormalizer_spec is not supported" : "";
                                 });
    }
  }

  std::string ParsePiece(std::string_view message) {
    SentencePieceFile::Piece piece;
    const std::string where = "piece " + std::to_string(file_.pieces.size());
    const std::string problem = ForEachKnownField(
        where.c_str(), piece::kSchema, message,
        [&](const ProtoField& field) -> std::string {
          if (field.number == piece::kName) {
            piece.name = field.bytes;
          } else if (field.number == piece::kScore) {
            uint32_t bits = 0;
            for (int i = 3; i >= 0; --i) bits = bits << 8 | static_cast<uint8_t>(field.bytes[i]);
            piece.score = std::bit_cast<float>(bits);
          } else if (field.value < 1 || field.value > 6) {
            return where + " has type " + std::to_string(field.value) + ", not in [1, 6]";
          } else {
            piece.type = static_cast<PieceType>(field.value);
          }
          return "";
        },
        kFirstExtension);
    if (!problem.empty()) return problem;
    if (piece.name.empty() || piece.name.size() > SentencePieceFile::kMaxPieceBytes) {
      return where + " has " + std::to_string(piece.name.size()) + " bytes, not in [1, " +
             std::to_string(SentencePieceFile::kMaxPieceBytes) + "]";
    }
    if (FindInvalidUtf8(piece.name).has_value() ||
        piece.name.find('\0') != std::string_view::npos) {
      return where + " is not UTF-8 or contains a NUL byte";
    }
    if (!std::isfinite(piece.score)) return where + " has a score that is not finite";
    if (file_.pieces.size() >= SentencePieceFile::kMaxPieces) {
      return "more than " + std::to_string(SentencePieceFile::kMaxPieces) + " pieces";
    }
    pieces_bytes_ += piece.name.size();
    if (pieces_bytes_ > SentencePieceFile::kMaxPiecesBytes) {
      return "the pieces have more than " + std::to_string(SentencePieceFile::kMaxPiecesBytes) +
             " bytes";
    }
    file_.pieces.push_back(piece);
    return "";
  }

  std::string ReadTrainer(const ProtoField& field) {
    if (field.type == kBytes && (field.bytes.size() > SentencePieceFile::kMaxPieceBytes ||
                                 FindInvalidUtf8(field.bytes).has_value())) {
      return "trainer_spec field " + std::to_string(field.number) + " of " +
             std::to_string(field.bytes.size()) + " bytes is not valid UTF-8 of at most " +
             std::to_string(SentencePieceFile::kMaxPieceBytes) + " bytes";
    }
    if (field.number == trainer::kModelType && (field.value < 1 || field.value > 4)) {
      return "model_type is " + std::to_string(field.value) + ", not in [1, 4]";
    }
    if (field.number == trainer::kUnkSurface) file_.unk_surface = field.bytes;
    if (field.number == trainer::kModelType) file_.is_bpe = field.value == trainer::kBpe;
    if (field.number == trainer::kSuffix) file_.marks_follow_words = field.value != 0;
    if (field.number == trainer::kByteFallback) file_.byte_fallback = field.value != 0;
    return "";
  }

  std::string ReadNormalizer(const ProtoField& field) {
    if (field.number == normalizer::kCharsmap) {
      if (!CharsmapIsSound(field.bytes)) return "damaged normalisation table";
      file_.charsmap = field.bytes;
    }
    if (field.number == normalizer::kAddDummyPrefix) file_.add_dummy_prefix = field.value != 0;
    if (field.number == normalizer::kMarksSpaces) file_.marks_spaces = field.value != 0;
    if (field.number == normalizer::kRemoveExtraWhitespaces) {
      file_.remove_extra_whitespaces = field.value != 0;
    }
    return "";
  }

  /// Checks all pieces together.
  std::string CheckWhole() {
    std::unordered_set<std::string_view> texts, others;
    std::array<bool, 256> has_byte{};
    size_t num_unknown = 0;
    for (size_t id = 0; id < file_.pieces.size(); ++id) {
      const SentencePieceFile::Piece& piece = file_.pieces[id];
      const std::string where = "piece " + std::to_string(id);
      const bool is_text = piece.type == PieceType::kNormal || piece.type == PieceType::kUnused ||
                           piece.type == PieceType::kUserDefined;
      if (!(is_text ? texts : others).insert(piece.name).second) return where + " appears twice";
      if (piece.type == PieceType::kUnknown && ++num_unknown > 1) {
        return where + " is a second unknown piece";
      }
      if (piece.type != PieceType::kByte) continue;
      const int byte = ParseBytePiece(piece.name);
      if (byte < 0) return where + " is of type BYTE but not named <0x00> to <0xFF>";
      if (!file_.byte_fallback) return where + " is a byte, but the model has no byte_fallback";
      has_byte[static_cast<size_t>(byte)] = true;
    }
    if (num_unknown == 0) return "not a SentencePiece model: no unknown piece";
    if (file_.byte_fallback && std::count(has_byte.begin(), has_byte.end(), false) > 0) {
      return "byte_fallback without 256 byte pieces";
    }
    return CheckUserDefined();
  }

  /// libsentencepiece has room for kMaxNested user-defined pieces that are prefixes of one text.
  std::string CheckUserDefined() const {
    constexpr size_t kMaxNested = 64;
    std::vector<std::string_view> names;
    for (const SentencePieceFile::Piece& piece : file_.pieces) {
      if (piece.type == PieceType::kUserDefined) names.push_back(piece.name);
    }
    std::sort(names.begin(), names.end());
    std::vector<std::string_view> nested;  // each is a prefix of the next
    for (const std::string_view name : names) {
      while (!nested.empty() && !name.starts_with(nested.back())) nested.pop_back();
      nested.push_back(name);
      if (nested.size() > kMaxNested) {
        return "more than " + std::to_string(kMaxNested) +
               " user-defined pieces are prefixes of one another";
      }
    }
    return "";
  }

  SentencePieceFile file_;
  size_t pieces_bytes_ = 0;
};

}  // namespace

std::variant<SentencePieceFile, std::string> SentencePieceFile::Parse(std::string_view serialized) {
  if (serialized.empty()) return "empty file";
  Parser parser;
  if (std::string problem = parser.Parse(serialized); !problem.empty()) return problem;
  return parser.Take();
}

bool SentencePieceFile::IsPlainBpe() const {
  if (!is_bpe || !byte_fallback || !charsmap.empty() || remove_extra_whitespaces || !marks_spaces ||
      marks_follow_words) {
    return false;
  }
  const auto char_size = [](std::string_view name) {
    size_t size = 1;
    while (size < name.size() && (name[size] & 0xC0) == 0x80) ++size;
    return size;
  };
  std::unordered_set<std::string_view> chars;
  for (const Piece& piece : pieces) {
    const bool is_char = char_size(piece.name) == piece.name.size();
    const bool is_text = piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined;
    if (piece.type == PieceType::kUnused || (is_char && !is_text)) return false;
    if (is_char) chars.insert(piece.name);
  }
  return std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    std::string_view rest = piece.type == PieceType::kNormal ? piece.name : std::string_view();
    while (!rest.empty()) {
      const size_t size = char_size(rest);
      if (!chars.contains(rest.substr(0, size))) return false;
      rest.remove_prefix(size);
    }
    return true;
  });
}

/// Drops self tests, which expect the space. A repeated normalizer_spec is merged with the first.
std::string WithoutDummyPrefix(std::string_view serialized) {
  std::string copy;
  copy.reserve(serialized.size());
  for (std::string_view rest = serialized; !rest.empty(); serialized = rest) {
    ProtoField field;
    if (!ReadField(rest, field)) break;
    if (field.number == model::kSelfTestData) continue;
    copy.append(serialized.substr(0, serialized.size() - rest.size()));
  }
  constexpr char kOverride[] = {model::kNormalizerSpec << 3 | kBytes, 2,
                                normalizer::kAddDummyPrefix << 3 | kVarint, 0};
  copy.append(kOverride, sizeof kOverride);
  return copy;
}

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

}  // namespace shortlist

#ifndef SHORTLIST_TEXT_SENTENCEPIECE_FILE_H_
#define SHORTLIST_TEXT_SENTENCEPIECE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shortlist {

/// The contents of a `.model` file, with everything checked that libsentencepiece takes for
/// granted. The library parses the file again (SentencePieceModel::Load), so this reader and
/// protobuf must agree. Ambiguous files are therefore rejected: a field of another wire type than
/// in the schema, a message that appears twice, and the like. Uses standard types only
/// (text/sentencepiece/model.h says why). Holds views of the bytes it was read from.
struct SentencePieceFile {
  // Far beyond any real model; libsentencepiece's structures for that many pieces fit in memory.
  static constexpr size_t kMaxPieces = size_t{1} << 22;
  static constexpr size_t kMaxPiecesBytes = size_t{8} << 20;  // of all names together
  // libsentencepiece recurses over the bytes of a piece.
  static constexpr size_t kMaxPieceBytes = 1024;
  // The library encodes the self-test data when it loads the model.
  static constexpr size_t kMaxSelfTestBytes = size_t{64} << 10;

  enum class PieceType : uint8_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6
  };
  struct Piece {
    std::string_view name;  // valid UTF-8 without NUL, not empty
    PieceType type = PieceType::kNormal;
    float score = 0;  // finite
  };

  std::vector<Piece> pieces;  // one is unknown; with byte_fallback, 256 are bytes
  std::string_view unk_surface = " \xE2\x81\x87 ";
  std::string_view charsmap;  // CharsmapIsSound
  bool is_bpe = false;
  bool byte_fallback = false;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool marks_spaces = true;         // escape_whitespaces: a space becomes U+2581
  bool marks_follow_words = false;  // treat_whitespace_as_suffix

  /// True if encoding splits texts at user-defined pieces, splits the rest by byte-pair encoding
  /// over normal pieces, and does nothing else. Then a space becomes U+2581 and any other character
  /// stays; unknown text becomes bytes; and each character of a normal piece is a piece too.
  bool IsPlainBpe() const;

  /// Returns the file, or a description of what is wrong with it.
  static std::variant<SentencePieceFile, std::string> Parse(std::string_view serialized);
};

/// Returns the same model, changed so that encoding adds no space before the text. `serialized`
/// must be a file that Parse accepts.
std::string WithoutDummyPrefix(std::string_view serialized);

/// Returns the byte that a name such as "<0x0A>" stands for, or -1.
int ParseBytePiece(std::string_view name);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_SENTENCEPIECE_FILE_H_

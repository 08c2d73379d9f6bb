#ifndef SHORTLIST_TEXT_SENTENCEPIECE_FILE_H_
#define SHORTLIST_TEXT_SENTENCEPIECE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shortlist {

/// What a `.model` file says, with everything checked that libsentencepiece takes for granted. It
/// reads the file once more by itself (SentencePieceModel::Load), so what this reader understands
/// and what protobuf understands must be the same: a field of another wire type than the schema
/// says, a message that comes twice and whatever else leaves a choice is refused. Standard types
/// alone (text/sentencepiece/model.h tells why). Views of the bytes it was read from.
struct SentencePieceFile {
  // Far beyond any model there is; what libsentencepiece builds of as much fits in memory.
  static constexpr size_t kMaxPieces = size_t{1} << 22;
  static constexpr size_t kMaxPiecesBytes = size_t{8} << 20;  // of all names together
  // libsentencepiece recurses over the bytes of a piece.
  static constexpr size_t kMaxPieceBytes = 1024;
  static constexpr size_t kMaxSelfTestBytes = size_t{64}
                                              << 10;  // which the library encodes on load

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

  /// Cuts texts at its user-defined pieces, the rest by byte-pair encoding over its normal ones,
  /// and does nothing else: a space is U+2581, any other character stays as it is, what is unknown
  /// becomes bytes, and each character of a normal piece is a piece too.
  bool IsPlainBpe() const;

  /// The file, or what is wrong with it.
  static std::variant<SentencePieceFile, std::string> Parse(std::string_view serialized);
};

/// The same model, but that encoding puts no space before the text. `serialized`: of a file that
/// Parse takes.
std::string WithoutDummyPrefix(std::string_view serialized);

/// The byte that "<0x0A>" names, or -1.
int ParseBytePiece(std::string_view name);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_SENTENCEPIECE_FILE_H_

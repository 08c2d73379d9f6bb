#ifndef SHORTLIST_TEXT_SENTENCEPIECE_MODEL_H_
#define SHORTLIST_TEXT_SENTENCEPIECE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shortlist {

/// A SentencePiece model in standard types only. SentencePiece's header and abseil's Status headers
/// do not compile in one translation unit, so this header has no Status, and only the module
/// includes SentencePiece. Immutable; any thread may call any method. Ids are in [0, size()).
///
/// The implementation is in a separate module (libshortlist_sentencepiece.so), opened by the first
/// Load: Debian's libsentencepiece exports a private copy of protobuf that must not meet
/// libtorch's.
class SentencePieceModel {
 public:
  /// The model, or a description of what is wrong with its bytes.
  using LoadResult = std::variant<std::unique_ptr<SentencePieceModel>, std::string>;

  /// Reads the bytes of a `.model` file.
  static LoadResult Load(std::string_view serialized);
  virtual ~SentencePieceModel() = default;

  int32_t size() const { return static_cast<int32_t>(pieces_.size()); }
  bool is_control(int32_t id) const { return pieces_[id].is_control; }
  /// Returns the piece as the file spells it, such as "<s>", "<0x0A>" or "\u2581the".
  const std::string& name(int32_t id) const { return pieces_[id].name; }
  /// Returns the bytes that the piece stands for within a text: U+2581 is a space, a byte piece is
  /// one byte, a control piece is empty, the unknown piece is the model's unk_surface.
  const std::string& bytes(int32_t id) const { return pieces_[id].bytes; }
  /// True for a text piece that begins with U+2581. Decoding removes that mark at the start of a
  /// text.
  bool begins_with_space_mark(int32_t id) const { return pieces_[id].begins_with_space_mark; }

  virtual std::optional<int32_t> FindPiece(std::string_view name) const = 0;
  std::optional<int32_t> bos() const { return bos_; }
  std::optional<int32_t> eos() const { return eos_; }

  /// True if encoding adds a space before the text.
  bool add_dummy_prefix() const { return add_dummy_prefix_; }
  /// True if encoding drops leading spaces and merges the others. Decoding then drops all spaces at
  /// the start of a text.
  bool remove_extra_whitespaces() const { return remove_extra_whitespaces_; }

  bool has_byte_pieces() const { return has_byte_pieces_; }

  /// Maximum number of bytes of a text that one id stands for. nullopt if adjacent unknown
  /// characters become one id, or if normalisation may shorten a text.
  std::optional<int64_t> max_token_bytes() const { return max_token_bytes_; }

  /// A normal piece of a model of plain byte-pair encoding.
  struct ScoredPiece {
    int32_t id;
    float score;
  };
  /// All normal pieces if SentencePieceFile::IsPlainBpe; otherwise empty.
  const std::vector<ScoredPiece>& bpe_pieces() const { return bpe_pieces_; }
  /// All user-defined pieces if SentencePieceFile::IsPlainBpe; otherwise empty.
  const std::vector<int32_t>& bpe_user_pieces() const { return bpe_user_pieces_; }

  /// Maximum text size of a model without byte pieces; longer texts are rejected. Adjacent unknown
  /// characters become one token, and libsentencepiece takes time quadratic in their number.
  static constexpr size_t kMaxTextBytesWithoutBytes = size_t{128} << 10;

  /// Ids of valid UTF-8, or SentencePiece's error message.
  using EncodeResult = std::variant<std::vector<int32_t>, std::string>;
  virtual EncodeResult Encode(std::string_view text) const = 0;
  /// Same as Encode(), but adds no space before the text.
  virtual EncodeResult EncodeRest(std::string_view text) const = 0;

 protected:
  struct Piece {
    std::string name;
    std::string bytes;
    bool is_control = false;
    bool begins_with_space_mark = false;
  };

  std::vector<Piece> pieces_;  // [size]
  std::vector<ScoredPiece> bpe_pieces_;
  std::vector<int32_t> bpe_user_pieces_;
  std::optional<int32_t> bos_;
  std::optional<int32_t> eos_;
  bool add_dummy_prefix_ = true;
  bool remove_extra_whitespaces_ = true;
  bool has_byte_pieces_ = false;
  std::optional<int64_t> max_token_bytes_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_SENTENCEPIECE_MODEL_H_

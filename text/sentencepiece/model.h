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

/// A SentencePiece model in standard types alone: SentencePiece's header and abseil's Status
/// headers do not compile in one translation unit, so no Status here and no SentencePiece anywhere
/// else. Immutable; any thread may call any method. Ids are in [0, size()).
///
/// The implementation lives in a module of its own (libshortlist_sentencepiece.so), opened at the
/// first Load: Debian's libsentencepiece exports a private copy of protobuf that must not meet
/// libtorch's.
class SentencePieceModel {
 public:
  /// The model, or what is wrong with its bytes.
  using LoadResult = std::variant<std::unique_ptr<SentencePieceModel>, std::string>;

  /// Reads the bytes of a `.model` file.
  static LoadResult Load(std::string_view serialized);
  virtual ~SentencePieceModel() = default;

  int32_t size() const { return static_cast<int32_t>(pieces_.size()); }
  bool is_control(int32_t id) const { return pieces_[id].is_control; }
  /// The piece as the file spells it, such as "<s>", "<0x0A>" or "\u2581the".
  const std::string& name(int32_t id) const { return pieces_[id].name; }
  /// The bytes it stands for in running text: U+2581 is a space, a byte piece is one byte, a
  /// control piece nothing, the unknown piece the model's unk_surface.
  const std::string& bytes(int32_t id) const { return pieces_[id].bytes; }
  /// True for a piece of text that begins with U+2581: decoding removes that at the start of a
  /// text.
  bool begins_with_space_mark(int32_t id) const { return pieces_[id].begins_with_space_mark; }

  virtual std::optional<int32_t> FindPiece(std::string_view name) const = 0;
  std::optional<int32_t> bos() const { return bos_; }
  std::optional<int32_t> eos() const { return eos_; }

  /// Encoding puts a space before the text.
  bool add_dummy_prefix() const { return add_dummy_prefix_; }
  /// Encoding drops leading spaces and merges the others; decoding drops all that lead a text.
  bool remove_extra_whitespaces() const { return remove_extra_whitespaces_; }

  bool has_byte_pieces() const { return has_byte_pieces_; }

  /// The most bytes of a text that one id stands for; none where neighbouring unknown characters
  /// become one, or where normalisation may shorten a text.
  std::optional<int64_t> max_token_bytes() const { return max_token_bytes_; }

  /// A normal piece of a model that cuts texts by byte-pair encoding alone.
  struct ScoredPiece {
    int32_t id;
    float score;
  };
  /// All normal pieces where SentencePieceFile::IsPlainBpe; empty otherwise.
  const std::vector<ScoredPiece>& bpe_pieces() const { return bpe_pieces_; }
  /// The user-defined ones of such a model.
  const std::vector<int32_t>& bpe_user_pieces() const { return bpe_user_pieces_; }

  /// Without byte pieces, neighbouring unknown characters become one token, and libsentencepiece
  /// takes time quadratic in their number: longer texts are refused.
  static constexpr size_t kMaxTextBytesWithoutBytes = size_t{128} << 10;

  /// Ids of valid UTF-8. Otherwise the result is what SentencePiece says.
  using EncodeResult = std::variant<std::vector<int32_t>, std::string>;
  virtual EncodeResult Encode(std::string_view text) const = 0;
  /// The same without the space that goes before a text.
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

#ifndef SHORTLIST_TEXT_TOKENIZER_H_
#define SHORTLIST_TEXT_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"

namespace shortlist {

/// Turns text into token ids and back. Immutable after construction; any thread may call any
/// method.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Ids of `text`, with BOS first where the checkpoint says so. InvalidArgument when `text` is not
  /// valid UTF-8 (names the byte offset).
  virtual absl::StatusOr<std::vector<TokenId>> Encode(std::string_view text) const = 0;

  /// Number of ids; every id is below it. A model may have more embedding rows: padding, never
  /// emitted.
  virtual int64_t size() const = 0;

  /// The bytes that `id` stands for in running text: a piece with its leading space, one byte for a
  /// byte piece, nothing for a control token (BOS, EOS). `id` in [0, size()).
  virtual std::string_view TokenBytes(TokenId id) const = 0;

  /// True for control tokens, which carry no text.
  virtual bool IsSpecial(TokenId id) const = 0;

  /// The spelling of a control token, such as "</s>", and nothing for any other. It never stands in
  /// a text: Encode does not read it, Decode does not write it.
  virtual std::string_view ControlPiece(TokenId id) const = 0;

  virtual std::optional<TokenId> bos() const = 0;
  virtual std::optional<TokenId> eos() const = 0;

  /// True when text begins with a space that encoding added and decoding takes away again.
  virtual bool adds_leading_space() const = 0;

  /// The bytes that `id` adds to a text: TokenBytes, without the added leading space where
  /// `at_start` holds. `at_start` says that no text came before; it is updated for the token that
  /// follows. Decode and Detokenizer both go through here. As it stands here, control tokens leave
  /// a text at its start and any other token ends it.
  virtual std::string_view NextBytes(TokenId id, bool& at_start) const;

  /// Whole text of `ids`: their bytes joined, an added leading space removed, bytes that are no
  /// UTF-8 replaced by U+FFFD, one for each maximal ill-formed subpart (text/utf8.h).
  std::string Decode(std::span<const TokenId> ids) const;

  /// Hash over the byte strings of all tokens in id order ("fnv1a64:<16 hex digits>"). Two
  /// tokenizers with the same fingerprint give ids the same meaning; a list or a draft with another
  /// one is refused.
  ///
  /// FNV-1a, 64 bits (offset basis 0xcbf29ce484222325, prime 0x100000001b3), over, for each id from
  /// 0 on, the length of its byte string as a little-endian u32, then the string: ControlPiece(id)
  /// for a control token, TokenBytes(id) for any other. The digits are lower case.
  std::string Fingerprint() const;
};

/// Opens the tokenizer of a model directory: `tokenizer.model` (SentencePiece), with BOS and EOS
/// behaviour from `tokenizer_config.json` where it is present. NotFound names what was looked for;
/// InvalidArgument names the file that is damaged, and what it asks for that is not supported
/// (tokens beyond those of tokenizer.model, an `add_prefix_space` other than the model's).
///
/// BOS goes first unless `add_bos_token` is false or there is none; EOS goes last where
/// `add_eos_token` is true. The unknown token stands for U+2047 between two spaces, as
/// SentencePiece prints it, or for the text that the model names.
absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizer(const std::string& model_dir);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_H_

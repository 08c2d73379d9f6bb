#ifndef SHORTLIST_TEXT_TOKENIZER_H_
#define SHORTLIST_TEXT_TOKENIZER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/byte_range.h"
#include "base/ids.h"
#include "base/utf8.h"
#include "io/model_source.h"
#include "text/encode_budget.h"
#include "text/tokenizer/sequence_template.h"

namespace shortlist {

struct EncodeOptions {
  /// Adds the checkpoint's special tokens around the text: BOS, EOS, [CLS], [SEP].
  bool add_special_tokens = true;
  /// True: the spelling of a control token in the text becomes that token. False: it is encoded as
  /// ordinary text.
  bool parse_special = false;
  /// Byte ranges of the text in which no control token is recognised; used only if parse_special.
  /// A spelling that overlaps one of the ranges is encoded as ordinary text. Sorted, within the
  /// text, neither overlapping nor touching, bounds on code points. For a pair, ranges of the first
  /// text.
  std::span<const ByteRange> literal;
  /// Maximum number of ids, including those that the checkpoint adds; more are rejected. At least
  /// 0.
  int64_t max_tokens = std::numeric_limits<int64_t>::max();
};

/// How a text or a pair of texts is truncated.
struct Truncation {
  /// Which text loses tokens: the longer one until both are equally long, then both in turn; or one
  /// of them alone.
  enum class Strategy { kLongestFirst, kOnlyFirst, kOnlySecond };
  enum class Side { kRight, kLeft };  // the side that loses tokens

  std::optional<int64_t> max_len;  // in tokens, with those the checkpoint adds; nullopt: no limit
  Strategy strategy = Strategy::kLongestFirst;
  Side side = Side::kRight;
};

/// An encoded text or pair, ready for a model.
struct Encoding {
  std::vector<TokenId> ids;       // [num_tokens]
  std::vector<int32_t> type_ids;  // [num_tokens], the text that each token belongs to (BERT)
};

/// Converts text to token ids and back. Immutable after construction; any thread may call any
/// method.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The common name of the algorithm: "SentencePiece", "BPE", "WordPiece", "WordLevel", "Unigram"
  /// or "tiktoken".
  virtual std::string_view kind() const = 0;

  /// Returns the ids of `text`, with BOS and other special tokens if the checkpoint asks for them.
  /// InvalidArgument if `text` is not valid UTF-8 (names the byte offset) or longer than
  /// kMaxTextBytes, if the tokenizer's steps exceed the bytes or the time of EncodeBudget, or if a
  /// regular expression of the tokenizer takes too many steps.
  ///
  /// OutOfRange ("more than N tokens") as soon as the number of ids is certain to exceed
  /// `options.max_tokens`: at once if the text has more bytes than max_token_bytes() allows,
  /// otherwise after the word that exceeds the limit. SentencePiece encodes a text as a whole, so
  /// without such a bound its error comes at the end.
  absl::StatusOr<std::vector<TokenId>> Encode(std::string_view text,
                                              const EncodeOptions& options = {}) const;

  /// Like Encode(), for `first`, followed by `second` if given, truncated as `truncation` says.
  /// `options.max_tokens` applies before truncation. Also InvalidArgument if the limit leaves no
  /// room for the added tokens, if kOnlyFirst or kOnlySecond would have to remove all tokens of
  /// that text or more, and for kOnlySecond without a second text.
  absl::StatusOr<Encoding> EncodeSequence(std::string_view first,
                                          std::optional<std::string_view> second,
                                          const EncodeOptions& options,
                                          const Truncation& truncation) const;

  /// Maximum size of a text, far beyond any context window.
  static constexpr size_t kMaxTextBytes = size_t{16} << 20;

  /// Number of ids; every id is below it. A model may have more embedding rows: those are padding
  /// and never emitted.
  virtual int64_t size() const = 0;

  /// Maximum number of bytes of a text that one id may stand for, at least 1: a text of more than
  /// n times as many bytes has more than n ids. nullopt if there is no bound: neighbouring unknown
  /// characters become one token or vanish, text is dropped or its spaces are merged before
  /// encoding, or an added token absorbs adjacent white space.
  virtual std::optional<int64_t> max_token_bytes() const = 0;

  /// Returns the bytes that `id`, in [0, size()), stands for within a text: a piece with its
  /// leading space, one byte for a byte piece, nothing for a control token (BOS, EOS).
  virtual std::string_view TokenBytes(TokenId id) const = 0;

  /// True for control tokens, which carry no text.
  virtual bool IsSpecial(TokenId id) const = 0;

  /// Returns the spelling of a control token, such as "</s>"; empty for any other token. Encode
  /// recognises the spelling only with EncodeOptions::parse_special. Decode writes it only with
  /// `shows_controls`.
  virtual std::string_view ControlPiece(TokenId id) const = 0;

  virtual std::optional<TokenId> bos() const = 0;
  virtual std::optional<TokenId> eos() const = 0;

  /// Problems of the files that did not keep them from being loaded: special tokens that are named
  /// but have no id; a tokenizer class that does not fit its file.
  virtual std::span<const std::string> warnings() const { return {}; }

  /// True if encoding adds a space at the start of a text and decoding removes it.
  virtual bool adds_leading_space() const = 0;

  /// Returns the bytes that `id` adds to a text: TokenBytes(), without the added leading space if
  /// `at_start`. `at_start` says that no text came before; it is updated for the next token. Decode
  /// and Detokenizer both use this function. In this implementation control tokens keep `at_start`
  /// and any other token clears it.
  virtual std::string_view NextBytes(TokenId id, bool& at_start) const;

  /// Like NextBytes(), for a control token in a text that shows control tokens: returns its
  /// spelling, with a space before it if the decoder joins words by spaces. Clears `at_start`.
  virtual std::string_view NextSpelling(TokenId id, bool& at_start) const;

  /// True for a token that stands for one byte, in a vocabulary of text tokens (byte fallback).
  virtual bool IsByteToken(TokenId) const { return false; }

  /// True if decoding removes spaces before punctuation (SpaceCleaner).
  virtual bool cleans_up_spaces() const { return false; }

  /// True if decoding removes a space at the end of a text: the end of a token is written as a
  /// space, except for the last token.
  virtual bool strips_trailing_space() const { return false; }

  /// How decoding replaces bytes that are not UTF-8. Tokenizers with byte tokens and text pieces
  /// (SentencePiece, byte fallback) use one U+FFFD per byte, as SentencePiece does.
  virtual Replacement replacement() const { return Replacement::kPerSubpart; }

  /// Returns the whole text of `ids`: their bytes joined, an added leading space and a trailing
  /// space removed where the tokenizer does so, bytes that are not UTF-8 replaced, spaces cleaned
  /// up. As in the tokenizers library, a run of byte tokens that is not UTF-8 as a whole becomes
  /// one U+FFFD per token. `shows_controls`: writes control tokens too, as they are spelled.
  std::string Decode(std::span<const TokenId> ids, bool shows_controls = false) const;

  /// Returns the byte string that the fingerprint hashes: ControlPiece(id) for a control token,
  /// TokenBytes(id) for any other.
  std::string_view Spelling(TokenId id) const {
    return IsSpecial(id) ? ControlPiece(id) : TokenBytes(id);
  }

  /// Returns a hash over the byte strings of all tokens in id order ("fnv1a64:<16 hex digits>").
  /// Ids mean the same in two tokenizers with the same fingerprint. A vocab list or a draft with
  /// another fingerprint is rejected.
  ///
  /// FNV-1a, 64 bits (offset basis 0xcbf29ce484222325, prime 0x100000001b3). The input is, for each
  /// id from 0 on, the length of Spelling(id) as a little-endian u32, followed by the string. The
  /// digits are lower case.
  std::string Fingerprint() const;

 protected:
  /// Appends the ids of `text` (valid UTF-8 of at most kMaxTextBytes), without added special
  /// tokens. OutOfRange if `ids` would be longer than the budget allows.
  virtual absl::Status EncodeText(std::string_view text, const EncodeOptions& options,
                                  EncodeBudget& budget, std::vector<TokenId>& ids) const = 0;

  /// The tokens added around texts.
  virtual const SequenceTemplate& sequence_template() const = 0;

 private:
  absl::Status EncodeChecked(std::string_view text, const EncodeOptions& options,
                             int64_t num_others, std::vector<TokenId>& ids) const;
};

/// Opens the tokenizer of a model directory: the first file present of `tokenizer.json`,
/// `tokenizer.model` (SentencePiece, or ranks in tiktoken's format) and a single `*.tiktoken`.
/// `tokenizer_config.json`, if present, names BOS and EOS. NotFound names the files that were
/// looked for. InvalidArgument names the damaged file, two `*.tiktoken` files, or a requested
/// feature that is not supported.
///
/// tokenizer.json (text/tokenizer/json_tokenizer.h): options and special tokens of
/// `tokenizer_config.json` and `special_tokens_map.json` apply as in AutoTokenizer of transformers,
/// in the version that `config.json` implies (text/tokenizer/tokenizer_class.h). Truncation and
/// padding are left to the caller.
///
/// SentencePiece (text/sentencepiece/tokenizer.h): BOS is put first unless `add_bos_token` is false
/// or there is no BOS; EOS is put last if `add_eos_token` is true. Text after a control token gets
/// no leading space unless `legacy` is true, as in transformers 5. The unknown token decodes to
/// U+2047 between two spaces, as in SentencePiece, or to the text that the model names. A model
/// without byte pieces encodes texts of up to SentencePieceModel::kMaxTextBytesWithoutBytes.
///
/// Ranks (text/tokenizer/tiktoken.h): special tokens come from tokenizer_config.json.
absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizer(const ModelSource& source);

/// Like OpenTokenizer(), for one file without a tokenizer_config.json. The file is read as
/// tokenizer.json if its name ends in ".json", as ranks if it is text that holds them or its name
/// ends in ".tiktoken", otherwise as SentencePiece.
absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizerFile(const std::string& path);

/// Returns InvalidArgument if an id is not below `num_rows`, the rows of the model's embedding, and
/// names the first such id: a token added to the tokenizer alone, such as [PAD].
absl::Status CheckRows(std::span<const TokenId> ids, const Tokenizer& tokenizer, int64_t num_rows);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_H_

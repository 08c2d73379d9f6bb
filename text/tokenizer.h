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
  /// Puts round the text what the checkpoint wants there: BOS, EOS, [CLS], [SEP].
  bool add_special_tokens = true;
  /// The spelling of a control token in the text is that token. False: it is text, as whoever typed
  /// it wrote it.
  bool parse_special = false;
  /// Where parse_special holds: bytes of the text in which no control token is spelled. A spelling
  /// that any of them belongs to is text, encoded as the whole text's other words are. Sorted,
  /// within the text, neither overlapping nor touching, on code points. Of a pair, the first
  /// text's.
  std::span<const ByteRange> literal;
  /// More ids than that are refused, those that the checkpoint adds included; at least 0.
  int64_t max_tokens = std::numeric_limits<int64_t>::max();
};

/// How a text, or a pair of texts, is cut to a length.
struct Truncation {
  /// Which text loses tokens: the longer one, until both are equally long, then both by turns; or
  /// one of them alone.
  enum class Strategy { kLongestFirst, kOnlyFirst, kOnlySecond };
  enum class Side { kRight, kLeft };  // where tokens go

  std::optional<int64_t> max_len;  // in tokens, those of the checkpoint included; none: no limit
  Strategy strategy = Strategy::kLongestFirst;
  Side side = Side::kRight;
};

/// A text or a pair, ready for a model.
struct Encoding {
  std::vector<TokenId> ids;       // [num_tokens]
  std::vector<int32_t> type_ids;  // [num_tokens], which text each token belongs to (BERT)
};

/// Turns text into token ids and back. Immutable after construction; any thread may call any
/// method.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// What people call it: "SentencePiece", "BPE", "WordPiece", "WordLevel", "Unigram" or
  /// "tiktoken".
  virtual std::string_view kind() const = 0;

  /// Ids of `text`, with BOS and the like where the checkpoint says so. InvalidArgument when `text`
  /// is not valid UTF-8 (names the byte offset) or longer than kMaxTextBytes, and when the
  /// tokenizer's own steps make more of it than EncodeBudget allows; InvalidArgument when a
  /// regular expression of the tokenizer takes too many steps on it.
  ///
  /// OutOfRange ("more than N tokens") as soon as it is certain that there are more ids than
  /// `options.max_tokens`: at once where the text has more bytes than max_token_bytes() allows, and
  /// otherwise after the word that goes beyond. SentencePiece encodes a text as a whole: what the
  /// bytes do not tell is known at the end.
  absl::StatusOr<std::vector<TokenId>> Encode(std::string_view text,
                                              const EncodeOptions& options = {}) const;

  /// The same for `first`, and `second` behind it where there is one, cut to a length;
  /// `options.max_tokens` counts before that. As well InvalidArgument when the limit leaves no room
  /// for what is added, when kOnlyFirst or kOnlySecond would have to cut more than that text has,
  /// and for kOnlySecond without a second.
  absl::StatusOr<Encoding> EncodeSequence(std::string_view first,
                                          std::optional<std::string_view> second,
                                          const EncodeOptions& options,
                                          const Truncation& truncation) const;

  /// Far beyond any context window.
  static constexpr size_t kMaxTextBytes = size_t{16} << 20;

  /// Number of ids; every id is below it. A model may have more embedding rows: padding, never
  /// emitted.
  virtual int64_t size() const = 0;

  /// The most bytes of a text that one id may stand for: text of more than n times as many bytes
  /// has more than n ids. None where an id may stand for any number of bytes: where neighbouring
  /// unknown characters become one token or vanish, where text is dropped or its spaces are merged
  /// before it is encoded, and where an added token takes white space along. At least 1.
  virtual std::optional<int64_t> max_token_bytes() const = 0;

  /// The bytes that `id` stands for in running text: a piece with its leading space, one byte for a
  /// byte piece, nothing for a control token (BOS, EOS). `id` in [0, size()).
  virtual std::string_view TokenBytes(TokenId id) const = 0;

  /// True for control tokens, which carry no text.
  virtual bool IsSpecial(TokenId id) const = 0;

  /// The spelling of a control token, such as "</s>", and nothing for any other. Encode reads it
  /// only where EncodeOptions::parse_special asks for it, Decode does not write it.
  virtual std::string_view ControlPiece(TokenId id) const = 0;

  virtual std::optional<TokenId> bos() const = 0;
  virtual std::optional<TokenId> eos() const = 0;

  /// What a user should know of the files though they make a tokenizer: special tokens that are
  /// named, but have no id; a class of the tokenizer that does not fit its file.
  virtual std::span<const std::string> warnings() const { return {}; }

  /// True when text begins with a space that encoding added and decoding takes away again.
  virtual bool adds_leading_space() const = 0;

  /// The bytes that `id` adds to a text: TokenBytes, without the added leading space where
  /// `at_start` holds. `at_start` says that no text came before; it is updated for the token that
  /// follows. Decode and Detokenizer both go through here. As it stands here, control tokens leave
  /// a text at its start and any other token ends it.
  virtual std::string_view NextBytes(TokenId id, bool& at_start) const;

  /// The same of a control token in a text that shows them: its spelling, and the space before it
  /// where a decoder joins words by spaces. It ends the start of a text.
  virtual std::string_view NextSpelling(TokenId id, bool& at_start) const;

  /// True for a token that stands for one byte, beside others that are text (byte fallback).
  virtual bool IsByteToken(TokenId) const { return false; }

  /// True when spaces before punctuation go from a decoded text (SpaceCleaner).
  virtual bool cleans_up_spaces() const { return false; }

  /// True when the space at the end of a text goes: a token's end is written as a space, and that
  /// of the last one as nothing.
  virtual bool strips_trailing_space() const { return false; }

  /// What stands in a text for bytes that are not UTF-8: with byte tokens beside pieces of text
  /// (SentencePiece, byte fallback) one U+FFFD for each, as SentencePiece has it.
  virtual Replacement replacement() const { return Replacement::kPerSubpart; }

  /// Whole text of `ids`: their bytes joined, an added leading space and one at the end that goes
  /// removed, bytes that are not UTF-8 replaced, spaces cleaned up. As in the tokenizers library a
  /// run of byte tokens that is not UTF-8 as a whole becomes as many U+FFFD. `shows_controls`:
  /// control tokens are written too, as spelled.
  std::string Decode(std::span<const TokenId> ids, bool shows_controls = false) const;

  /// The byte string that a fingerprint hashes: ControlPiece(id) for a control token,
  /// TokenBytes(id) for any other.
  std::string_view Spelling(TokenId id) const {
    return IsSpecial(id) ? ControlPiece(id) : TokenBytes(id);
  }

  /// Hash over the byte strings of all tokens in id order ("fnv1a64:<16 hex digits>"). Two
  /// tokenizers with the same fingerprint give ids the same meaning; a list or a draft with another
  /// one is refused.
  ///
  /// FNV-1a, 64 bits (offset basis 0xcbf29ce484222325, prime 0x100000001b3), over, for each id from
  /// 0 on, the length of Spelling(id) as a little-endian u32, then the string. The digits are lower
  /// case.
  std::string Fingerprint() const;

 protected:
  /// Appends the ids of `text`, valid UTF-8 of at most kMaxTextBytes, and nothing round it.
  /// OutOfRange when `ids` would be longer than the budget allows.
  virtual absl::Status EncodeText(std::string_view text, const EncodeOptions& options,
                                  EncodeBudget& budget, std::vector<TokenId>& ids) const = 0;

  /// What goes round texts.
  virtual const SequenceTemplate& sequence_template() const = 0;

 private:
  absl::Status EncodeChecked(std::string_view text, const EncodeOptions& options,
                             int64_t num_others, std::vector<TokenId>& ids) const;
};

/// Opens the tokenizer of a model directory: the first that is there of `tokenizer.json`,
/// `tokenizer.model` (SentencePiece, or ranks in tiktoken's format) and a single `*.tiktoken`.
/// `tokenizer_config.json`, where it is present, says which tokens are BOS and EOS. NotFound names
/// what was looked for; InvalidArgument names the file that is damaged, and what it asks for that
/// is not supported.
///
/// tokenizer.json (text/tokenizer/json_tokenizer.h): options and special tokens of
/// `tokenizer_config.json` and `special_tokens_map.json` count as AutoTokenizer of transformers
/// counts them; `config.json` says by which version (text/tokenizer/tokenizer_class.h). Truncation
/// and padding are left to the caller.
///
/// SentencePiece (text/sentencepiece/tokenizer.h): BOS goes first unless `add_bos_token` is false
/// or there is none; EOS goes last where `add_eos_token` is true. Text behind a control token gets
/// no leading space unless `legacy` is true, as transformers 5 has it. The unknown token stands for
/// U+2047 between two spaces, as SentencePiece prints it, or for the text that the model names. A
/// model without byte pieces encodes texts of up to SentencePieceModel::kMaxTextBytesWithoutBytes.
///
/// Ranks (text/tokenizer/tiktoken.h): special tokens are those of tokenizer_config.json.
absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizer(const ModelSource& source);

/// The same for one file, without a tokenizer_config.json: tokenizer.json when the name ends in
/// ".json", otherwise ranks where the file is text that holds them, otherwise SentencePiece.
absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizerFile(const std::string& path);

/// InvalidArgument names the first of `ids` that the model, whose embedding has `num_rows`, cannot
/// read: tokens that were added to the tokenizer alone, such as [PAD].
absl::Status CheckRows(std::span<const TokenId> ids, const Tokenizer& tokenizer, int64_t num_rows);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_H_

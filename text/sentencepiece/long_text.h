#ifndef SHORTLIST_TEXT_SENTENCEPIECE_LONG_TEXT_H_
#define SHORTLIST_TEXT_SENTENCEPIECE_LONG_TEXT_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "text/encode_budget.h"
#include "text/sentencepiece/model.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer/words/bpe_model.h"

namespace shortlist {

/// Encodes long texts for a SentencePiece model of plain byte-pair encoding. Gives the same ids as
/// libsentencepiece in about 50 bytes of memory per byte of text, where the library takes up to
/// 200. Any thread may call any method.
class LongTextEncoder {
 public:
  /// Texts of up to this size are left to libsentencepiece.
  static constexpr size_t kMinBytes = size_t{256} << 10;

  /// `model` must outlive this object.
  explicit LongTextEncoder(const SentencePieceModel& model) : model_(model) {}

  bool Takes(std::string_view text) const {
    return text.size() > kMinBytes && !model_.bpe_pieces().empty();
  }

  /// Appends the ids that model.Encode (if `is_whole`) or model.EncodeRest gives for `text` (valid
  /// UTF-8, accepted by Takes()). The first call builds tables: some milliseconds and megabytes.
  /// InvalidArgument if the time of `budget` is used up; OutOfRange if there are more ids than
  /// `budget` allows.
  absl::Status Append(std::string_view text, bool is_whole, EncodeBudget& budget,
                      std::vector<TokenId>& ids) const;

 private:
  void Build() const;

  const SentencePieceModel& model_;
  mutable std::once_flag built_;
  mutable std::unique_ptr<const AddedTokenMatcher> user_pieces_;
  mutable Vocabulary vocabulary_;
  mutable std::unique_ptr<const BpeModel> bpe_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_SENTENCEPIECE_LONG_TEXT_H_

#ifndef SHORTLIST_TEXT_PRE_TOKENIZER_H_
#define SHORTLIST_TEXT_PRE_TOKENIZER_H_

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// A part of a text that later steps cut further or a model encodes; never empty.
struct TextPiece {
  std::string_view text;
  bool at_origin;  // NormalizedText::at_origin of its first character
};

/// The pieces of a text in order, and the strings that some of them view instead of the text.
struct TextPieces {
  std::vector<TextPiece> pieces;
  std::deque<std::string> rewritten;
  std::vector<TextPiece> next;  // working memory of the steps
};

/// One step of a pre-tokenizer of tokenizer.json: cuts pieces further, or rewrites them. Immutable.
class PreTokenizerStep {
 public:
  virtual ~PreTokenizerStep() = default;
  /// ResourceExhausted from a regular expression.
  virtual absl::Status Apply(TextPieces& pieces) const = 0;
};

struct PreTokenizer {
  std::vector<std::unique_ptr<PreTokenizerStep>> steps;
  /// The last step of the file spells bytes in GPT-2's alphabet. It is not among `steps`: the words
  /// stay bytes, and the model knows.
  bool ends_in_byte_level = false;
  /// It is BERT's and nothing else: words end at white space and punctuation.
  bool is_bert = false;

  /// `pieces` holds one piece at first, the words afterwards.
  absl::Status Run(TextPieces& pieces) const;
};

/// The member "pre_tokenizer" of a tokenizer.json, which may be null. InvalidArgument names a type
/// that is not known, or the member that is wrong. `byte_words`: the model can take plain bytes, so
/// that ends_in_byte_level may be set; otherwise the bytes are spelled out.
absl::StatusOr<PreTokenizer> ParsePreTokenizer(const nlohmann::json& spec, bool byte_words);

/// Cuts before each run of U+2581 (WordModel::SplitsBeforeSpaceMarks).
std::unique_ptr<PreTokenizerStep> MakeSpaceMarkStep();

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_PRE_TOKENIZER_H_

#ifndef SHORTLIST_TEXT_TOKENIZER_PRE_TOKENIZER_H_
#define SHORTLIST_TEXT_TOKENIZER_PRE_TOKENIZER_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "nlohmann/json_fwd.hpp"
#include "text/encode_budget.h"

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
  std::vector<TextPiece> next;  // where a step puts the pieces that it makes of `pieces`

  // Of the step that runs.
  EncodeBudget* budget = nullptr;
  size_t max_next = 0;

  /// Adds to `next`; OutOfRange when that holds as many pieces as there may be tokens.
  absl::Status AddNext(TextPiece piece) {
    if (next.size() >= max_next) return budget->CheckIds(budget->max_ids() + 1);
    next.push_back(piece);
    return absl::OkStatus();
  }
  /// Keeps `text` in `rewritten`; InvalidArgument when that goes beyond the budget.
  absl::StatusOr<std::string_view> Keep(std::string text) {
    SHORTLIST_RETURN_IF_ERROR(budget->TakeBytes(text.size()));
    return rewritten.emplace_back(std::move(text));
  }
};

/// One step of a pre-tokenizer of tokenizer.json: cuts pieces further, or rewrites them. Immutable.
class PreTokenizerStep {
 public:
  virtual ~PreTokenizerStep() = default;
  /// InvalidArgument from a regular expression; the errors of TextPieces.
  virtual absl::Status Apply(TextPieces& pieces) const = 0;
  /// Some text may be in no piece afterwards; otherwise each piece becomes one or more.
  virtual bool drops_text() const { return false; }
};

struct PreTokenizer {
  std::vector<std::unique_ptr<PreTokenizerStep>> steps;
  /// The last step of the file spells bytes in GPT-2's alphabet. It is not among `steps`: the words
  /// stay bytes, and the model knows.
  bool ends_in_byte_level = false;
  /// It is BERT's and nothing else: words end at white space and punctuation.
  bool is_bert = false;

  bool drops_text() const;

  /// `pieces` holds one piece at first, the words afterwards. `max_words`: how many there may be;
  /// OutOfRange when there are more. Errors of the steps; InvalidArgument when the time of `budget`
  /// is used up.
  absl::Status Run(size_t max_words, EncodeBudget& budget, TextPieces& pieces) const;
};

/// The member "pre_tokenizer" of a tokenizer.json, which may be null. InvalidArgument names a type
/// that is not known, the member that is wrong, or more than kMaxSteps steps. `byte_words`: the
/// model can take plain bytes, so that ends_in_byte_level may be set; otherwise the bytes are
/// spelled out.
absl::StatusOr<PreTokenizer> ParsePreTokenizer(const nlohmann::json& spec, bool byte_words);

/// Cuts before each run of U+2581 (WordModel::SplitsBeforeSpaceMarks).
std::unique_ptr<PreTokenizerStep> MakeSpaceMarkStep();

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_PRE_TOKENIZER_H_

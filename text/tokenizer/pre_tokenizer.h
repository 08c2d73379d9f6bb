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

/// A part of a text that later steps split further or a model encodes; never empty.
struct TextPiece {
  std::string_view text;
  bool at_origin;  // NormalizedText::at_origin of its first character
};

/// The pieces of a text in order, and the rewritten strings that some pieces view.
struct TextPieces {
  std::vector<TextPiece> pieces;
  std::deque<std::string> rewritten;
  std::vector<TextPiece> next;  // receives the pieces that a step makes of `pieces`

  // Set for the step that runs.
  EncodeBudget* budget = nullptr;
  size_t max_next = 0;

  /// Appends `piece` to `next`; OutOfRange if `next` already holds `max_next` pieces.
  absl::Status AddNext(TextPiece piece) {
    if (next.size() >= max_next) return budget->CheckIds(budget->max_ids() + 1);
    next.push_back(piece);
    return absl::OkStatus();
  }
  /// Keeps `text` in `rewritten` and returns a view of it; InvalidArgument if it exceeds the
  /// budget.
  absl::StatusOr<std::string_view> Keep(std::string text) {
    SHORTLIST_RETURN_IF_ERROR(budget->TakeBytes(text.size()));
    return rewritten.emplace_back(std::move(text));
  }
};

/// One step of a pre-tokenizer of tokenizer.json: splits or rewrites pieces. Immutable.
class PreTokenizerStep {
 public:
  virtual ~PreTokenizerStep() = default;
  /// InvalidArgument from a regular expression; errors of TextPieces.
  virtual absl::Status Apply(TextPieces& pieces) const = 0;
  /// True if the step may drop text; otherwise each piece becomes one or more pieces.
  virtual bool drops_text() const { return false; }
};

struct PreTokenizer {
  std::vector<std::unique_ptr<PreTokenizerStep>> steps;
  /// The last step of the file spells bytes in GPT-2's alphabet. That step is not in `steps`: the
  /// words stay bytes, and the model handles bytes itself.
  bool ends_in_byte_level = false;
  /// The pre-tokenizer is BERT's alone: words end at white space and punctuation.
  bool is_bert = false;

  bool drops_text() const;

  /// `pieces` holds one piece before the call and the words after it. `max_words`: maximum number
  /// of words; OutOfRange if there are more. Errors of the steps; InvalidArgument if the time of
  /// `budget` is used up.
  absl::Status Run(size_t max_words, EncodeBudget& budget, TextPieces& pieces) const;
};

/// Parses the member "pre_tokenizer" of a tokenizer.json, which may be null. InvalidArgument names
/// an unknown type, the member that is wrong, or more than kMaxSteps steps. `byte_words`: the model
/// accepts plain bytes, so ends_in_byte_level may be set; otherwise a step spells the bytes in
/// GPT-2's alphabet.
absl::StatusOr<PreTokenizer> ParsePreTokenizer(const nlohmann::json& spec, bool byte_words);

/// Returns a step that splits before each run of U+2581 (WordModel::SplitsBeforeSpaceMarks).
std::unique_ptr<PreTokenizerStep> MakeSpaceMarkStep();

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_PRE_TOKENIZER_H_

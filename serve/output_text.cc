#include "serve/output_text.h"

#include <algorithm>
#include <utility>

namespace shortlist {

OutputText::OutputText(const Tokenizer& tokenizer, Options options)
    : options_(std::move(options)),
      detokenizer_(tokenizer, /*at_start=*/false,
                   /*shows_controls=*/!options_.skips_special_tokens, options_.shown_controls),
      matcher_(options_.stop) {}

std::string OutputText::Append(TokenId id, std::string& text) {
  ++num_tokens_;
  const std::vector<TokenId>& stops = options_.stop_token_ids;
  if (ended() || std::find(stops.begin(), stops.end(), id) == stops.end()) {
    std::string piece = detokenizer_.Append(id);
    if (!ended()) AppendPiece(piece, text);
    return piece;
  }
  // A code point that no token completes any more.
  if (options_.trims_stop) AppendPiece(detokenizer_.Finish(), text);
  std::string piece = detokenizer_.Append(id);
  if (!options_.trims_stop) AppendPiece(piece + detokenizer_.Finish(), text);
  if (!matcher_.matched()) matched_token_ = id;
  text += matcher_.Finish();
  return piece;
}

void OutputText::AppendPiece(const std::string& piece, std::string& text) {
  const bool passes = num_tokens_ <= options_.stop_after;
  text += passes ? matcher_.Pass(piece) : matcher_.Append(piece);
  if (matcher_.matched() && !options_.trims_stop) text += matcher_.match();
}

void OutputText::Finish(std::string& text) {
  if (ended()) return;
  AppendPiece(detokenizer_.Finish(), text);
  if (!matcher_.matched()) text += matcher_.Finish();
}

}  // namespace shortlist

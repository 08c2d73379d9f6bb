#include "text/sentencepiece/long_text.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

}  // namespace

void LongTextEncoder::Build() const {
  Vocabulary::Entries entries;
  std::vector<std::pair<int32_t, float>> scored;
  for (const auto& [id, score] : model_.bpe_pieces()) {
    entries.emplace_back(model_.name(id), id);
    scored.emplace_back(id, score);
  }
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name = absl::StrFormat("<0x%02X>", byte);
    entries.emplace_back(name, model_.FindPiece(name).value());
  }
  auto vocabulary = Vocabulary::Create(std::move(entries));
  SHORTLIST_CHECK(vocabulary.ok());
  vocabulary_ = *std::move(vocabulary);
  std::vector<AddedToken> user_pieces;
  std::vector<std::string> names;
  for (const int32_t id : model_.bpe_user_pieces()) {
    names.push_back(model_.name(id));
    user_pieces.push_back({.content = model_.name(id), .id = id});
  }
  user_pieces_ = std::make_unique<AddedTokenMatcher>(std::move(user_pieces), names);
  bpe_ = BpeModel::CreateFromScores(vocabulary_, scored);
}

absl::Status LongTextEncoder::Append(std::string_view text, bool is_whole, EncodeBudget& budget,
                                     std::vector<TokenId>& ids) const {
  std::call_once(built_, [this] { Build(); });
  std::string marked;
  marked.reserve(text.size() + text.size() / 2);
  if (is_whole && model_.add_dummy_prefix()) marked = kSpaceMark;
  for (const char c : text) {
    if (c == ' ') {
      marked += kSpaceMark;
    } else {
      marked.push_back(c);
    }
  }
  // Like libsentencepiece, finds the leftmost, then longest piece in the marked text.
  std::vector<AddedTokenMatcher::Part> parts;
  const size_t max_tokens = budget.max_ids() - std::min(ids.size(), budget.max_ids());
  if (!user_pieces_->Split(marked, /*parse_special=*/true, max_tokens, parts)) {
    return budget.CheckIds(budget.max_ids() + 1);
  }
  EncodeScratch scratch;
  scratch.budget = &budget;
  for (const AddedTokenMatcher::Part& part : parts) {
    if (part.token != nullptr) {
      ids.push_back(TokenId{part.token->id});
    } else {
      SHORTLIST_RETURN_IF_ERROR(bpe_->Encode(part.text, scratch, ids));
    }
    SHORTLIST_RETURN_IF_ERROR(budget.CheckIds(ids.size()));
  }
  return absl::OkStatus();
}

}  // namespace shortlist

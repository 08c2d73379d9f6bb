#include "text/tokenizer/words/word_piece_model.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace shortlist {

WordPieceModel::WordPieceModel(const Vocabulary& vocabulary, Options options)
    : options_(std::move(options)) {
  const std::string& prefix = options_.continuing_subword_prefix;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view token = vocabulary.token(id);
    if (token.empty()) continue;
    first_.Add(token, id);
    if (token.starts_with(prefix) && token.size() > prefix.size()) {
      continuation_.Add(token.substr(prefix.size()), id);
    }
  }
}

absl::Status WordPieceModel::Encode(std::string_view word, EncodeScratch& scratch,
                                    std::vector<TokenId>& ids) const {
  WorkMeter meter(*scratch.budget);
  const size_t num_ids_before = ids.size();
  const auto num_chars =
      std::count_if(word.begin(), word.end(), [](char c) { return (c & 0xC0) != 0x80; });
  size_t at = num_chars > options_.max_input_chars_per_word ? std::string_view::npos : 0;
  while (at < word.size()) {
    const ByteTrie& tokens = at == 0 ? first_ : continuation_;
    size_t longest = 0;
    int32_t id = 0;
    SHORTLIST_RETURN_IF_ERROR(
        meter.Add(tokens.ForEachPrefix(word, at, [&](size_t length, int32_t value) {
          longest = length;
          id = value;
        })));
    at = longest > 0 ? at + longest : std::string_view::npos;
    if (longest > 0) ids.push_back(TokenId{id});
  }
  if (at == std::string_view::npos) {
    ids.resize(num_ids_before);
    ids.push_back(TokenId{options_.unk});
  }
  return absl::OkStatus();
}

}  // namespace shortlist

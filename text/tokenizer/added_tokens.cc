#include "text/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/regex.h"
#include "text/tokenizer/vocabulary.h"
#include "text/unicode.h"

namespace shortlist {
namespace {

constexpr size_t kMaxContentBytes = 1024;
// Bytes of a text that are searched at a time.
constexpr size_t kBlockBytes = 1 << 16;

bool IsWordChar(char32_t c) {
  static const Regex word = *Regex::Compile(R"([\w\p{Join_Control}])");
  std::string text;
  AppendChar(c, text);
  const auto match = word.Find(text, 0);
  return match.ok() && match->has_value();
}

bool IsSpace(char32_t c) { return (CharTable::Get().flags(c) & kWhiteSpace) != 0; }

bool StandsAlone(std::string_view text, size_t begin, size_t end) {
  if (begin > 0 && IsWordChar(CharBefore(text, begin).c)) return false;
  return end == text.size() || !IsWordChar(NextChar(text, end));
}

size_t SkipSpaceBack(std::string_view text, size_t begin, size_t low) {
  while (begin > low) {
    const PreviousChar previous = CharBefore(text, begin);
    if (!IsSpace(previous.c)) break;
    begin = previous.begin;
  }
  return begin;
}

size_t SkipSpace(std::string_view text, size_t end) {
  for (size_t next = end; next < text.size(); end = next) {
    if (!IsSpace(NextChar(text, next))) break;
  }
  return end;
}

}  // namespace

absl::StatusOr<AddedToken> ParseAddedToken(const nlohmann::json& spec, std::optional<int64_t> id) {
  AddedToken token;
  SHORTLIST_ASSIGN_OR_RETURN(token.content, ReadString(spec, "content"));
  if (token.content.empty() || token.content.size() > kMaxContentBytes) {
    return absl::InvalidArgumentError(absl::StrCat("added token \"", token.content.substr(0, 80),
                                                   "\" has ", token.content.size(),
                                                   " bytes, not in [1, ", kMaxContentBytes, "]"));
  }
  const auto read = [&]() -> absl::Status {
    if (!id.has_value()) {
      SHORTLIST_ASSIGN_OR_RETURN(id, ReadInteger(spec, "id", 0, kMaxVocabularySize - 1));
    }
    SHORTLIST_ASSIGN_OR_RETURN(token.single_word, ReadBool(spec, "single_word", false));
    SHORTLIST_ASSIGN_OR_RETURN(token.lstrip, ReadBool(spec, "lstrip", false));
    SHORTLIST_ASSIGN_OR_RETURN(token.rstrip, ReadBool(spec, "rstrip", false));
    SHORTLIST_ASSIGN_OR_RETURN(token.special, ReadBool(spec, "special", false));
    SHORTLIST_ASSIGN_OR_RETURN(token.normalized, ReadBool(spec, "normalized", !token.special));
    return absl::OkStatus();
  };
  const absl::Status status = read();
  if (!status.ok()) return Within("added token \"" + token.content.substr(0, 80) + "\"", status);
  token.id = static_cast<int32_t>(*id);
  return token;
}

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens,
                                     const std::vector<std::string>& spellings)
    : tokens_(std::move(tokens)), spellings_(spellings) {
  SHORTLIST_CHECK(spellings.size() == tokens_.size());
  for (const std::string& spelling : spellings) spelling_bytes_.push_back(spelling.size());
}

bool AddedTokenMatcher::Split(std::string_view text, bool parse_special, size_t max_tokens,
                              std::vector<Part>& parts, std::span<const ByteRange> literal) const {
  parts.clear();
  size_t num_tokens = 0;
  size_t done = 0;       // start of the text that is in no part yet
  size_t space_end = 0;  // end of the white space skipped last, so that none is scanned twice
  const size_t block_bytes = std::max(kBlockBytes, 4 * spellings_.max_bytes());
  std::vector<int32_t> found;  // for the block that begins at `block`
  size_t block = 0;
  for (size_t at = 0; !tokens_.empty() && at < text.size();) {
    if (at >= block + found.size()) {
      block = at;
      found.resize(std::min(block_bytes, text.size() - at));
      spellings_.Find(text, block, found);
    }
    if (found[at - block] == LongestKeys::kNone) {
      ++at;
      continue;
    }
    const size_t index = static_cast<size_t>(found[at - block]);
    const AddedToken& token = tokens_[index];
    size_t begin = at, end = at + spelling_bytes_[index];
    at = end;
    if (token.special) {
      if (!parse_special) continue;
      const size_t spelling_bytes = spelling_bytes_[index];
      const size_t content_begin = end - std::min(spelling_bytes, token.content.size());
      while (!literal.empty() && literal.front().end <= content_begin) literal = literal.subspan(1);
      if (!literal.empty() && literal.front().begin < end) continue;
    }
    if (token.single_word && !StandsAlone(text, begin, end)) continue;
    if (token.lstrip) begin = std::max(SkipSpaceBack(text, begin, /*low=*/done), done);
    if (token.rstrip) end = space_end = SkipSpace(text, std::max(end, space_end));
    if (begin >= end) continue;  // white space that the previous token absorbed
    if (++num_tokens > max_tokens) return false;
    if (done < begin) parts.push_back({text.substr(done, begin - done), nullptr});
    parts.push_back({text.substr(begin, end - begin), &token});
    done = end;
  }
  if (done < text.size()) parts.push_back({text.substr(done), nullptr});
  return true;
}

}  // namespace shortlist

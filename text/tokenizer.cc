#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "text/space_cleaner.h"

namespace shortlist {
namespace {

class Fnv1a64 {
 public:
  void Add(std::string_view bytes) {
    for (const char byte : bytes) {
      hash_ = (hash_ ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
    }
  }
  void AddLength(uint32_t length) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash_ = (hash_ ^ (length >> shift & 0xFF)) * 0x100000001b3;
    }
  }
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

using Parts = std::vector<SequenceTemplate::Part>;

/// Number of tokens that each text keeps.
struct KeptLengths {
  int64_t first, second;
};

/// Truncates the longer text to the shorter one's length, then both equally. An odd token goes to
/// the text that was longer, or to the second if both were equally long.
KeptLengths KeepLongestFirst(int64_t first, int64_t second, int64_t room) {
  const bool swapped = first > second;
  int64_t shorter = std::min(first, second);
  int64_t longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = shorter + room % 2;
  }
  return swapped ? KeptLengths{longer, shorter} : KeptLengths{shorter, longer};
}

/// `room`: maximum number of tokens of both texts together.
absl::StatusOr<KeptLengths> Keep(int64_t first, std::optional<int64_t> second, int64_t room,
                                 Truncation::Strategy strategy) {
  const int64_t excess = first + second.value_or(0) - room;
  if (excess <= 0) return KeptLengths{first, second.value_or(0)};
  if (strategy == Truncation::Strategy::kLongestFirst) {
    if (!second.has_value()) return KeptLengths{room, 0};
    return KeepLongestFirst(first, *second, room);
  }
  const bool cuts_first = strategy == Truncation::Strategy::kOnlyFirst;
  if (!cuts_first && !second.has_value()) {
    return absl::InvalidArgumentError("only the second text may be cut, but there is none");
  }
  const int64_t cut_len = cuts_first ? first : *second;
  if (cut_len <= excess) {
    return absl::InvalidArgumentError(absl::StrCat(cuts_first ? "the first" : "the second",
                                                   " text has ", cut_len, " tokens, but ", excess,
                                                   " would have to go from it alone"));
  }
  return cuts_first ? KeptLengths{first - excess, second.value_or(0)}
                    : KeptLengths{first, *second - excess};
}

void CutTo(int64_t len, Truncation::Side side, std::vector<TokenId>& ids) {
  const int64_t excess = static_cast<int64_t>(ids.size()) - len;
  if (excess <= 0) return;
  if (side == Truncation::Side::kLeft)
    ids.erase(ids.begin(), ids.begin() + excess);
  else
    ids.resize(static_cast<size_t>(len));
}

int64_t NumAdded(const Parts& parts) {
  return std::count_if(parts.begin(), parts.end(), [](const SequenceTemplate::Part& part) {
    return part.kind == SequenceTemplate::Part::Kind::kToken;
  });
}

Encoding Fill(const Parts& parts, const std::vector<TokenId>& first,
              const std::vector<TokenId>& second, bool add_special_tokens) {
  using Kind = SequenceTemplate::Part::Kind;
  Encoding encoding;
  for (const SequenceTemplate::Part& part : parts) {
    if (part.kind == Kind::kToken) {
      if (add_special_tokens) encoding.ids.push_back(part.token);
    } else {
      const std::vector<TokenId>& ids = part.kind == Kind::kFirst ? first : second;
      encoding.ids.insert(encoding.ids.end(), ids.begin(), ids.end());
    }
    encoding.type_ids.resize(encoding.ids.size(), part.type_id);
  }
  return encoding;
}

absl::Status CheckNumTokens(size_t num_tokens, const EncodeOptions& options) {
  return EncodeBudget(0, static_cast<size_t>(options.max_tokens), options.max_tokens)
      .CheckIds(num_tokens);
}

}  // namespace

/// `num_others`: number of ids of the encoding that are not in `ids`.
absl::Status Tokenizer::EncodeChecked(std::string_view text, const EncodeOptions& options,
                                      int64_t num_others, std::vector<TokenId>& ids) const {
  if (text.size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("text of ", text.size(), " bytes, more than ", kMaxTextBytes));
  }
  EncodeBudget budget(text.size(), std::max<int64_t>(options.max_tokens - num_others, 0),
                      options.max_tokens);
  SHORTLIST_RETURN_IF_ERROR(budget.CheckIds(ids.size()));
  SHORTLIST_RETURN_IF_ERROR(budget.CheckBytes(ids.size(), text.size(), max_token_bytes()));
  if (const std::optional<size_t> offset = FindInvalidUtf8(text)) {
    return absl::InvalidArgumentError(absl::StrCat("text is not valid UTF-8 at byte ", *offset));
  }
  return EncodeText(text, options, budget, ids);
}

absl::StatusOr<std::vector<TokenId>> Tokenizer::Encode(std::string_view text,
                                                       const EncodeOptions& options) const {
  const Parts& parts = sequence_template().single;
  int64_t num_added = options.add_special_tokens ? NumAdded(parts) : 0;
  std::vector<TokenId> ids;
  ids.reserve(std::min(text.size() / 3 + 8, static_cast<size_t>(options.max_tokens)));
  for (const SequenceTemplate::Part& part : parts) {
    if (part.kind == SequenceTemplate::Part::Kind::kFirst) {
      SHORTLIST_RETURN_IF_ERROR(EncodeChecked(text, options, num_added, ids));
    } else if (options.add_special_tokens) {
      ids.push_back(part.token);
      --num_added;
    }
  }
  SHORTLIST_RETURN_IF_ERROR(CheckNumTokens(ids.size(), options));
  return ids;
}

absl::StatusOr<Encoding> Tokenizer::EncodeSequence(std::string_view first,
                                                   std::optional<std::string_view> second,
                                                   const EncodeOptions& options,
                                                   const Truncation& truncation) const {
  std::vector<TokenId> first_ids, second_ids;
  const Parts& parts = second.has_value() ? sequence_template().pair : sequence_template().single;
  const int64_t num_added = options.add_special_tokens ? NumAdded(parts) : 0;
  SHORTLIST_RETURN_IF_ERROR(EncodeChecked(first, options, num_added, first_ids));
  if (second.has_value()) {
    const int64_t num_others = num_added + static_cast<int64_t>(first_ids.size());
    EncodeOptions of_second = options;
    of_second.literal = {};
    SHORTLIST_RETURN_IF_ERROR(EncodeChecked(*second, of_second, num_others, second_ids));
  }
  SHORTLIST_RETURN_IF_ERROR(
      CheckNumTokens(num_added + first_ids.size() + second_ids.size(), options));
  if (truncation.max_len.has_value()) {
    if (*truncation.max_len < num_added) {
      return absl::InvalidArgumentError(absl::StrCat("a limit of ", *truncation.max_len,
                                                     " tokens, but ", num_added, " are added"));
    }
    std::optional<int64_t> second_len;
    if (second.has_value()) second_len = static_cast<int64_t>(second_ids.size());
    SHORTLIST_ASSIGN_OR_RETURN(const KeptLengths kept,
                               Keep(static_cast<int64_t>(first_ids.size()), second_len,
                                    *truncation.max_len - num_added, truncation.strategy));
    CutTo(kept.first, truncation.side, first_ids);
    CutTo(kept.second, truncation.side, second_ids);
  }
  return Fill(parts, first_ids, second_ids, options.add_special_tokens);
}

std::string_view Tokenizer::NextBytes(TokenId id, bool& at_start) const {
  std::string_view bytes = TokenBytes(id);
  if (at_start && adds_leading_space() && bytes.starts_with(' ')) bytes.remove_prefix(1);
  at_start = at_start && IsSpecial(id);
  return bytes;
}

std::string_view Tokenizer::NextSpelling(TokenId id, bool& at_start) const {
  at_start = false;
  return ControlPiece(id);
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, bool shows_controls) const {
  std::string bytes;
  bool at_start = true;
  size_t run_begin = 0;  // offset in `bytes` of a run of byte tokens
  size_t num_in_run = 0;
  const auto end_run = [&] {
    if (num_in_run > 0 && FindInvalidUtf8(std::string_view(bytes).substr(run_begin))) {
      bytes.resize(run_begin);
      for (size_t i = 0; i < num_in_run; ++i) bytes.append("\uFFFD");
    }
    num_in_run = 0;
  };
  for (const TokenId id : ids) {
    const bool is_special = IsSpecial(id);
    if (is_special && !shows_controls) {  // does not end a run
      bytes.append(NextBytes(id, at_start));
      continue;
    }
    const bool is_byte = !is_special && IsByteToken(id);
    if (!is_byte) end_run();
    if (is_byte && num_in_run++ == 0) run_begin = bytes.size();
    bytes.append(is_special ? NextSpelling(id, at_start) : NextBytes(id, at_start));
  }
  end_run();
  std::string text;
  text.reserve(bytes.size());
  AppendReplaced(AppendUtf8(bytes, text, replacement()), text, replacement());
  if (strips_trailing_space() && text.ends_with(' ')) text.pop_back();
  if (!cleans_up_spaces()) return text;
  SpaceCleaner cleaner;
  const std::string cleaned = cleaner.Append(std::move(text));
  return cleaned + cleaner.Finish();
}

std::string Tokenizer::Fingerprint() const {
  Fnv1a64 hash;
  for (int32_t i = 0; i < size(); ++i) {
    const std::string_view bytes = Spelling(TokenId{i});
    hash.AddLength(static_cast<uint32_t>(bytes.size()));
    hash.Add(bytes);
  }
  return absl::StrFormat("fnv1a64:%016x", hash.hash());
}

absl::Status CheckRows(std::span<const TokenId> ids, const Tokenizer& tokenizer, int64_t num_rows) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (Raw(ids[i]) < num_rows) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "token id ", Raw(ids[i]), " \"",
        Excerpt(std::string(tokenizer.IsSpecial(ids[i]) ? tokenizer.ControlPiece(ids[i])
                                                        : tokenizer.TokenBytes(ids[i]))),
        "\" at position ", i, " not in [0, ", num_rows, "), the rows of the model's embedding"));
  }
  return absl::OkStatus();
}

}  // namespace shortlist

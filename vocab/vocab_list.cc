#include "vocab/vocab_list.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "io/byte_source.h"
#include "nlohmann/json.hpp"
#include "vocab/vocab_document.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxFileBytes = int64_t{256} << 20;
constexpr int64_t kMaxVocabSize = VocabList::kMaxVocabSize;
constexpr std::string_view kWhiteSpace = " \t\r\v\f";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // with which some editors begin a text

absl::Status At(const std::string& where, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(where, ": ", std::string(status.message())));
}

bool IsXz(const std::string& path) { return path.ends_with(".json.xz"); }
bool IsDocument(const std::string& path) { return path.ends_with(".json") || IsXz(path); }

absl::Status CheckDistinct(const char* name, const std::vector<TokenId>& ids, int64_t vocab_size) {
  std::unordered_map<int32_t, size_t> index_of;
  index_of.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const int32_t id = Raw(ids[i]);
    if (id < 0 || id >= vocab_size) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, "[", i, "]: token id ", id, " not in [0, ", vocab_size, ")"));
    }
    if (const auto [it, is_new] = index_of.emplace(id, i); !is_new) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, "[", i, "]: token id ", id, " repeats ", name, "[", it->second, "]"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<VocabList> ParseText(std::string_view text, int64_t vocab_size) {
  VocabList list;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const int64_t bound = vocab_size > 0 ? std::min(vocab_size, kMaxVocabSize) : kMaxVocabSize;
  std::unordered_map<int32_t, int64_t> line_of;
  for (int64_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    word.remove_prefix(std::min(word.find_first_not_of(kWhiteSpace), word.size()));
    word = word.substr(0, word.find_last_not_of(kWhiteSpace) + 1);
    if (word.empty()) continue;

    int64_t id = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    const bool is_integer =
        error != std::errc::invalid_argument && stop == word.data() + word.size();
    if (!is_integer) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", Excerpt(word), "\" at line ", line, " is not a token id"));
    }
    if (error == std::errc::result_out_of_range || id < 0 || id >= bound) {
      return absl::InvalidArgumentError(
          absl::StrCat("token id ", Excerpt(word), " at line ", line, " not in [0, ", bound, ")"));
    }
    const auto [it, is_new] = line_of.emplace(static_cast<int32_t>(id), line);
    if (!is_new) {
      return absl::InvalidArgumentError(
          absl::StrCat("token id ", id, " at line ", line, " repeats line ", it->second));
    }
    list.ids.push_back(TokenId{static_cast<int32_t>(id)});
  }
  if (list.ids.empty()) return absl::InvalidArgumentError("no token id");
  list.vocab_size =
      vocab_size > 0 ? vocab_size : int64_t{Raw(*std::ranges::max_element(list.ids))} + 1;
  return list;
}

/// Sets the list's vocab_size. FailedPrecondition if one of its ids is not below it.
absl::Status Resize(int64_t vocab_size, VocabList& list) {
  if (list.vocab_size == vocab_size) return absl::OkStatus();
  if (list.vocab_size > vocab_size) {
    const std::vector<TokenId> named = list.NamedIds();
    if (Raw(named.back()) >= vocab_size) {
      return absl::FailedPreconditionError(absl::StrCat(
          "token id ", Raw(named.back()), " not in [0, ", vocab_size, ") of the target"));
    }
  }
  list.vocab_size = vocab_size;
  if (!list.successors.empty()) list.successors.resize(vocab_size);
  return absl::OkStatus();
}

/// Fits a list by what its ids spell, whatever else the target's tokenizer contains.
absl::Status FitByIds(const VocabTarget& target, VocabList& list) {
  const std::vector<TokenId> named = list.NamedIds();
  const int64_t num_ids = std::min(target.vocab_size, target.num_spelled);
  if (Raw(named.back()) >= num_ids) {
    return absl::FailedPreconditionError(absl::StrCat(
        "token id ", Raw(named.back()), " not in [0, ", num_ids, ") of the target's tokenizer"));
  }
  const std::string fingerprint = IdsFingerprint(named, target);
  if (fingerprint != list.ids_fingerprint) {
    return absl::FailedPreconditionError(
        absl::StrCat("made for another tokenizer: its ids have the fingerprint ",
                     Excerpt(list.ids_fingerprint), ", in the target's they have ", fingerprint));
  }
  return Resize(target.vocab_size, list);
}

}  // namespace

absl::Status VocabList::Validate() const {
  if (vocab_size < 1 || vocab_size > kMaxVocabSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("vocab_size ", vocab_size, " not in [1, ", kMaxVocabSize, "]"));
  }
  if (ids.empty()) return absl::InvalidArgumentError("ids: no token id");
  SHORTLIST_RETURN_IF_ERROR(CheckDistinct("ids", ids, vocab_size));
  SHORTLIST_RETURN_IF_ERROR(CheckDistinct("pinned", pinned, vocab_size));
  if (!counts.empty() && counts.size() != ids.size()) {
    return absl::InvalidArgumentError(absl::StrCat(Counted(std::ssize(counts), "count"), " for ",
                                                   Counted(std::ssize(ids), "id")));
  }
  if (!counts.empty() && !ranked) {
    return absl::InvalidArgumentError("counts of a list that is not ranked");
  }
  if (!successors.empty() && std::ssize(successors) != vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat("successors of ", successors.size(),
                                                   " tokens for a vocab_size of ", vocab_size));
  }
  for (size_t i = 0; i < successors.size(); ++i) {
    const std::string name = absl::StrCat("successors[", i, "]");
    SHORTLIST_RETURN_IF_ERROR(CheckDistinct(name.c_str(), successors[i], vocab_size));
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 0) {
      return absl::InvalidArgumentError(absl::StrCat("counts[", i, "]: ", counts[i], " below 0"));
    }
    if (i > 0 && counts[i] > counts[i - 1]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "counts[", i, "]: ", counts[i], " above counts[", i - 1, "], ", counts[i - 1]));
    }
  }
  return absl::OkStatus();
}

std::vector<TokenId> VocabList::NamedIds() const {
  std::vector<TokenId> named = ids;
  named.insert(named.end(), pinned.begin(), pinned.end());
  for (size_t last = 0; last < successors.size(); ++last) {
    if (successors[last].empty()) continue;
    named.push_back(TokenId{static_cast<int32_t>(last)});
    named.insert(named.end(), successors[last].begin(), successors[last].end());
  }
  std::ranges::sort(named);
  named.erase(std::unique(named.begin(), named.end()), named.end());
  return named;
}

std::vector<TokenId> VocabList::PinnedFirst() const {
  std::vector<TokenId> order = pinned;
  std::vector<bool> is_pinned(vocab_size);
  for (const TokenId id : pinned) is_pinned[Raw(id)] = true;
  for (const TokenId id : ids) {
    if (!is_pinned[Raw(id)]) order.push_back(id);
  }
  return order;
}

std::vector<TokenId> VocabList::ByRank() const {
  std::vector<TokenId> order = ids;
  std::vector<bool> is_ranked(vocab_size);
  for (const TokenId id : ids) is_ranked[Raw(id)] = true;
  for (const TokenId id : pinned) {
    if (!is_ranked[Raw(id)]) order.push_back(id);
  }
  return order;
}

int64_t VocabList::NumSuccessors() const {
  int64_t num_successors = 0;
  for (const std::vector<TokenId>& of_token : successors) num_successors += std::ssize(of_token);
  return num_successors;
}

std::string IdsFingerprint(const std::vector<TokenId>& ids, const VocabTarget& target) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  const auto add_u32 = [&add](uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) add(static_cast<uint8_t>(value >> shift));
  };
  for (const TokenId id : ids) {
    const std::string_view bytes = target.spelling(id);
    add_u32(static_cast<uint32_t>(Raw(id)));
    add_u32(static_cast<uint32_t>(bytes.size()));
    for (const char byte : bytes) add(static_cast<uint8_t>(byte));
  }
  return absl::StrFormat("fnv1a64:%016x", hash);
}

absl::Status BindList(const VocabTarget& target, VocabList& list) {
  list.vocab_size = target.vocab_size;
  list.fingerprint = target.fingerprint;
  list.ids_fingerprint.clear();
  if (!target.spelling) return absl::OkStatus();
  const std::vector<TokenId> named = list.NamedIds();
  const int64_t num_ids = std::min(target.vocab_size, target.num_spelled);
  if (!named.empty() && Raw(named.back()) >= num_ids) {
    return absl::OutOfRangeError(absl::StrCat("token id ", Raw(named.back()), " not in [0, ",
                                              num_ids, ") of the tokenizer"));
  }
  list.ids_fingerprint = IdsFingerprint(named, target);
  return absl::OkStatus();
}

absl::Status FitList(const VocabTarget& target, VocabList& list) {
  if (target.vocab_size == 0) return absl::OkStatus();
  if (!list.ids_fingerprint.empty() && target.spelling) return FitByIds(target, list);
  if (std::abs(list.vocab_size - target.vocab_size) > VocabList::kMaxPadding) {
    return absl::FailedPreconditionError(
        absl::StrCat("vocab_size ", list.vocab_size, " is not the target's ", target.vocab_size,
                     ", and they differ by more than the ", VocabList::kMaxPadding,
                     " rows that a model may add to its tokenizer's"));
  }
  if (!list.fingerprint.empty() && !target.fingerprint.empty() &&
      list.fingerprint != target.fingerprint) {
    return absl::FailedPreconditionError(absl::StrCat("made for the tokenizer with fingerprint ",
                                                      Excerpt(list.fingerprint),
                                                      ", the target's is ", target.fingerprint));
  }
  return Resize(target.vocab_size, list);
}

absl::StatusOr<VocabList> ReadVocabList(const std::string& path, const VocabTarget& target) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string contents, ReadUnpacked(path, kMaxFileBytes));
  absl::StatusOr<VocabList> list;
  if (IsDocument(path)) {
    SHORTLIST_ASSIGN_OR_RETURN(const json root, ParseJson(contents, path));
    list = ParseVocabList(root, target);
  } else if (contents.starts_with("PK\x03\x04") || contents.starts_with("\x93NUMPY")) {
    list = absl::InvalidArgumentError(
        "an archive or array, not a text of ids: `shortlist vocab convert` makes a list of it");
  } else {
    list = ParseText(contents, target.vocab_size);
  }
  if (!list.ok()) return At(path, list.status());
  return list;
}

absl::StatusOr<VocabList> ParseVocabList(const json& document, const VocabTarget& target) {
  SHORTLIST_ASSIGN_OR_RETURN(VocabList list, ParseVocabDocument(document));
  SHORTLIST_RETURN_IF_ERROR(FitList(target, list));
  return list;
}

absl::Status WriteVocabList(const std::string& path, const VocabList& list) {
  if (const absl::Status valid = list.Validate(); !valid.ok()) return At(path, valid);
  std::string contents;
  if (IsDocument(path)) {
    contents = VocabListDocument(list);
    if (IsXz(path)) contents = PackXz(contents);
  } else {
    for (const TokenId id : list.ByRank()) absl::StrAppend(&contents, Raw(id), "\n");
  }
  return WriteFileAtomically(path, contents);
}

}  // namespace shortlist

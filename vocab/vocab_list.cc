#include "vocab/vocab_list.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxFileBytes = int64_t{256} << 20;
constexpr int64_t kMaxVocabSize = std::numeric_limits<int32_t>::max();
constexpr const char* kFormat = "shortlist-vocab";
constexpr int64_t kVersion = 1;
constexpr uint64_t kMaxInteger = std::numeric_limits<int64_t>::max();
constexpr std::string_view kWhiteSpace = " \t\r\v\f";

absl::Status At(const std::string& where, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(where, ": ", std::string(status.message())));
}

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
  list.vocab_size = vocab_size;
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
    if (error == std::errc::result_out_of_range || id < 0 || id >= vocab_size) {
      return absl::InvalidArgumentError(absl::StrCat("token id ", Excerpt(word), " at line ", line,
                                                     " not in [0, ", vocab_size, ")"));
    }
    const auto [it, is_new] = line_of.emplace(static_cast<int32_t>(id), line);
    if (!is_new) {
      return absl::InvalidArgumentError(
          absl::StrCat("token id ", id, " at line ", line, " repeats line ", it->second));
    }
    list.ids.push_back(TokenId{static_cast<int32_t>(id)});
  }
  if (list.ids.empty()) return absl::InvalidArgumentError("no token id");
  std::sort(list.ids.begin(), list.ids.end());
  return list;
}

/// The members of the document, each of its declared type.
class Document {
 public:
  explicit Document(const json& root) : root_(root) {}

  absl::StatusOr<int64_t> Integer(const char* name) const {
    const auto member = root_.find(name);
    if (member == root_.end()) return Missing(name);
    return AsInteger(*member, name);
  }

  absl::StatusOr<std::string> String(const char* name) const {
    const auto member = root_.find(name);
    if (member == root_.end()) return Missing(name);
    if (!member->is_string()) return WrongType(*member, name, "a string");
    return member->get<std::string>();
  }

  /// [n] integers in [0, bound]. Missing means empty where `required` is false.
  absl::StatusOr<std::vector<int64_t>> Integers(const char* name, int64_t bound,
                                                bool required) const {
    const auto member = root_.find(name);
    if (member == root_.end() && required) return Missing(name);
    if (member == root_.end()) return std::vector<int64_t>();
    return AsIntegers(*member, name, bound);
  }

  /// The same for an array of arrays, which may be missing.
  absl::StatusOr<std::vector<std::vector<int64_t>>> IntegerLists(const char* name,
                                                                 int64_t bound) const {
    std::vector<std::vector<int64_t>> lists;
    const auto member = root_.find(name);
    if (member == root_.end()) return lists;
    if (!member->is_array()) return WrongType(*member, name, "an array");
    for (const json& list : *member) {
      SHORTLIST_ASSIGN_OR_RETURN(
          lists.emplace_back(),
          AsIntegers(list, absl::StrCat(name, "[", lists.size(), "]"), bound));
    }
    return lists;
  }

 private:
  static absl::StatusOr<std::vector<int64_t>> AsIntegers(const json& array, const std::string& name,
                                                         int64_t bound) {
    if (!array.is_array()) return WrongType(array, name, "an array");
    std::vector<int64_t> values;
    values.reserve(array.size());
    for (size_t i = 0; i < array.size(); ++i) {
      const auto where = [&] { return absl::StrCat(name, "[", i, "]"); };
      const json& element = array[i];
      if (!element.is_number_unsigned() || element.get<uint64_t>() > kMaxInteger) {
        SHORTLIST_RETURN_IF_ERROR(AsInteger(element, where()).status());
      }
      const auto value = element.get<int64_t>();
      if (value < 0 || value > bound) {
        return absl::InvalidArgumentError(
            absl::StrCat(where(), ": ", value, " not in [0, ", bound, "]"));
      }
      values.push_back(value);
    }
    return values;
  }
  static absl::Status Missing(const char* name) {
    return absl::InvalidArgumentError(absl::StrCat("no member \"", name, "\""));
  }
  static absl::Status WrongType(const json& value, const std::string& where, const char* type) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": ", Excerpt(value.dump()), " is not ", type));
  }
  static absl::StatusOr<int64_t> AsInteger(const json& value, const std::string& where) {
    const bool too_large = value.is_number_unsigned() && value.get<uint64_t>() > kMaxInteger;
    if (!value.is_number_integer() || too_large) {
      return WrongType(value, where, "an integer below 2^63");
    }
    return value.get<int64_t>();
  }

  const json& root_;
};

std::vector<TokenId> ToTokenIds(const std::vector<int64_t>& values) {
  std::vector<TokenId> ids;
  ids.reserve(values.size());
  for (const int64_t value : values) ids.push_back(TokenId{static_cast<int32_t>(value)});
  return ids;
}

/// A misspelt member would be ignored in silence.
absl::Status CheckMembers(const json& root) {
  for (const auto& [name, value] : root.items()) {
    bool is_known = false;
    for (const char* known : {"format", "version", "vocab_size", "fingerprint", "source", "ids",
                              "counts", "pinned", "successors"}) {
      is_known |= name == known;
    }
    if (!is_known) {
      return absl::InvalidArgumentError(absl::StrCat("unknown member \"", Excerpt(name), "\""));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<VocabList> ParseDocument(const json& root) {
  if (!root.is_object()) return absl::InvalidArgumentError("not a JSON object");
  const Document document(root);
  SHORTLIST_ASSIGN_OR_RETURN(const std::string format, document.String("format"));
  if (format != kFormat) {
    return absl::InvalidArgumentError(
        absl::StrCat("format \"", Excerpt(format), "\" is not \"", kFormat, "\""));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t version, document.Integer("version"));
  if (version != kVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("version ", version, " is not known here, only ", kVersion));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckMembers(root));

  VocabList list;
  list.ranked = true;
  SHORTLIST_ASSIGN_OR_RETURN(list.vocab_size, document.Integer("vocab_size"));
  if (list.vocab_size < 1 || list.vocab_size > kMaxVocabSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("vocab_size ", list.vocab_size, " not in [1, ", kMaxVocabSize, "]"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(list.fingerprint, document.String("fingerprint"));
  if (root.contains("source")) {
    SHORTLIST_ASSIGN_OR_RETURN(list.source, document.String("source"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::vector<int64_t> ids,
      document.Integers("ids", /*bound=*/list.vocab_size - 1, /*required=*/true));
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::vector<int64_t> pinned,
      document.Integers("pinned", /*bound=*/list.vocab_size - 1, /*required=*/false));
  SHORTLIST_ASSIGN_OR_RETURN(
      list.counts, document.Integers("counts", /*bound=*/std::numeric_limits<int64_t>::max(),
                                     /*required=*/false));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<std::vector<int64_t>> successors,
                             document.IntegerLists("successors", /*bound=*/list.vocab_size - 1));
  for (const std::vector<int64_t>& of_token : successors) {
    list.successors.push_back(ToTokenIds(of_token));
  }
  list.ids = ToTokenIds(ids);
  list.pinned = ToTokenIds(pinned);
  SHORTLIST_RETURN_IF_ERROR(list.Validate());
  return list;
}

absl::Status CheckFits(const VocabList& list, const VocabTarget& target) {
  if (list.vocab_size != target.vocab_size) {
    return absl::FailedPreconditionError(
        absl::StrCat("vocab_size ", list.vocab_size, " is not the target's ", target.vocab_size));
  }
  if (!list.fingerprint.empty() && !target.fingerprint.empty() &&
      list.fingerprint != target.fingerprint) {
    return absl::FailedPreconditionError(absl::StrCat("made for the tokenizer with fingerprint ",
                                                      Excerpt(list.fingerprint),
                                                      ", the target's is ", target.fingerprint));
  }
  return absl::OkStatus();
}

template <typename T>
std::string Array(const std::vector<T>& values) {
  std::string text = "[";
  for (const T value : values) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "", static_cast<int64_t>(value));
  }
  return text + "]";
}

std::string Quoted(const std::string& text) {
  return json(text).dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/false,
                         json::error_handler_t::replace);
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
    return absl::InvalidArgumentError(
        absl::StrCat(counts.size(), " counts for ", ids.size(), " ids"));
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

absl::StatusOr<VocabList> ReadVocabList(const std::string& path, const VocabTarget& target) {
  absl::StatusOr<VocabList> list;
  if (path.ends_with(".json")) {
    SHORTLIST_ASSIGN_OR_RETURN(const json root, ReadJsonFile(path, kMaxFileBytes));
    list = ParseVocabList(root, target);
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
    list = ParseText(text, target.vocab_size);
  }
  if (!list.ok()) return At(path, list.status());
  return list;
}

absl::StatusOr<VocabList> ParseVocabList(const json& document, const VocabTarget& target) {
  SHORTLIST_ASSIGN_OR_RETURN(VocabList list, ParseDocument(document));
  SHORTLIST_RETURN_IF_ERROR(CheckFits(list, target));
  return list;
}

std::string VocabListDocument(const VocabList& list) {
  std::string successors;
  for (const std::vector<TokenId>& of_token : list.successors) {
    absl::StrAppend(&successors, successors.empty() ? ",\n\"successors\": [" : ",\n",
                    Array(of_token));
  }
  if (!successors.empty()) successors += "]";
  return absl::StrCat("{\"format\": \"", kFormat, "\", \"version\": ", kVersion,
                      ",\n\"vocab_size\": ", list.vocab_size,
                      ",\n\"fingerprint\": ", Quoted(list.fingerprint),
                      ",\n\"source\": ", Quoted(list.source), ",\n\"ids\": ", Array(list.ids),
                      ",\n\"counts\": ", Array(list.counts), ",\n\"pinned\": ", Array(list.pinned),
                      successors, "}\n");
}

absl::Status WriteVocabList(const std::string& path, const VocabList& list) {
  SHORTLIST_RETURN_IF_ERROR(list.Validate());
  return WriteFileAtomically(path, VocabListDocument(list));
}

}  // namespace shortlist

#include "vocab/vocab_document.h"

#include <iterator>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxVocabSize = VocabList::kMaxVocabSize;
constexpr const char* kFormat = "shortlist-vocab";
constexpr int64_t kVersion = 2;
constexpr uint64_t kMaxInteger = std::numeric_limits<int64_t>::max();

/// Typed access to the members of the document.
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

  absl::StatusOr<bool> Bool(const char* name, bool otherwise) const {
    const auto member = root_.find(name);
    if (member == root_.end()) return otherwise;
    if (!member->is_boolean()) return WrongType(*member, name, "true or false");
    return member->get<bool>();
  }

  /// Returns [n] integers in [0, bound]. A missing member is empty unless `required`.
  absl::StatusOr<std::vector<int64_t>> Integers(const char* name, int64_t bound,
                                                bool required) const {
    const auto member = root_.find(name);
    if (member == root_.end() && required) return Missing(name);
    if (member == root_.end()) return std::vector<int64_t>();
    return AsIntegers(*member, name, bound);
  }

  /// Same as Integers(), but for an optional array of arrays.
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

/// Rejects unknown members: a misspelt one would be ignored silently.
absl::Status CheckMembers(const json& root, int64_t version) {
  std::set<std::string> known = {"format", "version", "vocab_size", "fingerprint", "source",
                                 "ids",    "counts",  "pinned",     "successors"};
  if (version >= 2) known.insert({"ids_fingerprint", "ranked"});
  for (const auto& [name, value] : root.items()) {
    if (!known.contains(name)) {
      return absl::InvalidArgumentError(absl::StrCat("unknown member \"", Excerpt(name), "\""));
    }
  }
  return absl::OkStatus();
}

/// True if `text` has the form that IdsFingerprint returns.
bool IsFingerprint(std::string_view text) {
  constexpr std::string_view kHash = "fnv1a64:";
  return text.starts_with(kHash) && text.size() == kHash.size() + 16 &&
         text.find_first_not_of("0123456789abcdef", kHash.size()) == std::string_view::npos;
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

absl::StatusOr<VocabList> ParseVocabDocument(const json& root) {
  if (!root.is_object()) return absl::InvalidArgumentError("not a JSON object");
  const Document document(root);
  SHORTLIST_ASSIGN_OR_RETURN(const std::string format, document.String("format"));
  if (format != kFormat) {
    return absl::InvalidArgumentError(
        absl::StrCat("format \"", Excerpt(format), "\" is not \"", kFormat, "\""));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t version, document.Integer("version"));
  if (version < 1 || version > kVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("version ", version, " is not known here, only 1 to ", kVersion));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckMembers(root, version));

  VocabList list;
  SHORTLIST_ASSIGN_OR_RETURN(list.ranked, document.Bool("ranked", /*otherwise=*/true));
  SHORTLIST_ASSIGN_OR_RETURN(list.vocab_size, document.Integer("vocab_size"));
  if (list.vocab_size < 1 || list.vocab_size > kMaxVocabSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("vocab_size ", list.vocab_size, " not in [1, ", kMaxVocabSize, "]"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(list.fingerprint, document.String("fingerprint"));
  for (const auto& [name, field] :
       {std::pair("source", &list.source), std::pair("ids_fingerprint", &list.ids_fingerprint)}) {
    if (!root.contains(name)) continue;
    SHORTLIST_ASSIGN_OR_RETURN(*field, document.String(name));
  }
  if (!list.ids_fingerprint.empty() && !IsFingerprint(list.ids_fingerprint)) {
    return absl::InvalidArgumentError(absl::StrCat("ids_fingerprint: \"",
                                                   Excerpt(list.ids_fingerprint),
                                                   "\" is not \"fnv1a64:<16 hex digits>\""));
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

std::string VocabListDocument(const VocabList& list) {
  std::string successors;
  for (const std::vector<TokenId>& of_token : list.successors) {
    absl::StrAppend(&successors, successors.empty() ? ",\n\"successors\": [" : ",\n",
                    Array(of_token));
  }
  if (!successors.empty()) successors += "]";
  return absl::StrCat(
      "{\"format\": \"", kFormat, "\", \"version\": ", kVersion,
      ",\n\"vocab_size\": ", list.vocab_size, ",\n\"fingerprint\": ", Quoted(list.fingerprint),
      ",\n\"ids_fingerprint\": ", Quoted(list.ids_fingerprint),
      ",\n\"source\": ", Quoted(list.source), ",\n\"ranked\": ", list.ranked ? "true" : "false",
      ",\n\"ids\": ", Array(list.ids), ",\n\"counts\": ", Array(list.counts),
      ",\n\"pinned\": ", Array(list.pinned), successors, "}\n");
}

}  // namespace shortlist

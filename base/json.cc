#include "base/json.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Returns the parser's message without its names and numbers: "unexpected '}'; expected a value".
std::string Reason(std::string_view what) {
  // "[json.exception.parse_error.101] parse error at line 1, column 6: syntax error while parsing
  // value - unexpected '}'; expected '[', '{', or a literal"
  for (const std::string_view lead :
       {"] ", "parse error at ", ": ", "syntax error while ", " - "}) {
    const size_t found = what.find(lead);
    if (found != what.npos) what.remove_prefix(found + lead.size());
  }
  what = what.substr(0, what.find("; last read: "));
  return absl::StrReplaceAll(
      absl::string_view(what.data(), what.size()),
      {{"'[', '{', or a literal", "a value"}, {"expected string literal", "expected a string"}});
}

/// Checks depth, repeated keys and syntax of a document without building it. Parsing into a value
/// follows, so hostile nesting never becomes a tree.
class Screen : public nlohmann::json_sax<json> {
 public:
  Screen(std::string_view text, const std::string& origin, int64_t max_values)
      : text_(text), origin_(origin), max_values_(max_values) {}

  const std::string& problem() const { return problem_; }

  bool null() override { return Count(1); }
  bool boolean(bool) override { return Count(1); }
  bool number_integer(number_integer_t) override { return Count(1); }
  bool number_unsigned(number_unsigned_t) override { return Count(1); }
  bool number_float(number_float_t, const string_t&) override { return Count(1); }
  bool string(string_t&) override { return Count(1); }
  bool binary(binary_t&) override { return Count(1); }
  bool start_object(size_t) override { return Push(); }
  bool start_array(size_t) override { return Push(); }
  bool end_object() override { return Pop(); }
  bool end_array() override { return Pop(); }

  bool key(string_t& name) override {
    if (!Count(kMemberValues - 1)) return false;
    if (keys_.back().insert(name).second) return true;
    problem_ =
        absl::StrCat(origin_, ": key \"", name.substr(0, 80), "\" appears twice in one object");
    return false;
  }

  bool parse_error(size_t position, const std::string&, const json::exception& error) override {
    // The last of the `position` bytes read is in error. At the end of the text, `position` counts
    // one byte more than there are.
    const std::string_view before = text_.substr(0, position == 0 ? 0 : position - 1);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t column = before.size() - before.rfind('\n');  // npos + 1 is 0
    problem_ = absl::StrCat(origin_, ": not valid JSON at byte ", position, " (line ", line,
                            ", column ", column, "): ", Excerpt(Reason(error.what())));
    return false;
  }

 private:
  bool Push() {
    if (keys_.size() >= static_cast<size_t>(kMaxJsonDepth)) {
      problem_ = absl::StrCat(origin_, ": JSON nested deeper than ", kMaxJsonDepth, " levels");
      return false;
    }
    keys_.emplace_back();
    return Count(1);
  }
  bool Count(int64_t num_values) {
    num_values_ += num_values;
    if (num_values_ <= max_values_) return true;
    problem_ =
        absl::StrCat(origin_, ": more than ", max_values_,
                     " values of JSON (a member of an object counts as ", kMemberValues, ")");
    return false;
  }
  bool Pop() {
    keys_.pop_back();
    return true;
  }

  static constexpr int64_t kMemberValues = 8;

  const std::string_view text_;
  const std::string& origin_;
  const int64_t max_values_;
  int64_t num_values_ = 0;
  std::string problem_;
  std::vector<std::set<std::string>> keys_;  // one set per open object or array
};

/// Builds a document in linear time: the library's builder searches all earlier keys for each key.
class OrderedBuilder : public nlohmann::json_sax<ordered_json> {
 public:
  ordered_json Take() { return std::move(root_); }

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override { return Add(value); }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(ordered_json::object()); }
  bool start_array(size_t) override { return Open(ordered_json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const json::exception&) override { return false; }

 private:
  bool Add(ordered_json value) {
    Place(std::move(value));
    return true;
  }
  bool Open(ordered_json value) {
    open_.push_back(Place(std::move(value)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }
  /// Appends `value` to the innermost open object or array, or makes it the root.
  ordered_json* Place(ordered_json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (auto* members = open_.back()->get_ptr<ordered_json::object_t*>()) {
      using Members = std::vector<ordered_json::object_t::value_type>;
      return &static_cast<Members*>(members)
                  ->emplace_back(std::move(key_), std::move(value))
                  .second;
    }
    return &open_.back()->get_ref<ordered_json::array_t&>().emplace_back(std::move(value));
  }

  ordered_json root_;
  std::string key_;                  // of the next value
  std::vector<ordered_json*> open_;  // each is the last value of the one before
};

}  // namespace

ordered_json ParseOrderedJson(const std::string& text) {
  OrderedBuilder builder;
  SHORTLIST_CHECK(ordered_json::sax_parse(text, &builder));
  return builder.Take();
}

absl::StatusOr<json> ParseJson(const std::string& text, const std::string& origin,
                               int64_t max_values) {
  if (const size_t nul = text.find('\0');
      nul != std::string::npos) {  // the parser would stop there
    return absl::InvalidArgumentError(absl::StrCat(origin, ": not valid JSON: NUL at byte ", nul));
  }
  Screen screen(text, origin, max_values);
  if (!json::sax_parse(text, &screen)) return absl::InvalidArgumentError(screen.problem());
  return json::parse(text);
}

absl::StatusOr<json> ReadJsonFile(const std::string& path, int64_t max_bytes) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, max_bytes));
  return ParseJson(text, path);
}

}  // namespace shortlist

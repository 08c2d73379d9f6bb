#include "base/json.h"

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

/// Checks a document without building it: depth, repeated keys, syntax. Parsing into a value comes
/// after, so no hostile nesting ever becomes a tree.
class Screen : public nlohmann::json_sax<json> {
 public:
  Screen(const std::string& origin, int64_t max_values)
      : origin_(origin), max_values_(max_values) {}

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
    problem_ =
        absl::StrCat(origin_, ": not valid JSON at byte ", position, ": ", Excerpt(error.what()));
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
    problem_ = absl::StrCat(origin_, ": more than ", max_values_, " values of JSON");
    return false;
  }
  bool Pop() {
    keys_.pop_back();
    return true;
  }

  static constexpr int64_t kMemberValues = 8;

  const std::string& origin_;
  const int64_t max_values_;
  int64_t num_values_ = 0;
  std::string problem_;
  std::vector<std::set<std::string>> keys_;  // one set per open object or array
};

}  // namespace

absl::StatusOr<json> ParseJson(const std::string& text, const std::string& origin,
                               int64_t max_values) {
  if (const size_t nul = text.find('\0');
      nul != std::string::npos) {  // the parser would stop there
    return absl::InvalidArgumentError(absl::StrCat(origin, ": not valid JSON: NUL at byte ", nul));
  }
  Screen screen(origin, max_values);
  if (!json::sax_parse(text, &screen)) return absl::InvalidArgumentError(screen.problem());
  return json::parse(text);
}

absl::StatusOr<json> ReadJsonFile(const std::string& path, int64_t max_bytes) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, max_bytes));
  return ParseJson(text, path);
}

}  // namespace shortlist

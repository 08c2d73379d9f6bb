#include "cli/embed/text_rows.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/read_lines.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

constexpr int64_t kMaxInputBytes = int64_t{4} << 30;
constexpr int64_t kMaxLineBytes = int64_t{64} << 20;  // of standard input

absl::Status Refuse(const std::string& where, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

absl::StatusOr<std::string> TextOfJson(const std::string& line, const std::string& key,
                                       const std::string& where) {
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json row, ParseJson(line, where));
  if (row.is_string()) return row.get<std::string>();
  if (!row.is_object()) return Refuse(where, "neither a JSON string nor an object");
  const auto value = row.find(key);
  if (value == row.end()) return Refuse(where, absl::StrCat("has no ", Quote(key)));
  if (!value->is_string()) return Refuse(where, absl::StrCat(Quote(key), " is not a string"));
  return value->get<std::string>();
}

absl::StatusOr<std::string> ReadInput(const TextInputFlags& flags, std::istream& in) {
  if (!flags.path.empty()) return ReadFile(flags.path, kMaxInputBytes);
  return ReadLines(in, "standard input",
                   {.max_line_bytes = kMaxLineBytes, .max_bytes = kMaxInputBytes});
}

}  // namespace

void AddTextInputFlags(CLI::App& command, TextInputFlags& flags) {
  command
      .add_option("--in", flags.path,
                  "Texts: one a line, or in a .jsonl file a JSON string or object a line; standard "
                  "input without it. For a model that reads pictures also a folder of them")
      ->type_name("FILE");
  command.add_flag("--jsonl", flags.jsonl, "Lines are JSON, whatever the file is called");
  command.add_option("--text-key", flags.text_key, "Where in a JSON object the text is")
      ->type_name("KEY")
      ->default_str(flags.text_key);
}

std::string TextRows::Where(int64_t row) const {
  if (are_pictures) return rows[row].text;
  return absl::StrCat(origin, " line ", rows[row].line);
}

absl::StatusOr<TextRows> ReadTextRows(const TextInputFlags& flags, BlankLines blank_lines,
                                      std::istream& in) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string contents, ReadInput(flags, in));
  const bool is_json = flags.jsonl || flags.path.ends_with(".jsonl");
  TextRows texts{.origin = flags.path.empty() ? "standard input" : flags.path, .rows = {}};
  int64_t line_number = 0;
  for (size_t begin = 0; begin < contents.size();) {
    const size_t end = std::min(contents.find('\n', begin), contents.size());
    std::string line = contents.substr(begin, end - begin);
    begin = end + 1;
    const std::string where = absl::StrCat(texts.origin, " line ", ++line_number);
    if (IsBlank(line)) {
      if (is_json || blank_lines == BlankLines::kSkipped) continue;
      return Refuse(where, "the text is empty");
    }
    if (const auto invalid = FindInvalidUtf8(line)) {
      return Refuse(where, absl::StrCat("not valid UTF-8 at byte ", *invalid));
    }
    if (is_json) {
      SHORTLIST_ASSIGN_OR_RETURN(line, TextOfJson(line, flags.text_key, where));
    } else if (line.back() == '\r') {
      line.pop_back();
    }
    texts.rows.push_back({std::move(line), line_number});
  }
  if (texts.rows.empty()) return Refuse(texts.origin, "holds no text");
  return texts;
}

}  // namespace shortlist

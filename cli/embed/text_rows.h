#ifndef SHORTLIST_CLI_EMBED_TEXT_ROWS_H_
#define SHORTLIST_CLI_EMBED_TEXT_ROWS_H_

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace CLI {
class App;
}

namespace shortlist {

/// Where texts come from.
struct TextInputFlags {
  std::string path;    // empty: standard input
  bool jsonl = false;  // as for a path that ends in .jsonl
  std::string text_key = "text";
};

/// Adds --in, --jsonl and --text-key; parsing fills `flags`, which must outlive it.
void AddTextInputFlags(CLI::App& command, TextInputFlags& flags);

struct TextRow {
  std::string text;  // valid UTF-8; empty where JSON says so
  int64_t line = 0;  // from 1 on
};

/// Texts and what they are called in errors.
struct TextRows {
  std::string origin;  // a path, "standard input" or a flag
  std::vector<TextRow> rows;
  bool are_pictures = false;  // then a row's text is the path of one

  /// "FILE line 7", or the path of a picture.
  std::string Where(int64_t row) const;
};

/// Of plain text, in which each line is one: skipping leaves rows that are not those of the file.
enum class BlankLines { kRefused, kSkipped };

/// Reads lines of text, or of JSON: a string, or an object with the string `text_key`. Of JSON,
/// blank lines are skipped. `in` is standard input. Errors are those of ReadFile, and
/// InvalidArgument with origin and line: invalid UTF-8 (the byte), a blank line of plain text,
/// what is not JSON of that kind; or no text at all.
absl::StatusOr<TextRows> ReadTextRows(const TextInputFlags& flags, BlankLines blank_lines,
                                      std::istream& in);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_TEXT_ROWS_H_

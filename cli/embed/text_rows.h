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

/// Source of texts.
struct TextInputFlags {
  std::string path;    // empty: standard input
  bool jsonl = false;  // implied by a path that ends in .jsonl
  std::string text_key = "text";
};

/// Adds --in, --jsonl and --text-key; parsing fills `flags`, which must outlive it.
void AddTextInputFlags(CLI::App& command, TextInputFlags& flags);

struct TextRow {
  std::string text;  // valid UTF-8; may be empty only in JSON
  int64_t line = 0;  // counts from 1
};

/// Texts and their names in error messages.
struct TextRows {
  std::string origin;  // a path, "standard input" or a flag
  std::vector<TextRow> rows;
  bool are_pictures = false;  // then a row's text is a picture's path

  /// "FILE line 7", or the path of a picture.
  std::string Where(int64_t row) const;
};

/// Blank lines of plain text. If they are skipped, row numbers differ from those of the file.
enum class BlankLines { kRefused, kSkipped };

/// Reads lines of plain text or JSON: a string, or an object with the string `text_key`. Blank
/// lines of JSON are skipped. `in` is standard input. Errors are those of ReadFile, and
/// InvalidArgument with origin and line: invalid UTF-8 (names the byte), a blank line of plain
/// text, or JSON of another kind. No text at all is InvalidArgument too.
absl::StatusOr<TextRows> ReadTextRows(const TextInputFlags& flags, BlankLines blank_lines,
                                      std::istream& in);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_TEXT_ROWS_H_

#ifndef SHORTLIST_TEXT_JINJA_LEXER_H_
#define SHORTLIST_TEXT_JINJA_LEXER_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace shortlist::jinja {

enum class TokenKind {
  kText,        // value: what stands outside of tags, white space control applied
  kBlockBegin,  // {%
  kBlockEnd,
  kOutputBegin,  // {{
  kOutputEnd,
  kName,
  kString,  // value: what it stands for
  kInteger,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string value;
  int line = 0;
};

/// The tokens of a template, kEnd last. As Jinja 3.1 with trim_blocks and lstrip_blocks, which
/// transformers sets: the first line end after a block tag and the white space before one are
/// dropped, `-` strips all white space, `+` keeps it; one line end at the template's end is
/// dropped. `source` is UTF-8. InvalidArgument names the line.
absl::StatusOr<std::vector<Token>> Tokenize(std::string_view source);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_LEXER_H_

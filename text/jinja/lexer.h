#ifndef SHORTLIST_TEXT_JINJA_LEXER_H_
#define SHORTLIST_TEXT_JINJA_LEXER_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace shortlist::jinja {

enum class TokenKind {
  kText,        // value: the text outside of tags, white space control applied
  kBlockBegin,  // {%
  kBlockEnd,
  kOutputBegin,  // {{
  kOutputEnd,
  kName,
  kString,  // value: the string without quotes and escapes
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

/// Returns the tokens of a template, kEnd last. Like Jinja 3.1 with trim_blocks and lstrip_blocks,
/// which transformers sets. The first line end after a block tag is dropped, as is the white space
/// between the start of a line and a block tag. `-` strips all white space, `+` keeps it. One line
/// end at the template's end is dropped. `source` is UTF-8. InvalidArgument names the line.
absl::StatusOr<std::vector<Token>> Tokenize(std::string_view source);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_LEXER_H_

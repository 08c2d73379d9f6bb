#include "grammar/free_text.h"

#include <cstdint>
#include <vector>

#include "grammar/byte_set.h"
#include "grammar/char_class.h"

namespace shortlist {
namespace {

ExprId AnyText(Expressions& e) {
  const ExprId any_char = CodePoints(e, std::vector<CodePointRange>{{0, kMaxCodePoint}});
  return e.Repeat(any_char, 0, Expressions::kNoLimit);
}

/// Any bytes, then one of `texts`, then at least `min_after` bytes.
ExprId Containing(Expressions& e, std::span<const std::string> texts, int64_t min_after) {
  const ExprId any_byte = e.Bytes(~ByteSet());
  std::vector<ExprId> options;
  for (const std::string& text : texts) options.push_back(e.Text(text));
  return e.Sequence(std::vector{e.Repeat(any_byte, 0, Expressions::kNoLimit), e.Choice(options),
                                e.Repeat(any_byte, min_after, Expressions::kNoLimit)});
}

}  // namespace

ExprId TextWithout(Expressions& expressions, std::span<const std::string> excluded) {
  const ExprId any = AnyText(expressions);
  if (excluded.empty()) return any;
  return expressions.Except(any, Containing(expressions, excluded, /*min_after=*/0));
}

ExprId TextUntil(Expressions& expressions, std::string_view end,
                 std::span<const std::string> triggers, std::span<const std::string> excluded) {
  const ExprId ending = expressions.Sequence(AnyText(expressions), expressions.Text(end));
  const ExprId wrong = expressions.Choice(Containing(expressions, triggers, /*min_after=*/1),
                                          Containing(expressions, excluded, /*min_after=*/0));
  return expressions.Except(ending, wrong);
}

}  // namespace shortlist

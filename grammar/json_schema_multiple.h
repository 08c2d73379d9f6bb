#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_MULTIPLE_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_MULTIPLE_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "grammar/decimal.h"
#include "grammar/expressions.h"
#include "grammar/json_schema_document.h"

namespace shortlist {

/// Texts of the numbers that `multipleOf` allows. Keeps what it has made.
class MultipleTexts {
 public:
  /// The arguments must outlive this object.
  MultipleTexts(SchemaDocument& document, Expressions& expressions)
      : document_(document), expressions_(expressions) {}

  /// Returns the multiples of all of `multiples` (above zero) with at most `num_whole` digits
  /// before the point, or fewer if there are too many states and not `all_digits`. `integer`: the
  /// texts have no point.
  ///
  /// InvalidArgument if the digits need too many states (about digits times multiple).
  absl::StatusOr<ExprId> Texts(const std::vector<Decimal>& multiples, int num_whole,
                               bool all_digits, bool integer);

 private:
  using Key = std::tuple<int64_t, int, int, bool>;  // multiple, digits after and before the point

  SchemaDocument& document_;
  Expressions& expressions_;
  std::map<Key, ExprId> made_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_MULTIPLE_H_

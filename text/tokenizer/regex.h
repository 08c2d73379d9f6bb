#ifndef SHORTLIST_TEXT_TOKENIZER_REGEX_H_
#define SHORTLIST_TEXT_TOKENIZER_REGEX_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "text/encode_budget.h"

namespace shortlist {

struct Match {
  size_t begin = 0;
  size_t end = 0;
};

/// A regular expression of a tokenizer file, run by PCRE2 (compiled to machine code where the
/// processor allows). Such files are written for Oniguruma. So \s, \d, \w, \h, their complements,
/// \b, \B and brackets such as [:alpha:] have Oniguruma's meaning, and ^ and $ match at lines. Set
/// intersection, classes within classes and \K are rejected. Immutable; any thread may call Find.
class Regex {
 public:
  /// InvalidArgument names the pattern, the problem and its offset.
  static absl::StatusOr<Regex> Compile(std::string_view pattern);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// Returns the first match at `from` or later, in the whole of `text` (valid UTF-8).
  /// InvalidArgument if the search takes more steps than a limit that no ordinary pattern reaches,
  /// or if the time of `budget` is used up (null: unbounded).
  absl::StatusOr<std::optional<Match>> Find(std::string_view text, size_t from,
                                            EncodeBudget* budget = nullptr) const;

 private:
  absl::Status FindError(const absl::Status& why, std::string_view text, size_t from) const;

  struct Code;
  explicit Regex(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_REGEX_H_

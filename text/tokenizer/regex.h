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
/// processor allows). Such files are written for Oniguruma: \s, \d, \w, \h and their complements,
/// \b, \B and [:alpha:] and its like have its meaning, ^ and $ match at lines. Set intersection and
/// classes within classes are refused, and so is \K. Immutable; any thread may call Find.
class Regex {
 public:
  /// InvalidArgument names the pattern, and what is wrong with it at which offset.
  static absl::StatusOr<Regex> Compile(std::string_view pattern);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// The first match at `from` or later, in the whole of `text`, which is valid UTF-8.
  /// InvalidArgument when the search takes more steps than a limit that no ordinary pattern comes
  /// near, and when the time of `budget` is used up (null: no bound).
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

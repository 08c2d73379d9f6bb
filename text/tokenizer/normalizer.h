#ifndef SHORTLIST_TEXT_TOKENIZER_NORMALIZER_H_
#define SHORTLIST_TEXT_TOKENIZER_NORMALIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/encode_budget.h"
#include "text/unicode.h"

namespace shortlist {

/// Text on its way to the words.
struct NormalizedText {
  std::string text;  // valid UTF-8
  /// Its first character stands for the first one of the user's text. Metaspace's prepend_scheme
  /// "first" asks for that.
  bool at_origin = true;
  /// How long it may become.
  size_t max_bytes = EncodeBudget::kMaxRewrittenBytes;
  /// The time that it may take; null: no bound.
  EncodeBudget* budget = nullptr;
};

/// One step of a normaliser of tokenizer.json. Immutable.
class NormalizerStep {
 public:
  virtual ~NormalizerStep() = default;
  /// Rewrites `text`. Errors of Regex::Find; InvalidArgument when it would be longer than it may; a
  /// step that at most doubles a text may leave that to its caller.
  virtual absl::Status Apply(NormalizedText& text) const = 0;
  /// How many times longer than the result the text may have been, at least 1; none: no bound,
  /// since the step may drop text.
  virtual std::optional<int64_t> max_shrinkage() const { return std::nullopt; }
};

/// Brings texts into a normal form.
std::unique_ptr<NormalizerStep> MakeNormalFormStep(NormalForm form);

using Normalizer = std::vector<std::unique_ptr<NormalizerStep>>;

/// Applies all steps. The errors of a step; InvalidArgument when the time of `text.budget` is used
/// up.

absl::Status Apply(const Normalizer& normalizer, NormalizedText& text);

/// NormalizerStep::max_shrinkage of all steps together.
std::optional<int64_t> MaxShrinkage(const Normalizer& normalizer);

/// How many steps a normalizer and a pre-tokenizer may have: far more than any real one.
inline constexpr size_t kMaxSteps = 1000;

/// The member "normalizer" of a tokenizer.json, which may be null. InvalidArgument names a type
/// that is not known, the member that is wrong, or more than kMaxSteps steps.
absl::StatusOr<Normalizer> ParseNormalizer(const nlohmann::json& spec);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_NORMALIZER_H_

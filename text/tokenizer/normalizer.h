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

/// Text between the user's input and its words.
struct NormalizedText {
  std::string text;  // valid UTF-8
  /// True if its first character stands for the first character of the user's text. Metaspace's
  /// prepend_scheme "first" needs that.
  bool at_origin = true;
  /// Maximum size of `text`.
  size_t max_bytes = EncodeBudget::kMaxRewrittenBytes;
  /// The time that normalisation may take; null: unbounded.
  EncodeBudget* budget = nullptr;
};

/// One step of a normaliser of tokenizer.json. Immutable.
class NormalizerStep {
 public:
  virtual ~NormalizerStep() = default;
  /// Rewrites `text`. Returns errors of Regex::Find; InvalidArgument if the result would exceed
  /// `max_bytes`. A step that at most doubles a text may leave that check to its caller.
  virtual absl::Status Apply(NormalizedText& text) const = 0;
  /// Maximum ratio of the text's size to the result's size, at least 1. nullopt: unbounded, since
  /// the step may drop text.
  virtual std::optional<int64_t> max_shrinkage() const { return std::nullopt; }
};

/// Returns a step that converts texts to a normal form.
std::unique_ptr<NormalizerStep> MakeNormalFormStep(NormalForm form);

using Normalizer = std::vector<std::unique_ptr<NormalizerStep>>;

/// Applies all steps. Returns errors of the steps; InvalidArgument if the time of `text.budget` is
/// used up.

absl::Status Apply(const Normalizer& normalizer, NormalizedText& text);

/// Returns NormalizerStep::max_shrinkage of all steps together.
std::optional<int64_t> MaxShrinkage(const Normalizer& normalizer);

/// Maximum number of steps of a normalizer and of a pre-tokenizer: far more than any real one has.
inline constexpr size_t kMaxSteps = 1000;

/// Parses the member "normalizer" of a tokenizer.json, which may be null. InvalidArgument names an
/// unknown type, the member that is wrong, or more than kMaxSteps steps.
absl::StatusOr<Normalizer> ParseNormalizer(const nlohmann::json& spec);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_NORMALIZER_H_

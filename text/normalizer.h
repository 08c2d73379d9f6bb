#ifndef SHORTLIST_TEXT_NORMALIZER_H_
#define SHORTLIST_TEXT_NORMALIZER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/unicode.h"

namespace shortlist {

/// Text on its way to the words.
struct NormalizedText {
  std::string text;  // valid UTF-8
  /// Its first character stands for the first one of the user's text. Metaspace's prepend_scheme
  /// "first" asks for that.
  bool at_origin = true;
};

/// One step of a normaliser of tokenizer.json. Immutable.
class NormalizerStep {
 public:
  virtual ~NormalizerStep() = default;
  /// Rewrites `text`. ResourceExhausted from a regular expression.
  virtual absl::Status Apply(NormalizedText& text) const = 0;
};

/// Brings texts into a normal form.
std::unique_ptr<NormalizerStep> MakeNormalFormStep(NormalForm form);

using Normalizer = std::vector<std::unique_ptr<NormalizerStep>>;

absl::Status Apply(const Normalizer& normalizer, NormalizedText& text);

/// The member "normalizer" of a tokenizer.json, which may be null. InvalidArgument names a type
/// that is not known, or the member that is wrong.
absl::StatusOr<Normalizer> ParseNormalizer(const nlohmann::json& spec);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_NORMALIZER_H_

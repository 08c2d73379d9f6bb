#include "model/checkpoint/window_config.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

/// Returns the window of the layers that have one; 0: no layer has a window.
absl::StatusOr<int64_t> ReadWindow(const ConfigFields& fields, const Family& family) {
  const WindowRule rule = family.windows;
  SHORTLIST_ASSIGN_OR_RETURN(const bool uses_it, fields.Bool("use_sliding_window", false));
  const json* value = fields.Find("sliding_window");
  if (rule == WindowRule::kNone || rule == WindowRule::kRecurrent) {
    if (value != nullptr) return fields.Unsupported("sliding_window", *value, "only null is");
    if (uses_it) return fields.Unsupported("use_sliding_window", true, "only false is");
    return 0;
  }
  if (rule == WindowRule::kFromLayer && !uses_it) return 0;
  // Null disables the window; if absent, transformers' default applies.
  if (value == nullptr) {
    return fields.object().contains("sliding_window") ? 0 : family.default_window;
  }
  return fields.Int("sliding_window", 1, kMaxContextLen);
}

/// Returns, for each layer, whether it has a window by `family` if any layer has one.
absl::StatusOr<std::vector<bool>> LayersByRule(const ConfigFields& fields, const Family& family,
                                               int64_t num_layers) {
  constexpr int64_t kDefaultFirst = 28;
  const WindowRule rule = family.windows;
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t first,
                             fields.Int("max_window_layers", 0, kMaxLayers, kDefaultFirst));
  int64_t pattern = family.default_pattern;
  if (rule == WindowRule::kPattern && fields.Find("layer_types") == nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(pattern,
                               fields.Int("sliding_window_pattern", 1, kMaxLayers, pattern));
  }
  std::vector<bool> slides(static_cast<size_t>(num_layers));
  for (int64_t i = 0; i < num_layers; ++i) {
    slides[i] = rule == WindowRule::kAll || (rule == WindowRule::kFromLayer && i >= first) ||
                (rule == WindowRule::kPattern && (i + 1) % pattern != 0);
  }
  return slides;
}

/// Replaces `slides` by what layer_types says.
absl::Status ReadLayerTypes(const ConfigFields& fields, const json& types, WindowRule rule,
                            int64_t window, std::vector<bool>& slides) {
  if (!types.is_array() || types.size() != slides.size()) {
    return fields.Invalid("layer_types", absl::StrCat("= ", Quote(types), " is not a list of ",
                                                      slides.size(), " names"));
  }
  // Mistral's own code ignores the types.
  const bool is_by_rule = rule == WindowRule::kAll && window > 0;
  for (size_t i = 0; i < slides.size(); ++i) {
    const json& type = types[i];
    const bool wants_window = type == "sliding_attention" && window > 0;
    if ((!wants_window && type != "full_attention") || (is_by_rule && !wants_window)) {
      return fields.Unsupported("layer_types", type,
                                window == 0 ? "without a sliding window only \"full_attention\" is"
                                : is_by_rule
                                    ? "with a sliding window only \"sliding_attention\" is"
                                    : "only \"full_attention\" and \"sliding_attention\" are");
    }
    slides[i] = wants_window;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadWindows(const ConfigFields& fields, const Family& family, ModelConfig& config) {
  const WindowRule rule = family.windows;
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t window, ReadWindow(fields, family));
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<bool> slides,
                             LayersByRule(fields, family, config.num_layers));
  const json* const types = fields.Find("layer_types");
  if (types != nullptr && rule != WindowRule::kRecurrent) {
    SHORTLIST_RETURN_IF_ERROR(ReadLayerTypes(fields, *types, rule, window, slides));
  } else if (rule == WindowRule::kPattern && window == 0 &&
             std::find(slides.begin(), slides.end(), true) != slides.end()) {
    return fields.Unsupported("sliding_window", json(), "without it only full attention is");
  }
  if (window == 0) return absl::OkStatus();
  for (const bool has_window : slides) config.windows.push_back(has_window ? window : 0);
  return absl::OkStatus();
}

}  // namespace shortlist

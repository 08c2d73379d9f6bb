#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/gguf/gguf_families.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

/// Keys that are read, or do not change the result, in every architecture.
constexpr const char* kKnownKeys[] = {
    "attention.head_count",   "attention.head_count_kv",
    "attention.key_length",   "attention.layer_norm_rms_epsilon",
    "attention.value_length", "block_count",
    "context_length",         "embedding_length",
    "feed_forward_length",    "rope.dimension_count",
    "rope.freq_base",         "rope.scaling.factor",
    "rope.scaling.type",      "vocab_size",
};

}  // namespace

absl::StatusOr<int64_t> GgufKeys::Size(const char* name, std::optional<int64_t> otherwise) const {
  SHORTLIST_ASSIGN_OR_RETURN(const auto size, metadata_.Int(Key(name), 1, kMaxSize));
  if (!size && !otherwise) return metadata_.Invalid(Key(name), "missing");
  return size ? *size : *otherwise;
}

absl::StatusOr<double> GgufKeys::Real(const char* name, std::optional<double> otherwise) const {
  SHORTLIST_ASSIGN_OR_RETURN(const auto value, metadata_.Real(Key(name)));
  if (!value && !otherwise) return metadata_.Invalid(Key(name), "missing");
  char text[32];
  const float narrow = static_cast<float>(value ? *value : *otherwise);
  const auto end = std::to_chars(std::begin(text), std::end(text), narrow).ptr;
  double shortest = 0.0;
  std::from_chars(text, end, shortest);
  return shortest;
}

absl::Status GgufKeys::CheckKnown() const {
  const std::string prefix = Key("");
  for (const auto& [key, value] : metadata_.values()) {
    if (!key.starts_with(prefix)) continue;
    const std::string name = key.substr(prefix.size());
    const auto is_name = [&](const char* known) { return name == known; };
    if (std::any_of(std::begin(kKnownKeys), std::end(kKnownKeys), is_name)) continue;
    if (std::any_of(family_.keys.begin(), family_.keys.end(), is_name)) continue;
    return absl::UnimplementedError(
        std::string(metadata_.Invalid(key, "not supported: it may change the result").message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<json> GgufKeys::RopeScaling() const {
  SHORTLIST_ASSIGN_OR_RETURN(const auto stored, metadata_.String(Key("rope.scaling.type")));
  // llama.cpp's defaults
  const bool has_factor = metadata_.Contains(Key("rope.scaling.factor"));
  const std::string type = stored ? *stored : has_factor ? "linear" : "none";
  if (type == "none") return json();
  if (type != "linear") {
    return absl::UnimplementedError(std::string(
        metadata_
            .Invalid(Key("rope.scaling.type"),
                     absl::StrCat(Quote(type), " is not supported; none and linear are"))
            .message()));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const double factor, Real("rope.scaling.factor", std::nullopt));
  return json{{"rope_type", "linear"}, {"factor", factor}};
}

absl::StatusOr<int64_t> GgufKeys::NumLayers() const {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_blocks, Size("block_count"));
  SHORTLIST_ASSIGN_OR_RETURN(const auto num_mtp,
                             metadata_.Int(Key(kMtpLayersKey), 0, num_blocks - 1));
  return num_blocks - num_mtp.value_or(0);
}

std::string GgufKeys::Key(const char* name) const { return absl::StrCat(family_.arch, ".", name); }

absl::StatusOr<GgufHeads> ReadHeads(const GgufKeys& keys) {
  GgufHeads heads;
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t hidden, keys.Size("embedding_length"));
  SHORTLIST_ASSIGN_OR_RETURN(heads.num_heads, keys.Size("attention.head_count"));
  SHORTLIST_ASSIGN_OR_RETURN(heads.num_kv_heads,
                             keys.Size("attention.head_count_kv", heads.num_heads));
  SHORTLIST_ASSIGN_OR_RETURN(
      heads.head_dim,
      keys.Size("attention.key_length", std::max<int64_t>(hidden / heads.num_heads, 1)));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t value_dim,
                             keys.Size("attention.value_length", heads.head_dim));
  SHORTLIST_ASSIGN_OR_RETURN(heads.rotary_dim, keys.Size("rope.dimension_count", heads.head_dim));
  const bool rotates_part = keys.family().may_rotate_part && heads.rotary_dim < heads.head_dim;
  if (value_dim != heads.head_dim || (heads.rotary_dim != heads.head_dim && !rotates_part)) {
    return absl::UnimplementedError(absl::StrCat(
        "metadata: keys of ", heads.head_dim, ", values of ", value_dim, " and RoPE over ",
        heads.rotary_dim, " dimensions; supported are models where the three are equal"));
  }
  return heads;
}

}  // namespace shortlist

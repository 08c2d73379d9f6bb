#ifndef SHORTLIST_IO_GGUF_GGUF_FAMILIES_H_
#define SHORTLIST_IO_GGUF_GGUF_FAMILIES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/gguf/gguf_file.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// The number of blocks for multi-token prediction, which come last.
inline constexpr char kMtpLayersKey[] = "nextn_predict_layers";

class GgufKeys;

/// A name in GGUF files, and in Hugging Face's.
struct GgufName {
  const char* gguf;
  const char* hugging_face;
};

/// An architecture of llama.cpp as one of Hugging Face: a row of the table in gguf_families.cc.
struct GgufFamily {
  const char* arch;  // general.architecture
  const char* architecture;
  const char* model_type;
  bool pairs_rows = false;       // q and k rows of a head are stored as the pairs that RoPE rotates
  bool may_rotate_part = false;  // rope.dimension_count may be below attention.key_length
  bool may_have_biases = false;  // config.json has attention_bias and mlp_bias
  std::span<const GgufName> modules = {};  // of a layer, before those of all architectures
  std::span<const GgufName> tensors = {};  // of a layer: whole names, with what follows the module
  std::span<const char* const> keys = {};  // below `{arch}.`, in addition to those of all
  /// Adds what only this architecture's config.json has.
  absl::Status (*add)(const GgufKeys& keys, nlohmann::json& config);
};

/// The keys of one file's architecture.
class GgufKeys {
 public:
  /// Unimplemented names an unknown architecture, and the known ones.
  static absl::StatusOr<GgufKeys> Of(const GgufMetadata& metadata);

  const GgufFamily& family() const { return family_; }

  /// A size of at least 1. InvalidArgument if it is missing and there is no `otherwise`.
  absl::StatusOr<int64_t> Size(const char* name,
                               std::optional<int64_t> otherwise = std::nullopt) const;
  bool Contains(const char* name) const { return metadata_.Contains(Key(name)); }
  /// The shortest decimal number that gives the same f32: 1e-06 rather than 9.999999974752427e-07.
  absl::StatusOr<double> Real(const char* name, std::optional<double> otherwise) const;
  /// rope_scaling of config.json; null without scaling.
  absl::StatusOr<nlohmann::json> RopeScaling() const;

  /// Layers of the model, without those for multi-token prediction, which come last in the file.
  absl::StatusOr<int64_t> NumLayers() const;

  /// Unimplemented names a key of the architecture that is not known.
  absl::Status CheckKnown() const;

 private:
  GgufKeys(const GgufMetadata& metadata, const GgufFamily& family)
      : metadata_(metadata), family_(family) {}

  std::string Key(const char* name) const;

  const GgufMetadata& metadata_;
  const GgufFamily& family_;
};

/// The shape of attention.
struct GgufHeads {
  int64_t num_heads, num_kv_heads, head_dim, rotary_dim;
};

absl::StatusOr<GgufHeads> ReadHeads(const GgufKeys& keys);

/// `blk.3.attn_q.weight` -> `model.layers.3.self_attn.q_proj.weight`; nullopt for an unknown name.
/// Layers from num_layers on are for multi-token prediction.
std::optional<std::string> HuggingFaceName(const std::string& name, const GgufFamily& family,
                                           int64_t num_layers);

}  // namespace shortlist

#endif  // SHORTLIST_IO_GGUF_GGUF_FAMILIES_H_

#ifndef SHORTLIST_MODEL_KV_CACHE_H_
#define SHORTLIST_MODEL_KV_CACHE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/arena.h"
#include "kernels/attention.h"
#include "model/checkpoint/config.h"

namespace shortlist {

/// Keys and values of one model: num_slots slots in each layer. The caller tracks who owns which
/// slot. Written by one forward pass at a time.
class KvCache {
 public:
  /// InvalidArgument if num_slots is not in [1, 2^31). ResourceExhausted, with the bytes needed, if
  /// the system has no memory for them.
  static absl::StatusOr<KvCache> Create(const ModelConfig& config, int64_t num_slots, DType dtype);

  /// Bytes of one slot in all layers.
  static int64_t SlotBytes(const ModelConfig& config, DType dtype) {
    return 2 * (config.num_layers - config.num_recurrent_layers()) * config.num_kv_heads *
           config.head_dim * DTypeBytes(dtype);
  }

  int64_t num_slots() const { return num_slots_; }
  int64_t num_layers() const { return static_cast<int64_t>(layers_.size()); }
  /// Memory of layer `index`: keys and values, each [num_slots, num_kv_heads, head_dim]. Null for a
  /// recurrent layer.
  const KvLayer& layer(int64_t index) const { return layers_[index]; }

 private:
  KvCache() = default;
  int64_t num_slots_ = 0;
  Arena memory_;
  std::vector<KvLayer> layers_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_KV_CACHE_H_

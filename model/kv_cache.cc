#include "model/kv_cache.h"

#include <limits>
#include <new>

#include "absl/strings/str_cat.h"

namespace shortlist {

absl::StatusOr<KvCache> KvCache::Create(const ModelConfig& config, int64_t num_slots, DType dtype) {
  constexpr int64_t kMaxSlots = std::numeric_limits<int32_t>::max();
  if (num_slots < 1 || num_slots > kMaxSlots) {
    return absl::InvalidArgumentError(
        absl::StrCat("KV cache of ", num_slots, " slots; need 1 to ", kMaxSlots));
  }
  constexpr int64_t kCacheLine = 64;
  const __int128 array_bytes = (static_cast<__int128>(num_slots) * config.num_kv_heads *
                                    config.head_dim * DTypeBytes(dtype) +
                                kCacheLine - 1) /
                               kCacheLine * kCacheLine;
  const int64_t num_layers = config.num_layers - config.num_recurrent_layers();
  const __int128 total_bytes = array_bytes * 2 * num_layers;
  const auto too_large = [&] {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a KV cache of ", num_slots, " slots, ", num_layers,
                     " layers: it needs ", static_cast<double>(total_bytes) / (1 << 30), " GiB"));
  };
  if (total_bytes > std::numeric_limits<int64_t>::max()) return too_large();

  KvCache cache;
  cache.num_slots_ = num_slots;
  try {
    cache.memory_ = Arena(static_cast<int64_t>(total_bytes));
  } catch (const std::bad_alloc&) {
    return too_large();
  }
  char* next = static_cast<char*>(cache.memory_.data());
  for (int64_t i = 0; i < config.num_layers; ++i) {
    KvLayer layer;
    layer.dtype = dtype;
    layer.num_kv_heads = config.num_kv_heads;
    layer.head_dim = config.head_dim;
    if (!config.IsRecurrent(i)) {
      layer.keys = next;
      layer.values = next + static_cast<int64_t>(array_bytes);
      next += 2 * static_cast<int64_t>(array_bytes);
    }
    cache.layers_.push_back(layer);
  }
  return cache;
}

}  // namespace shortlist

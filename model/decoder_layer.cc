#include "model/decoder_layer.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "kernels/elementwise.h"

namespace shortlist {
namespace {

struct BlockName {
  const char* name;
  int64_t out_features;
};

/// Reads several weights of one input and packs them one below the other. Quantised weights come
/// straight from the numbers of the checkpoint.
absl::StatusOr<PackedLinear> LoadStacked(Checkpoint& checkpoint, const std::string& prefix,
                                         std::span<const BlockName> names, int64_t in_features,
                                         DType dtype, ThreadPool& pool) {
  std::vector<at::Tensor> tensors;
  std::vector<MatrixView> blocks;
  for (const BlockName& block : names) {
    const std::string name = absl::StrCat(prefix, block.name);
    DType read = dtype;
    if (IsQuantized(dtype)) {
      SHORTLIST_ASSIGN_OR_RETURN(read, checkpoint.StoredDType(name));
    }
    SHORTLIST_ASSIGN_OR_RETURN(
        at::Tensor tensor, checkpoint.Load(name, {block.out_features, in_features}, read, pool));
    blocks.push_back({tensor.data_ptr(), read, block.out_features});
    tensors.push_back(std::move(tensor));
  }
  return PackedLinear::Pack(blocks, in_features, dtype, pool, &checkpoint.packed_memory());
}

}  // namespace

absl::StatusOr<PackedLinear> LoadLinear(Checkpoint& checkpoint, const std::string& name,
                                        int64_t out_features, int64_t in_features, DType dtype,
                                        ThreadPool& pool) {
  const std::array blocks = {BlockName{name.c_str(), out_features}};
  return LoadStacked(checkpoint, "", blocks, in_features, dtype, pool);
}

void LayerScratch::Reserve(const ModelConfig& config, int64_t num_tokens) {
  const auto reserve = [num_tokens](std::vector<float>& values, int64_t width) {
    const size_t size = static_cast<size_t>(num_tokens * width);
    if (values.size() < size) values = std::vector<float>(size);
  };
  reserve(qkv, (config.num_heads + 2 * config.num_kv_heads) * config.head_dim);
  reserve(attended, config.num_heads * config.head_dim);
  reserve(gated, config.intermediate);
}

absl::Status DecoderLayer::LoadAttention(Checkpoint& checkpoint, const std::string& prefix,
                                         const ModelConfig& config, DType dtype, ThreadPool& pool) {
  const int64_t q_features = config.num_heads * config.head_dim;
  const int64_t kv_features = config.num_kv_heads * config.head_dim;
  const std::array qkv = {BlockName{"q_proj.weight", q_features},
                          BlockName{"k_proj.weight", kv_features},
                          BlockName{"v_proj.weight", kv_features}};
  SHORTLIST_ASSIGN_OR_RETURN(qkv_,
                             LoadStacked(checkpoint, prefix, qkv, config.hidden, dtype, pool));
  SHORTLIST_ASSIGN_OR_RETURN(output_, LoadLinear(checkpoint, absl::StrCat(prefix, "o_proj.weight"),
                                                 config.hidden, q_features, dtype, pool));
  const auto load = [&](const char* name, int64_t size) {
    return checkpoint.Load(absl::StrCat(prefix, name), {size}, DType::kF32, pool);
  };
  if (config.qkv_bias) {
    for (const auto& [name, size] :
         {std::pair("q_proj.bias", q_features), std::pair("k_proj.bias", kv_features),
          std::pair("v_proj.bias", kv_features)}) {
      SHORTLIST_ASSIGN_OR_RETURN(const at::Tensor bias, load(name, size));
      const float* const values = bias.data_ptr<float>();
      qkv_bias_.insert(qkv_bias_.end(), values, values + size);
    }
  }
  if (config.qk_norm) {
    SHORTLIST_ASSIGN_OR_RETURN(query_norm_, load("q_norm.weight", config.head_dim));
    SHORTLIST_ASSIGN_OR_RETURN(key_norm_, load("k_norm.weight", config.head_dim));
  }
  return absl::OkStatus();
}

absl::StatusOr<DecoderLayer> DecoderLayer::Load(Checkpoint& checkpoint, const std::string& prefix,
                                                const ModelConfig& config, int64_t index,
                                                bool has_input_norm, DType dtype,
                                                ThreadPool& pool) {
  DecoderLayer layer;
  if (!config.windows.empty()) layer.window_ = config.windows[index];
  if (has_input_norm) {
    SHORTLIST_ASSIGN_OR_RETURN(layer.input_norm_,
                               checkpoint.Load(absl::StrCat(prefix, "input_layernorm.weight"),
                                               {config.hidden}, DType::kF32, pool));
  }
  SHORTLIST_RETURN_IF_ERROR(
      layer.LoadAttention(checkpoint, absl::StrCat(prefix, "self_attn."), config, dtype, pool));
  SHORTLIST_ASSIGN_OR_RETURN(
      layer.post_norm_, checkpoint.Load(absl::StrCat(prefix, "post_attention_layernorm.weight"),
                                        {config.hidden}, DType::kF32, pool));
  SHORTLIST_ASSIGN_OR_RETURN(layer.gate_,
                             LoadLinear(checkpoint, absl::StrCat(prefix, "mlp.gate_proj.weight"),
                                        config.intermediate, config.hidden, dtype, pool));
  SHORTLIST_ASSIGN_OR_RETURN(layer.up_,
                             LoadLinear(checkpoint, absl::StrCat(prefix, "mlp.up_proj.weight"),
                                        config.intermediate, config.hidden, dtype, pool));
  SHORTLIST_ASSIGN_OR_RETURN(layer.down_,
                             LoadLinear(checkpoint, absl::StrCat(prefix, "mlp.down_proj.weight"),
                                        config.hidden, config.intermediate, dtype, pool));
  return layer;
}

void DecoderLayer::PrepareHeads(const ModelConfig& config, const ForwardBatch& batch,
                                const RopeTable& rope, float* qkv, ThreadPool& pool) const {
  const int64_t num_tokens = batch.num_tokens();
  const int64_t stride = (config.num_heads + 2 * config.num_kv_heads) * config.head_dim;
  if (!qkv_bias_.empty()) AddBiasCpu(qkv, qkv_bias_.data(), num_tokens, stride, pool);
  if (query_norm_.defined()) {
    const float epsilon = static_cast<float>(config.rms_norm_eps);
    HeadNormCpu(qkv, stride, num_tokens, config.num_heads, config.head_dim,
                query_norm_.data_ptr<float>(), epsilon, pool);
    HeadNormCpu(qkv + config.num_heads * config.head_dim, stride, num_tokens, config.num_kv_heads,
                config.head_dim, key_norm_.data_ptr<float>(), epsilon, pool);
  }
  // Query and key heads lie side by side: one call rotates both.
  RopeCpu(qkv, stride, num_tokens, config.num_heads + config.num_kv_heads, config.head_dim,
          batch.positions().data(), rope.cos(), rope.sin(), pool);
}

void DecoderLayer::Forward(const ModelConfig& config, const ForwardBatch& batch,
                           const KvLayer& cache, const RopeTable& rope, float* hidden,
                           LayerScratch& scratch, ThreadPool& pool) const {
  const int64_t num_tokens = batch.num_tokens();
  const float epsilon = static_cast<float>(config.rms_norm_eps);
  const int64_t q_features = config.num_heads * config.head_dim;
  const int64_t kv_features = config.num_kv_heads * config.head_dim;
  const int64_t qkv_stride = q_features + 2 * kv_features;

  const auto normed = [&](const at::Tensor& weight) -> LinearInput {
    return {hidden, weight.defined() ? weight.data_ptr<float>() : nullptr, epsilon};
  };
  float* const qkv = scratch.qkv.data();
  float* const keys = qkv + q_features;
  LinearCpu(qkv_, normed(input_norm_), num_tokens, qkv, /*accumulate=*/false, pool);
  PrepareHeads(config, batch, rope, qkv, pool);
  StoreKvCpu(cache, keys, keys + kv_features, qkv_stride, batch.out_slots().data(), num_tokens,
             pool);
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim)));
  AttentionLayout layout = batch.layout();
  layout.window = window_;
  AttentionCpu(cache, layout, qkv, qkv_stride, config.num_heads, scale, scratch.attended.data(),
               pool);
  LinearCpu(output_, {scratch.attended.data()}, num_tokens, hidden, /*accumulate=*/true, pool);

  GatedLinearCpu(gate_, up_, normed(post_norm_), num_tokens, scratch.gated.data(), pool);
  LinearCpu(down_, {scratch.gated.data()}, num_tokens, hidden, /*accumulate=*/true, pool);
}

void CheckBatch(const ModelConfig& config, DType dtype, const ForwardBatch& batch,
                const KvCache& cache) {
  SHORTLIST_CHECK(cache.num_layers() == config.num_layers);
  const KvLayer& kv = cache.layer(0);
  SHORTLIST_CHECK(kv.dtype == dtype);
  SHORTLIST_CHECK(kv.num_kv_heads == config.num_kv_heads && kv.head_dim == config.head_dim);
  const auto all_below = [](std::span<const int32_t> values, int64_t bound) {
    return std::all_of(values.begin(), values.end(),
                       [bound](int32_t value) { return value >= 0 && value < bound; });
  };
  SHORTLIST_CHECK(all_below(batch.token_ids(), config.vocab_size));
  SHORTLIST_CHECK(all_below(batch.positions(), config.context_len));
  SHORTLIST_CHECK(all_below(batch.out_slots(), cache.num_slots()));
  if (batch.num_tokens() == 0) return;
  const AttentionLayout layout = batch.layout();
  const int32_t num_seqs = layout.seq_of_token[layout.num_tokens - 1] + 1;
  const size_t num_kv_slots = static_cast<size_t>(layout.kv_indptr[num_seqs]);
  SHORTLIST_CHECK(all_below({layout.kv_slots, num_kv_slots}, cache.num_slots()));
}

int64_t PositionsNeeded(const ForwardBatch& batch) {
  int64_t needed = 0;
  for (const int32_t position : batch.positions()) needed = std::max<int64_t>(needed, position + 1);
  return needed;
}

absl::Status CatchTorch(absl::string_view what, absl::FunctionRef<absl::Status()> body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(what, ": out of memory"));
  } catch (const c10::OutOfMemoryError&) {
    return absl::ResourceExhaustedError(absl::StrCat(what, ": out of the device's memory"));
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat(what, ": ", error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(what, ": ", error.what()));
  }
}

}  // namespace shortlist

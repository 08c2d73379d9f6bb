#ifndef SHORTLIST_TESTS_SUPPORT_TINY_LLAMA_H_
#define SHORTLIST_TESTS_SUPPORT_TINY_LLAMA_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/dtype.h"

namespace shortlist {

/// A random Llama small enough for a unit test.
struct TinyLlamaOptions {
  int64_t vocab_size = 96;
  int64_t hidden = 32;
  int64_t intermediate = 48;
  int64_t num_layers = 2;
  int64_t num_heads = 4;
  int64_t num_kv_heads = 2;
  int64_t head_dim = 8;
  int64_t context_len = 128;
  bool tied = false;
  bool fc_bias = false;  // WriteTinyEagle only
  DType dtype = DType::kF32;
};

/// Writes config.json and model.safetensors of a LlamaForCausalLM with weights drawn from `seed`
/// into `dir`, which is created. BOS is 1, EOS 2. There is no tokenizer.
absl::Status WriteTinyLlama(const std::string& dir, const TinyLlamaOptions& options, uint64_t seed);

/// The same for an EAGLE-1 draft (LlamaForCausalLMEagle) of a target with these options; its
/// num_layers is the draft's.
absl::Status WriteTinyEagle(const std::string& dir, const TinyLlamaOptions& options, uint64_t seed);

/// Copies a Llama directory with a single model.safetensors into `dst_dir`, which is created,
/// keeping only its first `num_layers` layers; tokenizer files come along. The result is a
/// plausible draft for its source.
absl::Status TruncateLayers(const std::string& src_dir, const std::string& dst_dir,
                            int64_t num_layers);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SUPPORT_TINY_LLAMA_H_

#ifndef SHORTLIST_TESTS_SUPPORT_TINY_HYBRID_H_
#define SHORTLIST_TESTS_SUPPORT_TINY_HYBRID_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace shortlist {

/// Writes config.json and model.safetensors of a random Qwen3_5ForCausalLM into `dir`, which is
/// created: 96 tokens, hidden size 32, a gated delta net, attention, a gated delta net, attention,
/// and an MTP layer. BOS is 1, EOS 2. There is no tokenizer.
absl::Status WriteTinyHybrid(const std::string& dir, uint64_t seed);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SUPPORT_TINY_HYBRID_H_

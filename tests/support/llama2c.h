#ifndef SHORTLIST_TESTS_SUPPORT_LLAMA2C_H_
#define SHORTLIST_TESTS_SUPPORT_LLAMA2C_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"

namespace shortlist {

/// Converts a llama2.c checkpoint (karpathy/llama2.c, export version 0: seven int32, then f32
/// weights) into a Hugging Face directory, which is created: config.json and an f32
/// model.safetensors. llama2.c rotates neighbouring elements, Hugging Face's Llama the two halves
/// of a head, so query and key rows are permuted.
absl::Status WriteStories260K(const std::string& llama2c_bin, const std::string& dir);

/// The pieces of a llama2.c tokenizer file (tok512.bin) in id order, as written.
absl::StatusOr<std::vector<std::string>> ReadLlama2cPieces(const std::string& path, int vocab_size);

/// The text llama2.c prints for `ids` after BOS: <0xNN> pieces are bytes, and the first piece loses
/// its space.
std::string DecodeLlama2c(const std::vector<std::string>& pieces, const std::vector<TokenId>& ids);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SUPPORT_LLAMA2C_H_

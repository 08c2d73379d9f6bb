#ifndef SHORTLIST_TESTS_IO_GGUF_WRITER_H_
#define SHORTLIST_TESTS_IO_GGUF_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

namespace shortlist {

/// The little-endian bytes of a number.
template <typename T>
std::string Bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline std::string Text(const std::string& text) { return Bytes<uint64_t>(text.size()) + text; }

inline std::string Pair(const std::string& key, uint32_t type, const std::string& value) {
  return Text(key) + Bytes(type) + value;
}
inline std::string IntPair(const std::string& key, uint32_t value) {
  return Pair(key, 4, Bytes(value));
}
inline std::string TextPair(const std::string& key, const std::string& value) {
  return Pair(key, 8, Text(value));
}

struct GgufTensor {
  std::string name;
  std::vector<uint64_t> extents;  // the fastest first
  uint32_t type;
  uint64_t offset;
};

/// A GGUF file of version 3 with `data_bytes` of zeros for tensors.
inline std::string FileOf(const std::vector<std::string>& pairs,
                          const std::vector<GgufTensor>& tensors, size_t data_bytes) {
  std::string file =
      "GGUF" + Bytes<uint32_t>(3) + Bytes<uint64_t>(tensors.size()) + Bytes<uint64_t>(pairs.size());
  for (const std::string& pair : pairs) file += pair;
  for (const GgufTensor& tensor : tensors) {
    file += Text(tensor.name) + Bytes(static_cast<uint32_t>(tensor.extents.size()));
    for (const uint64_t extent : tensor.extents) file += Bytes(extent);
    file += Bytes(tensor.type) + Bytes(tensor.offset);
  }
  file.resize((file.size() + 31) / 32 * 32);
  return file + std::string(data_bytes, '\0');
}

inline std::string TextsPair(const std::string& key, const std::vector<std::string>& values) {
  std::string list = Bytes<uint32_t>(8) + Bytes<uint64_t>(values.size());
  for (const std::string& value : values) list += Text(value);
  return Pair(key, 9, list);
}
inline std::string IntsPair(const std::string& key, const std::vector<uint32_t>& values) {
  std::string list = Bytes<uint32_t>(4) + Bytes<uint64_t>(values.size());
  for (const uint32_t value : values) list += Bytes(value);
  return Pair(key, 9, list);
}

/// What a Llama model of one layer with 6 tokens and heads of 16 dimensions has, with `more`, which
/// replaces a pair of the same key.
inline std::vector<std::string> SmallPairs(const std::vector<std::string>& more = {}) {
  std::vector<std::string> pairs = more;
  const auto add = [&](const std::string& key, const std::string& pair) {
    for (const std::string& known : more) {
      if (known.starts_with(Text(key))) return;
    }
    pairs.push_back(pair);
  };
  const auto add_text = [&](const std::string& key, const std::string& value) {
    add(key, TextPair(key, value));
  };
  const auto add_int = [&](const std::string& key, uint32_t value) {
    add(key, IntPair(key, value));
  };
  add_text("general.architecture", "llama");
  add_int("llama.block_count", 1);
  add_int("llama.context_length", 1 << 17);
  add_int("llama.embedding_length", 32);
  add_int("llama.feed_forward_length", 32);
  add_int("llama.attention.head_count", 2);
  add("llama.attention.layer_norm_rms_epsilon",
      Pair("llama.attention.layer_norm_rms_epsilon", 6, Bytes(1e-5f)));
  add("llama.rope.freq_base", Pair("llama.rope.freq_base", 6, Bytes(500000.0f)));
  add_text("tokenizer.ggml.model", "gpt2");
  add_text("tokenizer.ggml.pre", "llama-bpe");
  add("tokenizer.ggml.tokens",
      TextsPair("tokenizer.ggml.tokens", {"a", "b", "ab", "ba", "<s>", "</s>"}));
  add("tokenizer.ggml.token_type", IntsPair("tokenizer.ggml.token_type", {1, 1, 1, 1, 3, 3}));
  add("tokenizer.ggml.merges", TextsPair("tokenizer.ggml.merges", {"a b", "b a"}));
  add_int("tokenizer.ggml.bos_token_id", 4);
  add_int("tokenizer.ggml.eos_token_id", 5);
  return pairs;
}

inline const GgufTensor kSmallEmbedding{"token_embd.weight", {32, 6}, 0, 0};  // 768 bytes

/// A file of SmallPairs(more) without layers: enough for its config and tokenizer.
inline std::string SmallFile(const std::vector<std::string>& more = {}) {
  return FileOf(SmallPairs(more), {kSmallEmbedding}, 768);
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_IO_GGUF_WRITER_H_

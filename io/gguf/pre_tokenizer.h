#ifndef SHORTLIST_IO_GGUF_PRE_TOKENIZER_H_
#define SHORTLIST_IO_GGUF_PRE_TOKENIZER_H_

#include <optional>
#include <string>

#include "nlohmann/json.hpp"

namespace shortlist {

/// What a value of tokenizer.ggml.pre stands for, as in the models' own tokenizer.json.
struct PreTokenizer {
  nlohmann::json normalizer;
  nlohmann::json pre_tokenizers;
  bool ignore_merges = false;
  bool adds_bos = false;  // unless the metadata say otherwise
};

/// The step of tokenizer.json between text and the alphabet of bytes.
nlohmann::json ByteLevel(bool use_regex);

/// Returns nullopt for an unknown name.
std::optional<PreTokenizer> FindPreTokenizer(const std::string& name);

}  // namespace shortlist

#endif  // SHORTLIST_IO_GGUF_PRE_TOKENIZER_H_

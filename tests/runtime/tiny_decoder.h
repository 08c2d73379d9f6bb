#ifndef SHORTLIST_TESTS_RUNTIME_TINY_DECODER_H_
#define SHORTLIST_TESTS_RUNTIME_TINY_DECODER_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tests/support/temp_dir.h"

namespace shortlist {

/// The chat template of a Qwen3-Reranker.
inline constexpr char kRerankerTemplate[] =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    "the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
    "<|im_start|>user\n<Instruct>: {{ instruct | default(\"Given a web search query, retrieve "
    "relevant passages that answer the query\") }}\n<Query>: {{ query }}\n<Document>: "
    "{{ document }}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n\n";

/// A directory with the decoder of a golden file that holds "config" and "tensors", shapes by name.
class TinyDecoder {
 public:
  /// `path` below tests/reference/golden, without its ".json".
  explicit TinyDecoder(const std::string& path);

  const nlohmann::json& golden() const { return golden_; }
  /// Writes `file` next to the others.
  void AddFile(const std::string& file, const nlohmann::json& contents);
  /// Writes config.json and weights; returns the directory.
  std::string Write();

 private:
  const nlohmann::json golden_;
  TempDir dir_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_RUNTIME_TINY_DECODER_H_

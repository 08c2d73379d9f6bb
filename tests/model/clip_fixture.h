#ifndef SHORTLIST_TESTS_MODEL_CLIP_FIXTURE_H_
#define SHORTLIST_TESTS_MODEL_CLIP_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"

namespace shortlist {

/// A model of tests/reference/golden/clip, and its vectors of texts and pictures.
class GoldenClip {
 public:
  /// The names of all of them, sorted.
  static std::vector<std::string> Names();
  explicit GoldenClip(const std::string& name);

  struct Text {
    std::vector<int32_t> token_ids;
    std::vector<float> vector;  // as transformers has it, not normalised
  };
  struct Shown {
    std::string file;  // a path
    std::vector<float> vector;
  };
  std::vector<Text> texts;
  std::vector<Shown> pictures;

  nlohmann::json config, processor;
  std::vector<StoredTensor> tensors;
  /// Gives the text tower as many ids as the golden CLIP tokenizer has, which it writes too; the
  /// vectors of texts are not transformers' any more.
  void AddTokenizer();
  /// Writes config, processor and tensors into a directory, which is returned; it lives as long as
  /// this.
  std::string Write() const;

 private:
  TempDir dir_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_MODEL_CLIP_FIXTURE_H_

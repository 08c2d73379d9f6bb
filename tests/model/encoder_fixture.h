#ifndef SHORTLIST_TESTS_MODEL_ENCODER_FIXTURE_H_
#define SHORTLIST_TESTS_MODEL_ENCODER_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "model/encoder.h"
#include "nlohmann/json.hpp"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"

namespace shortlist {

/// A model and sequences of tests/reference/golden/encoders.
class GoldenEncoder {
 public:
  /// The names of all of them, sorted.
  static std::vector<std::string> Names();
  explicit GoldenEncoder(const std::string& name);

  struct Text {
    std::vector<int32_t> token_ids, token_type_ids;  // [num_tokens]
    std::vector<float> hidden;                       // [num_tokens, hidden] as transformers has it
  };
  std::vector<Text> texts;

  nlohmann::json config;
  std::vector<StoredTensor> tensors;
  /// Writes config and tensors into a directory, which is returned; it lives as long as this.
  std::string Write() const;

 private:
  TempDir dir_;
};

/// Loads, or aborts with the error: for directories that the test itself has just written.
std::unique_ptr<Encoder> LoadEncoderOrDie(const std::string& dir, std::optional<DType> dtype,
                                          ThreadPool& pool,
                                          std::optional<DType> quantize = std::nullopt);

/// Hidden states of each text, [num_tokens, hidden], run as one batch in this order.
std::vector<std::vector<float>> Encode(Encoder& encoder,
                                       const std::vector<GoldenEncoder::Text>& texts);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_MODEL_ENCODER_FIXTURE_H_

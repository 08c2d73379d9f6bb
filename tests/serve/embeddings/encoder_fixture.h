#ifndef SHORTLIST_TESTS_SERVE_EMBEDDINGS_ENCODER_FIXTURE_H_
#define SHORTLIST_TESTS_SERVE_EMBEDDINGS_ENCODER_FIXTURE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "router/encoding_loop.h"
#include "serve/served_encoder.h"
#include "tests/serve/serve_fixture.h"

namespace shortlist {

/// Stands in for an encoder. A word of n letters is the token 10 + n; a text is [1, words, 2], a
/// pair [1, words, 2, words, 2], of at most 16 tokens; there are 20,000 ids. The vector of ids x_1
/// to x_n is {n, x_1 + 2 x_2 + ... + n x_n, 0.1, -2.5}, the logit of a text its number of tokens
/// less 6, of each further label one less; the word "nan" makes it all NaN. How likely token t is
/// next: t / 1000, or, as if no other could be, t over the sum of those asked for. In a sparse
/// vector the token 10 + n has the weight n, in a multi-vector {n, -n}; 1 and 2 have none. A
/// picture is as many tokens 5 as its text has characters; "broken" is refused.
class FakeEncoder {
 public:
  explicit FakeEncoder(ServedEncoder described);

  const ServedEncoder& described() const { return described_; }
  EncodingLoop& loop() { return *loop_; }

  std::atomic<int64_t> pass_us = 0;
  std::atomic<int64_t> num_inputs = 0;    // computed
  std::atomic<int64_t> picture_us = 0;    // that reading one takes
  std::atomic<int64_t> num_pictures = 0;  // read

 private:
  std::vector<EncodeResult> Encode(std::span<const EncodingLoop::Item> items);

  ServedEncoder described_;
  std::unique_ptr<EncodingLoop> loop_;
};

/// A server with encoders and the fake engine.
class EncoderTest : public ServeTest {
 protected:
  ~EncoderTest() override;

  void AddVectors(const std::string& name);
  /// With sparse vectors and multi-vectors too.
  void AddThreeKinds(const std::string& name);
  /// Adds a model of texts and pictures.
  void AddPictures(const std::string& name);
  void AddScores(const std::string& name, int64_t num_labels = 1);
  /// The generating model's states.
  void AddStates();
  /// Starts with the added models and the generating model "demo".
  void StartAll(const std::function<void(Server::Options&)>& change = {});

  /// The reply to a body; its status must be `status`.
  nlohmann::json Post(const std::string& path, const nlohmann::json& body, int status = 200) const;

  std::vector<std::unique_ptr<FakeEncoder>> encoders_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SERVE_EMBEDDINGS_ENCODER_FIXTURE_H_

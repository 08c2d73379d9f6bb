#ifndef SHORTLIST_BENCH_LOAD_EMBEDDINGS_API_H_
#define SHORTLIST_BENCH_LOAD_EMBEDDINGS_API_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bench/load/http_client.h"

namespace shortlist {

/// How embeddings are requested.
struct EmbeddingsOptions {
  std::string model;           // empty: the field is omitted
  bool is_base64 = false;      // else an array of numbers
  bool sends_ids = false;      // token ids instead of text
  int64_t vocab_size = 20000;  // ids are from its upper 95 %
};

/// Writes request bodies for embeddings of random inputs, which are equal only by chance. A text
/// consists of short English words. Nearly every word is one token for any tokenizer trained on
/// English.
class EmbeddingsBodies {
 public:
  /// `options` must outlive this.
  explicit EmbeddingsBodies(const EmbeddingsOptions& options, uint64_t seed = 1);

  /// Makes `num_inputs` inputs of `num_units` words, or ids, each.
  std::string Make(int64_t num_inputs, int64_t num_units);

 private:
  void AppendInput(int64_t num_units, std::string& json);

  const EmbeddingsOptions& options_;
  std::mt19937_64 random_;
};

/// A valid reply.
struct EmbeddingsReply {
  int64_t num_dimensions = 0;
  std::optional<int64_t> num_tokens;  // usage.prompt_tokens; nullopt: not reported
};

/// InvalidArgument unless `body` is `num_inputs` vectors of finite numbers, in order of their
/// index, all with the same number of dimensions (`num_dimensions` unless that is 0).
absl::StatusOr<EmbeddingsReply> CheckEmbeddings(std::string_view body, bool is_base64,
                                                int64_t num_inputs, int64_t num_dimensions);

/// Relation of words to tokens: num_tokens = per_input + per_unit * num_units, approximately.
struct InputTokens {
  double per_input = 0.0, per_unit = 1.0;
  int64_t num_dimensions = 0;  // of a vector

  /// Number of words, or ids, of an input of about `num_tokens` tokens; at least 1.
  int64_t Units(int64_t num_tokens) const;
};

/// Measures InputTokens with two short inputs. Errors contain the server's reply.
boost::asio::awaitable<absl::StatusOr<InputTokens>> ProbeInputTokens(
    HttpClient& client, const EmbeddingsOptions& options, EmbeddingsBodies& bodies);

}  // namespace shortlist

#endif  // SHORTLIST_BENCH_LOAD_EMBEDDINGS_API_H_

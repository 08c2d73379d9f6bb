#ifndef SHORTLIST_SERVE_SERVED_ENCODER_H_
#define SHORTLIST_SERVE_SERVED_ENCODER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "request/encoding.h"

namespace shortlist {

/// One input as a client sends it: a text, a pair of texts, token ids, a picture, or a prompt in
/// two parts.
struct EncodeSource {
  std::string text;  // the text; of a pair the second
  // The first text of a pair; often shared by many inputs. Null: not a pair.
  std::shared_ptr<const std::string> first;
  std::vector<TokenId> ids;      // not empty: these ids, in place of texts
  std::string picture;           // not empty: base64 or a data: URI, in place of texts
  bool picture_is_file = false;  // true: `picture` contains the bytes of the file
  // The other part of a prompt in two parts: text or ids, as this part is; often shared by many
  // inputs. Control tokens spelled in the text of a prompt become these tokens. Null: no prompt.
  std::shared_ptr<const EncodeSource> context;
  bool context_behind = false;  // true: the other part follows this one; false: it precedes it
};

/// Truncation of inputs that are too long.
struct EncodeCut {
  bool truncates = false;             // false: an input that is too long is rejected
  std::optional<bool> keeps_end;      // true: drops the beginning; nullopt: the model's default
  std::optional<int64_t> max_tokens;  // at most the model's max_input_tokens; nullopt: that
  // Limit for the second text of a pair alone, which is cut to it; nullopt: none.
  std::optional<int64_t> max_second_tokens;
};

/// An encoder as the routes see it, independent of what computes it. Constant once it is served.
struct ServedEncoder {
  /// kStates: the generating model, which is not trained as an encoder. Its hidden states give
  /// vectors (FastChat) and probabilities of next tokens (SGLang's /v1/score).
  enum class Makes { kVectors, kScores, kStates };

  std::string name;  // the name that clients use
  std::string path;
  Makes makes = Makes::kVectors;
  int64_t max_input_tokens = 0;
  int64_t result_size = 0;  // dimensions of a vector, or number of labels
  int64_t vocab_size = 0;   // ids in requests are below this
  // The kinds of vectors that an encoder of vectors makes, all in one pass.
  bool makes_dense = true;
  int64_t max_sparse_weights = 0;  // in the sparse vector of one input; 0: makes none
  int64_t multi_vector_size = 0;   // dimensions of each token's vector; 0: makes none
  // Texts that an encoder of vectors puts before an input, by name; and the one used without a
  // name.
  std::map<std::string, std::string> prompts;
  std::string default_prompt;
  bool reads_pictures = false;
  std::vector<std::string> labels;  // [result_size] of an encoder of scores
  bool instructs_pairs = false;     // of an encoder of scores: accepts an instruction before a pair

  /// Returns the encoder's input for a source; `instruction` goes before its first text. OutOfRange
  /// if the input is too long, InvalidArgument for other errors. Any thread.
  std::function<absl::StatusOr<EncodeInput>(const std::string& instruction,
                                            const EncodeSource& source, const EncodeCut& cut)>
      prepare;
};

/// The inputs that one request of a client wants encoded.
struct EncodeBatch {
  size_t model = 0;                  // an index into Generator::Options::encoders
  std::vector<EncodeSource> inputs;  // at least one
  // What the dialect calls the inputs, for error messages; a string literal.
  std::string_view field = "input";
  bool is_list = true;          // false: the field is one input, not a list
  size_t inputs_per_entry = 1;  // number of inputs made from one entry of the field
  std::string instruction;      // for ServedEncoder::prepare
  EncodeCut cut;
  EncodeWish wish;
  int64_t num_reply_bytes = 0;  // approximate size of the reply without values
  int32_t priority = 0;         // larger goes first
  double timeout_s = std::numeric_limits<double>::infinity();  // from arrival to the last result
};

/// The results of an EncodeBatch.
struct EncodedBatch {
  std::vector<std::vector<float>> values;  // of each input; all finite
  // Of each input; empty if not requested.
  std::vector<std::vector<SparseWeight>> sparse;
  std::vector<std::vector<float>> multi_vectors;
  std::vector<int64_t> num_tokens;  // of each input
  // Tokens of the query that the inputs were scored for; not in num_tokens.
  int64_t num_query_tokens = 0;
  double seconds = 0.0;  // since the request

  int64_t total_tokens() const {
    return std::accumulate(num_tokens.begin(), num_tokens.end(), num_query_tokens);
  }
};

/// Work of an encoder since it was created.
struct EncoderLoad {
  std::string name;
  int64_t num_queued = 0;  // requests of the Pipeline
  int64_t num_passes = 0;
  int64_t num_inputs = 0;
  int64_t num_tokens = 0;  // tokens computed
  double seconds = 0.0;    // time spent in passes
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SERVED_ENCODER_H_

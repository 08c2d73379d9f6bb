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

/// One thing to encode, as a client sends it: a text, a pair of texts, token ids, a picture, or a
/// prompt in two parts.
struct EncodeSource {
  std::string text;                          // of a pair the second
  std::shared_ptr<const std::string> first;  // of a pair; often the same for many. Null: no pair
  std::vector<TokenId> ids;                  // not empty: these, in place of texts
  std::string picture;           // not empty: in base64 or a data: URI, in place of texts
  bool picture_is_file = false;  // `picture` is the file's bytes themselves
  // Of a prompt the other part, text or ids as this one is; often the same for many. Control tokens
  // spelled in a prompt's text are these tokens. Null: no prompt.
  std::shared_ptr<const EncodeSource> context;
  bool context_behind = false;  // the other part comes behind this one, not before
};

/// What becomes of an input that is too long.
struct EncodeCut {
  bool truncates = false;             // false: it is refused
  std::optional<bool> keeps_end;      // true: its beginning is dropped; nullopt: as the model wants
  std::optional<int64_t> max_tokens;  // at most the model's max_input_tokens; nullopt: that
  std::optional<int64_t> max_second_tokens;  // of a pair's second text alone, which is cut to it
};

/// An encoder as the routes know it, whatever computes behind it. Constant once it is served.
struct ServedEncoder {
  /// kStates: what the generating model's hidden states give, which it was not made for: vectors,
  /// for FastChat, and how likely tokens come next, for SGLang's /v1/score.
  enum class Makes { kVectors, kScores, kStates };

  std::string name;  // what clients call it
  std::string path;
  Makes makes = Makes::kVectors;
  int64_t max_input_tokens = 0;
  int64_t result_size = 0;  // dimensions of a vector, or labels
  int64_t vocab_size = 0;   // ids in requests are below
  // Of one that makes vectors: which kinds, of one pass.
  bool makes_dense = true;
  int64_t max_sparse_weights = 0;  // in the sparse vector of an input; 0: it makes none
  int64_t multi_vector_size = 0;   // dimensions of each token's vector; 0: it makes none
  // Likewise: what goes before a text, by name, and where no name is given.
  std::map<std::string, std::string> prompts;
  std::string default_prompt;
  bool reads_pictures = false;
  std::vector<std::string> labels;  // [result_size] of one that makes scores
  bool instructs_pairs = false;     // likewise: an instruction may go before a pair

  /// What the encoder reads of a source; `instruction` goes before its first text. OutOfRange for
  /// one that is too long, InvalidArgument for what else is wrong with it. Any thread.
  std::function<absl::StatusOr<EncodeInput>(const std::string& instruction,
                                            const EncodeSource& source, const EncodeCut& cut)>
      prepare;
};

/// What one client's request wants encoded.
struct EncodeBatch {
  size_t model = 0;                  // an index into Generator::Options::encoders
  std::vector<EncodeSource> inputs;  // at least one
  std::string_view field = "input";  // what the dialect calls them, for errors; a literal
  bool is_list = true;               // false: the field is one input, not a list of them
  size_t inputs_per_entry = 1;       // so many inputs are of one entry of the field
  std::string instruction;           // as ServedEncoder::prepare takes it
  EncodeCut cut;
  EncodeWish wish;
  int64_t num_reply_bytes = 0;  // of the whole reply, about, beside values
  int32_t priority = 0;         // larger goes first
  double timeout_s = std::numeric_limits<double>::infinity();  // from arrival to the last result
};

/// What came of it.
struct EncodedBatch {
  std::vector<std::vector<float>> values;  // of each input, all finite
  // Of each input, or empty where they are not wished for.
  std::vector<std::vector<SparseWeight>> sparse;
  std::vector<std::vector<float>> multi_vectors;
  std::vector<int64_t> num_tokens;  // of each input
  int64_t num_query_tokens = 0;     // of what they were scored for, beside them
  double seconds = 0.0;             // since it was asked for

  int64_t total_tokens() const {
    return std::accumulate(num_tokens.begin(), num_tokens.end(), num_query_tokens);
  }
};

/// An encoder's work so far.
struct EncoderLoad {
  std::string name;
  int64_t num_queued = 0;  // requests of the Pipeline
  int64_t num_passes = 0;
  int64_t num_inputs = 0;
  int64_t num_tokens = 0;  // computed
  double seconds = 0.0;    // of passes
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SERVED_ENCODER_H_

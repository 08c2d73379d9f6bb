#ifndef SHORTLIST_ROUTER_MESSAGES_H_
#define SHORTLIST_ROUTER_MESSAGES_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "request/encoding.h"
#include "request/sampling_params.h"
#include "request/sequence.h"

namespace shortlist {

class DynamicVocabularyManager;  // vocab/dynamic_vocabulary_manager.h
class Receiver;                  // router/pipeline.h

/// One request, from the tokenizer.
struct TokenizedGenerateReqInput {
  std::string rid;                     // unique among the requests being served
  std::shared_ptr<Receiver> receiver;  // returned in each row; may be null
  std::vector<TokenId> input_ids;
  SamplingParams sampling_params;
  int64_t max_tail_rows = 0;  // see Sequence::Options
  bool speculates = true;     // false: no drafting for this request
  // Client hints: ids that the draft must score for this request, in addition to those found for
  // it. Each must be in [0, emit_size) of the engine; at most max_tail_rows of them are used.
  std::vector<TokenId> dynamic_token_ids;
  // The vocabulary that the draft scores and that learns from this request; must outlive the
  // router. Null: the engine's own.
  DynamicVocabularyManager* vocab = nullptr;
  // Called by the router thread for each output token; true ends the request after that token. An
  // exception fails this request only.
  Sequence::StopCallback stop;
  int32_t priority = 0;                                        // larger first
  double timeout_s = std::numeric_limits<double>::infinity();  // from arrival to the last token
  std::string cache_salt;  // prefixes and drafts are shared within it only
  std::string client;      // clients take turns
};

/// Texts to encode, from the tokenizer. Accepted or rejected as a whole.
struct TokenizedEmbedReqInput {
  std::string rid;                     // unique among the requests being served
  std::shared_ptr<Receiver> receiver;  // returned in the row; may be null
  size_t model = 0;                    // the encoder: an index into Router::Options::encoders
  std::vector<EncodeInput> inputs;     // at least one
  EncodeWish wish;
  // Approximate number of tokens of the same client batch submitted earlier.
  int64_t num_before = 0;
  int32_t priority = 0;                                        // larger first
  double timeout_s = std::numeric_limits<double>::infinity();  // from arrival to the last result
  std::string client;                                          // clients take turns
};

/// From a disconnected client: ends the request if it is still served.
struct AbortReq {
  std::string rid;
};

using RouterMessage = std::variant<TokenizedGenerateReqInput, TokenizedEmbedReqInput, AbortReq>;

/// Output of one step, to the detokenizer: rows of the requests that have any.
struct BatchTokenIdOut {
  struct Row {
    std::string rid;
    std::shared_ptr<Receiver> receiver;   // the one of the request
    std::vector<TokenId> token_ids;       // new tokens; never sent twice, even after a retraction
    std::vector<TokenInfo> token_infos;   // [token_ids.size()]
    std::vector<TokenInfo> prompt_infos;  // Sequence::prompt_infos, in the row of the first token
    std::vector<EncodeResult> results;    // by input; for a successful request for encodings
    int64_t cached_tokens = 0;            // prompt tokens found in the radix cache so far
    // Marks the last row of a request. Each request has exactly one, even if it was never queued.
    // Only that row sets the fields below.
    bool finished = false;
    FinishReason finish_reason = FinishReason::kNone;  // of a successful request
    // If not ok: InvalidArgument, OutOfRange (the request can never fit), ResourceExhausted (the
    // queue is full) or FailedPrecondition (no such model) at arrival; AlreadyExists (the other
    // request with this rid is not affected); Cancelled; DeadlineExceeded; or the error that
    // occurred.
    absl::Status status;
    int64_t prompt_tokens = 0;
    int64_t completion_tokens = 0;
    SequenceStats stats;
  };
  std::vector<Row> rows;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_MESSAGES_H_

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

/// From the tokenizer: one request.
struct TokenizedGenerateReqInput {
  std::string rid;                     // of no other request that is still served
  std::shared_ptr<Receiver> receiver;  // comes back in each row; may be null
  std::vector<TokenId> input_ids;
  SamplingParams sampling_params;
  int64_t max_tail_rows = 0;  // as Sequence::Options
  bool speculates = true;     // false: no tokens are drafted for it
  // Ids that the draft shall score for this request, besides what is found for it; each in
  // [0, emit_size) of the engine, at most max_tail_rows of them count.
  std::vector<TokenId> dynamic_token_ids;
  // Whose rows its draft scores, and what learns from it; must outlive the router. Null: the
  // engine's own.
  DynamicVocabularyManager* vocab = nullptr;
  // Called by the router thread for each output token; true ends the request after it. What it
  // throws fails this request alone.
  Sequence::StopCallback stop;
  int32_t priority = 0;                                        // larger goes first
  double timeout_s = std::numeric_limits<double>::infinity();  // from arrival to the last token
  std::string cache_salt;  // prefixes are shared inside one salt only
  std::string client;      // whom it comes from: clients take turns
};

/// From the tokenizer: texts to be encoded, all at once or none.
struct TokenizedEmbedReqInput {
  std::string rid;                     // of no other request that is still served
  std::shared_ptr<Receiver> receiver;  // comes back in the row; may be null
  size_t model = 0;                    // whose encodings: an index into Router::Options::encoders
  std::vector<EncodeInput> inputs;     // at least one
  EncodeWish wish;
  // Tokens, about, that were sent before these of the list that they are a part of.
  int64_t num_before = 0;
  int32_t priority = 0;                                        // larger goes first
  double timeout_s = std::numeric_limits<double>::infinity();  // from arrival to the last result
  std::string client;  // whom it comes from: clients take turns
};

/// From a client that has gone: ends the request, if it is still served.
struct AbortReq {
  std::string rid;
};

using RouterMessage = std::variant<TokenizedGenerateReqInput, TokenizedEmbedReqInput, AbortReq>;

/// To the detokenizer: what one step brought for each request that it brought anything for.
struct BatchTokenIdOut {
  struct Row {
    std::string rid;
    std::shared_ptr<Receiver> receiver;   // the request's
    std::vector<TokenId> token_ids;       // new ones; never sent twice, whatever was retracted
    std::vector<TokenInfo> token_infos;   // [token_ids.size()]
    std::vector<TokenInfo> prompt_infos;  // Sequence::prompt_infos, in the row of the first token
    std::vector<EncodeResult> results;    // of a request for encodings that ended well: by input
    // The last row of a request, exactly one; the fields below are set in it only. A request that
    // was never queued has one too.
    bool finished = false;
    FinishReason finish_reason = FinishReason::kNone;  // of a request that ended well
    // Not ok: InvalidArgument, OutOfRange (it can never fit) and ResourceExhausted (the queue is
    // full) at arrival, AlreadyExists (it says nothing of the request that has the rid), Cancelled,
    // DeadlineExceeded, or what broke.
    absl::Status status;
    int64_t prompt_tokens = 0;
    int64_t completion_tokens = 0;
    int64_t cached_tokens = 0;  // of the prompt, found in the radix cache
    SequenceStats stats;
  };
  std::vector<Row> rows;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_MESSAGES_H_

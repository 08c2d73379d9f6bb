#ifndef SHORTLIST_SERVE_OPENAI_REQUEST_H_
#define SHORTLIST_SERVE_OPENAI_REQUEST_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"
#include "serve/generator.h"
#include "serve/http/json_fields.h"
#include "serve/output.h"
#include "serve/service.h"

namespace shortlist {

/// Fields that /v1/completions and /v1/chat/completions share.
struct OpenAiRequest {
  GenerateRequest sampling;  // without a prompt
  int64_t n = 1;
  std::string rid;  // the client's, or a new one
  bool stream = false;
  bool include_usage = false;     // of a stream, in a chunk of its own
  bool continuous_usage = false;  // of a choice so far, in each of its chunks
};

/// Reads the shared fields, and rejects invalid and unsupported ones. `body` is the text of the
/// object that has them. `default_max_tokens` is used
/// if the client gives none; nullopt: the model's own, else the room in the context.
/// `least_max_tokens` is the lower bound of a client's value. Rejects the name of another model as
/// CheckModelName does, but that of an encoder with InvalidArgument.
absl::StatusOr<OpenAiRequest> ReadOpenAiRequest(const Service& service, JsonFields& fields,
                                                const std::string& body,
                                                std::optional<int64_t> default_max_tokens,
                                                int64_t least_max_tokens);

/// Returns "stop" or "length"; null before the end.
nlohmann::ordered_json OpenAiFinishReason(const GenerationEvent& last);

/// Returns "metrics" of a reply with one choice, in vLLM's format: statistics of its speculation.
/// Null if nothing was drafted. `num_draft_tokens`: maximum per step.
nlohmann::ordered_json OpenAiMetrics(const GenerationEvent& last, int64_t num_draft_tokens);

/// Token counts over all choices; the tokens of a prompt count once.
class OpenAiUsage {
 public:
  explicit OpenAiUsage(int64_t n) : n_(n) {}
  void Add(const GenerationEvent& last);
  nlohmann::ordered_json Json() const;

 private:
  const int64_t n_;
  int64_t prompt_tokens_ = 0, completion_tokens_ = 0, cached_tokens_ = 0;
};

/// Returns the seconds since 1970.
int64_t UnixNow();

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_REQUEST_H_

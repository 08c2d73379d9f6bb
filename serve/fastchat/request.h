#ifndef SHORTLIST_SERVE_FASTCHAT_REQUEST_H_
#define SHORTLIST_SERVE_FASTCHAT_REQUEST_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/fastchat/frame.h"
#include "serve/generator.h"

namespace shortlist {

/// The values of FastChat's ErrorCode that a worker reports.
enum class FastchatError {
  kValidationType = 40001,
  kInvalidAuthKey = 40101,
  kNoPermission = 40103,
  kParamOutOfRange = 40302,
  kContextOverflow = 40303,
  kEngineOverloaded = 42903,
  kInternal = 50001,
  kOutOfMemory = 50002,
};

/// Precondition: `status` is not ok.
FastchatError FastchatErrorOf(const absl::Status& status);

/// Returns {"text", "error_code"}, which FastChat's API server and controller read. It also
/// contains "error" in OpenAI's format, because the API server forwards the object of a failed
/// stream unchanged.
std::string FastchatErrorBody(const absl::Status& status);

/// The body of a request to /worker_generate_stream or /worker_generate.
struct FastchatRequest {
  GenerateRequest generate;
  std::string prompt;
  bool echo = false;            // the text begins with the prompt
  int64_t stream_interval = 2;  // tokens between two objects of a stream
};

/// Reads FastChat's fields, with its defaults: temperature 0.7, top_p 1, max_new_tokens 256 (at
/// most the room in the context), top_k off, no penalties. Null members count as missing. Unknown
/// members, "model" among them, are ignored. Stop tokens beyond `vocab_size` are dropped: they come
/// from the template of another tokenizer. `frame` unmarks the prompt; null: the prompt is used
/// unchanged. `seed` is the seed of the request, for which FastChat has no field. InvalidArgument
/// or Unimplemented names the field, its value and its bound.
absl::StatusOr<FastchatRequest> ParseFastchatRequest(const std::string& body,
                                                     const FastchatFrame* frame, int64_t vocab_size,
                                                     uint64_t seed);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_FASTCHAT_REQUEST_H_

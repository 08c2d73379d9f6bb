#ifndef SHORTLIST_SERVE_FASTCHAT_REQUEST_H_
#define SHORTLIST_SERVE_FASTCHAT_REQUEST_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/fastchat/frame.h"
#include "serve/generator.h"

namespace shortlist {

/// FastChat's ErrorCode, as far as a worker tells them.
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

/// Precondition: not ok.
FastchatError FastchatErrorOf(const absl::Status& status);

/// {"text", "error_code"}: what FastChat's API server and controller read. The API server hands an
/// object of a stream that failed on as it is, so "error" stands beside them, in OpenAI's shape.
std::string FastchatErrorBody(const absl::Status& status);

/// A body of /worker_generate_stream or /worker_generate.
struct FastchatRequest {
  GenerateRequest generate;
  std::string prompt;
  bool echo = false;            // the text begins with the prompt
  int64_t stream_interval = 2;  // tokens between two objects of a stream
};

/// Reads FastChat's fields, with its defaults: temperature 0.7, top_p 1, max_new_tokens 256 (as far
/// as the context has room), all likeliest tokens, no penalties. Members that are null count as
/// missing, others that it does not know are ignored, "model" among them. Stop tokens beyond
/// `vocab_size` are dropped: they come from the template of another tokenizer. The prompt is
/// unmarked by `frame`; null: it is taken as it is. `seed` is the request's noise; FastChat has no
/// field for it. InvalidArgument or Unimplemented names the field, its value and its bound.
absl::StatusOr<FastchatRequest> ParseFastchatRequest(const std::string& body,
                                                     const FastchatFrame* frame, int64_t vocab_size,
                                                     uint64_t seed);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_FASTCHAT_REQUEST_H_

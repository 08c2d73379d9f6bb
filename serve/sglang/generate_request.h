#ifndef SHORTLIST_SERVE_SGLANG_GENERATE_REQUEST_H_
#define SHORTLIST_SERVE_SGLANG_GENERATE_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/generator.h"
#include "serve/http/message.h"
#include "serve/service.h"

namespace shortlist {

/// A request to /generate: its generations and the options of its reply.
struct GenerateAsked {
  std::vector<GenerateRequest> requests;
  size_t num_results = 0;  // number of results of these requests
  std::string rid;
  bool is_list = false;  // the reply is a list of results: a batch, or n > 1
  bool stream = false;
  bool logprobs = false;
  int64_t num_top_logprobs = 0;
  bool text_in_logprobs = false;
  bool token_infos = false;
  bool speculates = true;
};

/// Reads the body of a request and checks every field against its bound. InvalidArgument names the
/// field.
absl::StatusOr<GenerateAsked> ParseGenerate(const Service& service, const HttpRequest& http);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SGLANG_GENERATE_REQUEST_H_

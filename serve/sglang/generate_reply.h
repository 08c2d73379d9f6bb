#ifndef SHORTLIST_SERVE_SGLANG_GENERATE_REPLY_H_
#define SHORTLIST_SERVE_SGLANG_GENERATE_REPLY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "base/ids.h"
#include "nlohmann/json.hpp"
#include "serve/generator.h"
#include "serve/output.h"
#include "serve/service.h"
#include "serve/sglang/generate_request.h"
#include "text/tokenizer.h"

namespace shortlist {

/// Writes the results of one request of /generate.
class GenerateWriter {
 public:
  /// `service` and `asked` must outlive this.
  GenerateWriter(const Service& service, const GenerateAsked& asked);

  /// Adds an event and returns the result so far, as in SGLang's streams.
  std::string Event(GenerationEvent event);

  /// Returns the reply with all `outputs`. It is written as text, result by result: JSON values of
  /// log-probabilities would take many times the memory.
  std::string Whole(std::vector<Output> outputs) const;

 private:
  nlohmann::ordered_json Result(size_t index, const Output& output, size_t num_old) const;
  nlohmann::ordered_json MetaInfo(size_t index, const Output& output, size_t num_old) const;
  nlohmann::ordered_json Logprob(float logprob, TokenId id) const;
  template <typename Token>
  void AddLogprobs(const std::string& side, const std::vector<Token>& tokens,
                   nlohmann::ordered_json& meta) const;

  const Service& service_;
  const Tokenizer& tokenizer_;
  const GenerateAsked& asked_;
  std::vector<Output> outputs_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SGLANG_GENERATE_REPLY_H_

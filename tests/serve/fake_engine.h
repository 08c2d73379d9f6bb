#ifndef SHORTLIST_TESTS_SERVE_FAKE_ENGINE_H_
#define SHORTLIST_TESTS_SERVE_FAKE_ENGINE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "router/pipeline.h"
#include "serve/generator.h"
#include "text/tokenizer.h"

namespace shortlist {

/// Stands in for the Router: it computes nothing, but keeps its contract. The output of a request
/// is a function of its prompt (and of its seed, where it samples); a step brings it one to three
/// tokens, of which those with an odd id are escapes. Used by one thread at a time, but for what is
/// atomic.
class FakeEngine {
 public:
  explicit FakeEngine(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  Pipeline::Stepper stepper();
  EngineLoad Load() const;

  /// A received request; in order of arrival. Any thread.
  struct Arrival {
    std::string client, cache_salt;
    SamplingParams sampling;
    std::vector<TokenId> input_ids, dynamic_token_ids;
  };
  std::vector<Arrival> arrivals() const {
    const std::lock_guard lock(mutex_);
    return arrivals_;
  }

  /// The ids that a request with this prompt comes to, without any stop.
  std::vector<TokenId> Output(const std::vector<TokenId>& prompt, uint64_t seed,
                              int64_t count) const;

  /// From now on every output is `text`, a token for each byte, then an end-of-text token. Any
  /// thread.
  void Say(const std::string& text);

  std::atomic<int64_t> num_waiting_tokens = 0;  // as the scheduler reports them
  std::atomic<bool> holds = false;  // a step that has begun waits until this is false again
  std::atomic<int64_t> num_held = 0;
  std::atomic<int64_t> step_us = 0;                // duration of a step
  std::atomic<int64_t> max_running = 1024;         // more are refused: the queue is full
  std::atomic<int64_t> max_total_tokens = 10'000;  // a request that is longer is refused
  std::atomic<int64_t> num_live = 0;
  std::atomic<int64_t> num_steps = 0;
  std::atomic<int64_t> num_flushes = 0;
  std::atomic<int64_t> num_plain = 0;  // requests that were not to be drafted for
  std::atomic<int64_t> num_tokens = 0;

 private:
  struct Running {
    TokenizedGenerateReqInput input;
    std::vector<TokenId> output;
    std::chrono::steady_clock::time_point arrival;
    SequenceStats stats = {};
  };

  BatchTokenIdOut Step(std::vector<RouterMessage> messages);
  /// Log-probability of a prompt's token: its negated position. The likeliest tokens are the token
  /// and its predecessors.
  static TokenInfo PromptInfo(const TokenizedGenerateReqInput& input, int64_t position);
  bool StepOne(Running& running, BatchTokenIdOut& out);
  TokenId Next(const std::vector<TokenId>& prompt, uint64_t seed, int64_t position) const;

  const Tokenizer& tokenizer_;
  std::map<std::string, Running> running_;
  mutable std::mutex mutex_;
  std::vector<Arrival> arrivals_;
  std::vector<TokenId> said_;  // empty: outputs are functions of their prompts
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SERVE_FAKE_ENGINE_H_

#include "tests/serve/fake_engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>
#include <utility>

#include "base/check.h"

namespace shortlist {

using Clock = std::chrono::steady_clock;

Pipeline::Stepper FakeEngine::stepper() {
  return {[this](std::vector<RouterMessage> messages) { return Step(std::move(messages)); },
          [this] { return running_.empty(); }};
}

EngineLoad FakeEngine::Load() const {
  return {.num_running = std::ssize(running_),
          .num_waiting_tokens = num_waiting_tokens,
          .num_waiting_uncached_tokens = num_waiting_tokens / 2,
          .num_used_tokens = 10 * std::ssize(running_),
          .max_total_tokens = max_total_tokens,
          .num_steps = num_steps};
}

TokenId FakeEngine::Next(const std::vector<TokenId>& prompt, uint64_t seed,
                         int64_t position) const {
  {
    const std::lock_guard lock(mutex_);
    if (!said_.empty()) return said_[std::min<size_t>(position, said_.size() - 1)];
  }
  uint64_t hash = 1469598103934665603u ^ seed;
  for (const TokenId id : prompt) hash = (hash ^ static_cast<uint64_t>(Raw(id))) * 1099511628211u;
  hash = (hash ^ static_cast<uint64_t>(position)) * 1099511628211u;
  hash ^= hash >> 29;
  // Ordinary tokens: after the control and byte tokens at the front.
  const uint64_t first = 300, count = static_cast<uint64_t>(tokenizer_.size()) - first;
  return TokenId{static_cast<int32_t>(first + hash % count)};
}

std::vector<TokenId> FakeEngine::Output(const std::vector<TokenId>& prompt, uint64_t seed,
                                        int64_t count) const {
  std::vector<TokenId> output;
  for (int64_t i = 0; i < count; ++i) output.push_back(Next(prompt, seed, i));
  return output;
}

void FakeEngine::Say(const std::string& text) {
  std::array<TokenId, 256> of_byte = {};
  for (int32_t id = 0; id < tokenizer_.size(); ++id) {
    const std::string_view bytes = tokenizer_.TokenBytes(TokenId{id});
    if (bytes.size() == 1) of_byte[static_cast<uint8_t>(bytes.front())] = TokenId{id};
  }
  const std::lock_guard lock(mutex_);
  said_.clear();
  for (const char c : text) {
    said_.push_back(of_byte[static_cast<uint8_t>(c)]);
    SHORTLIST_CHECK(said_.back() != TokenId{0});  // the tokenizer writes this byte
  }
  said_.push_back(*tokenizer_.eos());
}

BatchTokenIdOut FakeEngine::Step(std::vector<RouterMessage> messages) {
  while (holds) {
    num_held = 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  BatchTokenIdOut out;
  for (RouterMessage& message : messages) {
    if (auto* input = std::get_if<TokenizedGenerateReqInput>(&message)) {
      {
        const std::lock_guard lock(mutex_);
        arrivals_.push_back({input->client, input->cache_salt, input->sampling_params,
                             input->input_ids, input->dynamic_token_ids});
      }
      if (std::ssize(running_) >= max_running) {
        out.rows.push_back({.rid = input->rid,
                            .receiver = input->receiver,
                            .finished = true,
                            .status = absl::ResourceExhaustedError("the request queue is full")});
        continue;
      }
      num_plain += input->speculates ? 0 : 1;
      if (std::ssize(input->input_ids) + input->sampling_params.max_new_tokens > max_total_tokens) {
        out.rows.push_back({.rid = input->rid,
                            .receiver = input->receiver,
                            .finished = true,
                            .status = absl::OutOfRangeError("need more KV slots than there are")});
        continue;
      }
      const std::string rid = input->rid;
      running_[rid] = {std::move(*input), {}, Clock::now()};
    } else {
      const auto aborted = running_.extract(std::get<AbortReq>(message).rid);
      if (aborted.empty()) continue;
      out.rows.push_back({.rid = aborted.key(),
                          .receiver = aborted.mapped().input.receiver,
                          .finished = true,
                          .status = absl::CancelledError("aborted")});
    }
  }
  if (step_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(step_us));
  for (auto entry = running_.begin(); entry != running_.end();) {
    entry = StepOne(entry->second, out) ? running_.erase(entry) : std::next(entry);
  }
  ++num_steps;
  num_live = std::ssize(running_);
  return out;
}

TokenInfo FakeEngine::PromptInfo(const TokenizedGenerateReqInput& input, int64_t position) {
  TokenInfo info;
  info.logprob = -static_cast<float>(position);
  for (int64_t k = 0; k < input.sampling_params.num_logprobs; ++k) {
    info.top.emplace_back(input.input_ids[std::max<int64_t>(position - k, 0)], info.logprob - k);
  }
  return info;
}

/// True when the request has ended.
bool FakeEngine::StepOne(Running& running, BatchTokenIdOut& out) {
  const SamplingParams& sampling = running.input.sampling_params;
  const int64_t prompt_tokens = std::ssize(running.input.input_ids);
  const std::chrono::duration<double> age = Clock::now() - running.arrival;
  BatchTokenIdOut::Row row{
      .rid = running.input.rid, .receiver = running.input.receiver, .cached_tokens = 1};
  FinishReason reason = FinishReason::kNone;
  if (running.output.empty() && sampling.prompt_logprobs_start >= 0) {
    for (int64_t i = sampling.prompt_logprobs_start + 1; i < prompt_tokens; ++i) {
      row.prompt_infos.push_back(PromptInfo(running.input, i));
    }
  }
  const int64_t count = running.output.empty() ? 1 : 1 + std::ssize(running.output) % 3;
  const bool is_step = !running.output.empty();  // not the prompt's pass
  running.stats.num_verify_steps += is_step ? 1 : 0;
  for (int64_t i = 0; i < count && reason == FinishReason::kNone; ++i) {
    const TokenId id = Next(running.input.input_ids, sampling.greedy() ? 0 : sampling.seed,
                            std::ssize(running.output));
    running.output.push_back(id);
    ++num_tokens;
    TokenInfo info;
    info.origin = i + 1 < count ? TokenOrigin::kAccepted : TokenOrigin::kBonus;
    info.escape = is_step && Raw(id) % 2 == 1;
    running.stats.num_step_tokens += is_step ? 1 : 0;
    running.stats.num_covered += is_step && !info.escape ? 1 : 0;
    if (sampling.num_logprobs >= 0) info.logprob = -0.5f;
    for (int64_t k = 0; k < sampling.num_logprobs; ++k) {
      info.top.emplace_back(TokenId{Raw(id) - static_cast<int32_t>(k)}, -0.5f - k);
    }
    row.token_ids.push_back(id);
    row.token_infos.push_back(std::move(info));
    const auto& stops = sampling.stop_token_ids;
    const bool stopped = std::find(stops.begin(), stops.end(), id) != stops.end();
    const bool by_callback = running.input.stop && running.input.stop(id);
    if (stopped || by_callback) {
      reason = FinishReason::kStop;
    } else if (std::ssize(running.output) >= sampling.max_new_tokens) {
      reason = FinishReason::kLength;
    }
  }
  running.stats.by_place.resize(2);
  for (int64_t place = 0; is_step && place < 2; ++place) {
    constexpr auto kDrafter = static_cast<size_t>(ProposalSource::kDrafter);
    ++running.stats.by_place[place].num_drafted[kDrafter];
    const bool accepted =
        place < std::ssize(row.token_infos) && WasAccepted(row.token_infos[place].origin);
    running.stats.by_place[place].num_accepted[kDrafter] += accepted ? 1 : 0;
  }
  out.rows.push_back(row);
  const bool overdue = age.count() >= running.input.timeout_s;
  if (reason == FinishReason::kNone && !overdue) return false;
  out.rows.push_back({.rid = running.input.rid,
                      .receiver = running.input.receiver,
                      .cached_tokens = 1,
                      .finished = true,
                      .finish_reason = reason,
                      .status = reason != FinishReason::kNone
                                    ? absl::OkStatus()
                                    : absl::DeadlineExceededError("not finished in time"),
                      .prompt_tokens = prompt_tokens,
                      .completion_tokens = std::ssize(running.output),
                      .stats = running.stats});
  return true;
}

}  // namespace shortlist

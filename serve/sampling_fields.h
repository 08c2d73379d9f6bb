#ifndef SHORTLIST_SERVE_SAMPLING_FIELDS_H_
#define SHORTLIST_SERVE_SAMPLING_FIELDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/generator.h"
#include "serve/http/json_fields.h"
#include "serve/service.h"

namespace shortlist {

/// Bounds of one request, in every dialect.
inline constexpr int64_t kMaxChoices = 128;  // n
inline constexpr int64_t kMaxPrompts = 128;
inline constexpr int64_t kMaxGenerations = 512;                    // n times the number of prompts
inline constexpr int64_t kMaxGenerationBytes = int64_t{64} << 20;  // n times the bytes of the body
inline constexpr int64_t kMaxStops = 16;
inline constexpr size_t kMaxStopBytes = 256;
inline constexpr size_t kMaxNameBytes = 256;  // of a model name, request id or salt
inline constexpr size_t kMaxLogitBiases = 1024;
inline constexpr int64_t kMaxBadWords = 128;
inline constexpr size_t kMaxBadWordBytes = 64;
inline constexpr int64_t kMaxTopLogprobs = 20;
// Bound of n times the body's bytes, each with its most likely tokens.
inline constexpr int64_t kMaxPromptLogprobs = int64_t{1} << 20;
inline constexpr int64_t kMaxOutputLogprobs = 1 << 19;  // bound for several generations together
// Of text that is encoded only to count its tokens.
inline constexpr int64_t kMaxCountedBytes = 256 << 10;
// Of an event that repeats all of them so far.
inline constexpr int64_t kMaxStreamedLogprobs = 1 << 16;
// Of tokens; the context is the effective bound.
inline constexpr int64_t kMaxCount = int64_t{1} << 31;

// Readers of single fields. An error is recorded in `fields`.

/// Returns a temperature in [0, high]; 0 (greedy) if it is below 1e-6.
double ReadTemperature(JsonFields& fields, double fallback, double high);
/// Reads {"50256": -100, ...}: ids of the vocabulary, biases in [-100, 100].
std::vector<std::pair<TokenId, float>> ReadLogitBias(JsonFields& fields, int64_t vocab_size);
std::vector<TokenId> ReadTokenIds(JsonFields& fields, const char* name, int64_t vocab_size);
/// Reads "stop" and rejects empty strings.
std::vector<std::string> ReadStops(JsonFields& fields);
/// Reads "bad_words" and rejects strings that are empty or only white space.
std::vector<std::string> ReadBadWords(JsonFields& fields);
/// Reads "allowed_token_ids", ascending. Empty if the field is missing; an empty list is rejected.
std::vector<TokenId> ReadAllowedTokenIds(JsonFields& fields, int64_t vocab_size);
/// Reads "seed" (SGLang: "sampling_seed"). Returns a random seed if both are missing.
uint64_t ReadSeed(JsonFields& fields);

/// Reads the fields that have one name and one meaning in every dialect, with the defaults of
/// `defaults`: kSamplingFields but for the temperature, logit_bias, bad_words, allowed_token_ids,
/// stop, stop_token_ids, ignore_eos, skip_special_tokens, no_stop_trim (vLLM:
/// include_stop_str_in_output), and seed.
void ReadCommonSampling(JsonFields& fields, const SamplingParams& defaults, int64_t vocab_size,
                        GenerateRequest& request);

/// Rejects what no dialect supports: structural tags, adapters, beam search, other media,
/// disaggregated serving.
void RefuseUnsupported(JsonFields& fields);

/// Reads priority, cache_salt and extra_key. The last two together name the group of requests that
/// share prefixes.
void ReadScheduling(JsonFields& fields, GenerateRequest& request);

/// InvalidArgument, naming n, if n times a body of `body_bytes` with `num_prompts` prompts exceeds
/// the bounds of one request.
absl::Status CheckNumGenerations(int64_t num_prompts, int64_t n, int64_t body_bytes);

/// InvalidArgument, naming `field`, if n times the prompts may have more log-probabilities than one
/// reply can hold. Each prompt token has those of the `num_top` most likely tokens, too.
absl::Status CheckNumPromptLogprobs(const char* field, int64_t num_top, int64_t n,
                                    int64_t body_bytes);

/// InvalidArgument, naming `field`, if an event of a stream may have too many log-probabilities.
/// Each event repeats all so far, of up to `max_new_tokens` tokens with the `num_top` most likely
/// each.
absl::Status CheckNumStreamedLogprobs(const char* field, int64_t num_top, int64_t max_new_tokens);

/// InvalidArgument, naming `field`, if several generations may have more log-probabilities than one
/// reply can hold. The reply returns them at the end. A single generation always passes.
/// `context_length` bounds requests without max_new_tokens.
absl::Status CheckNumOutputLogprobs(const char* field, std::span<const GenerateRequest> requests,
                                    int64_t context_length);

/// InvalidArgument, naming `field`, if `texts` are too long to be encoded only to count or show
/// their tokens: more than kMaxCountedBytes and more than 8 bytes per token of the context.
absl::Status CheckNumCountedBytes(const char* field, std::span<const std::string> texts,
                                  int64_t context_length);

/// Returns `n` copies of each request, copies of one request next to each other. Copies have
/// different seeds; the first keeps the request's seed.
std::vector<GenerateRequest> Repeat(std::vector<GenerateRequest> requests, int64_t n);

/// Prompts of "prompt", "text" or "input_ids": a text, a list of texts, a list of ids, or a list of
/// lists of ids.
struct Prompts {
  std::vector<Prompt> prompts;
  bool is_batch = false;  // the field is a list of prompts, even of one
};
Prompts ReadPrompts(JsonFields& fields, const char* name, int64_t vocab_size);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SAMPLING_FIELDS_H_

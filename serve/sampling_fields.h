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

/// Bounds of what one request may ask for, in every dialect.
inline constexpr int64_t kMaxChoices = 128;  // n
inline constexpr int64_t kMaxPrompts = 128;
inline constexpr int64_t kMaxGenerations = 512;                    // n times prompts
inline constexpr int64_t kMaxGenerationBytes = int64_t{64} << 20;  // n times the body
inline constexpr int64_t kMaxStops = 16;
inline constexpr size_t kMaxStopBytes = 256;
inline constexpr size_t kMaxNameBytes = 256;  // of a model, a request id, a salt
inline constexpr size_t kMaxLogitBiases = 1024;
inline constexpr int64_t kMaxBadWords = 128;
inline constexpr size_t kMaxBadWordBytes = 64;
inline constexpr int64_t kMaxTopLogprobs = 20;
inline constexpr int64_t kMaxPromptLogprobs = int64_t{1} << 20;  // n times the body's bytes, each
                                                                 // with its likeliest tokens
inline constexpr int64_t kMaxOutputLogprobs = 1 << 19;           // of several generations together
inline constexpr int64_t kMaxCountedBytes = 256 << 10;    // of text, only to count its tokens
inline constexpr int64_t kMaxStreamedLogprobs = 1 << 16;  // of an event that tells all so far
inline constexpr int64_t kMaxCount = int64_t{1} << 31;  // of tokens; the context is the real bound

// Readers of single fields; errors stay with `fields`.

/// A temperature in [0, high]; below 1e-6 is greedy.
double ReadTemperature(JsonFields& fields, double fallback, double high);
/// All but -1, 0 (both: off) and k >= 1 is refused.
int64_t ReadTopK(JsonFields& fields, int64_t fallback);
/// {"50256": -100, ...}: ids of the vocabulary, biases in [-100, 100].
std::vector<std::pair<TokenId, float>> ReadLogitBias(JsonFields& fields, int64_t vocab_size);
std::vector<TokenId> ReadTokenIds(JsonFields& fields, const char* name, int64_t vocab_size);
/// "stop": none of them empty.
std::vector<std::string> ReadStops(JsonFields& fields);
/// "bad_words": none of them empty or white space alone.
std::vector<std::string> ReadBadWords(JsonFields& fields);
/// "allowed_token_ids": ascending; empty when it is missing, and refused when it is empty.
std::vector<TokenId> ReadAllowedTokenIds(JsonFields& fields, int64_t vocab_size);
/// "seed", which SGLang calls "sampling_seed", or a random one when both are missing.
uint64_t ReadSeed(JsonFields& fields);

/// Fields that have one name and one meaning everywhere, with the defaults of `wish`: top_p, top_k,
/// min_p, presence_penalty, frequency_penalty, repetition_penalty, logit_bias, bad_words,
/// allowed_token_ids, stop, stop_token_ids, ignore_eos, skip_special_tokens, no_stop_trim, which
/// vLLM calls include_stop_str_in_output, and seed.
void ReadCommonSampling(JsonFields& fields, const SamplingWish& wish, int64_t vocab_size,
                        GenerateRequest& request);

/// Refuses what none of the dialects does: structured outputs, adapters, beams, other media, the
/// plumbing of servers in parts.
void RefuseUnsupported(JsonFields& fields);

/// Fields of the request beside its sampling: priority, cache_salt and extra_key (together they
/// say with whom prefixes are shared).
void ReadScheduling(JsonFields& fields, GenerateRequest& request);

/// InvalidArgument, naming n, when n times a body of `body_bytes` with `num_prompts` prompts is
/// more than one request may ask for.
absl::Status CheckNumGenerations(int64_t num_prompts, int64_t n, int64_t body_bytes);

/// The same, naming `field`, when these prompts with log-probabilities of their tokens and of the
/// `num_top` likeliest may come to more of them than one reply can hold.
absl::Status CheckNumPromptLogprobs(const char* field, int64_t num_top, int64_t n,
                                    int64_t body_bytes);

/// The same, naming `field`, for a stream whose events tell all log-probabilities so far, of up to
/// `max_new_tokens` tokens and of the `num_top` likeliest each.
absl::Status CheckNumStreamedLogprobs(const char* field, int64_t num_top, int64_t max_new_tokens);

/// The same, naming `field`, when several generations whose log-probabilities are told at the end
/// may come to more of them than one reply can hold; a single one may. `context_length` bounds
/// those that name no length.
absl::Status CheckNumOutputLogprobs(const char* field, std::span<const GenerateRequest> requests,
                                    int64_t context_length);

/// InvalidArgument, naming `field`, for more text than is encoded only to count or show its tokens:
/// kMaxCountedBytes, or 8 bytes for each token of the context.
absl::Status CheckNumCountedBytes(const char* field, std::span<const std::string> texts,
                                  int64_t context_length);

/// `n` times each of `requests`, choices of one prompt next to each other, each with noise of its
/// own: the first has the seed itself.
std::vector<GenerateRequest> Repeat(std::vector<GenerateRequest> requests, int64_t n);

/// "prompt", "text" or "input_ids": a text, a list of texts, a list of ids, or a list of such
/// lists.
struct Prompts {
  std::vector<Prompt> prompts;
  bool is_batch = false;  // a list of prompts, be it of one
};
Prompts ReadPrompts(JsonFields& fields, const char* name, int64_t vocab_size);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SAMPLING_FIELDS_H_

#ifndef SHORTLIST_VOCAB_ROW_SOURCE_H_
#define SHORTLIST_VOCAB_ROW_SOURCE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace shortlist {

/// Why a draft could propose a token. Where several speak for it, the first of these counts.
enum class RowSource : uint8_t {
  kNone,        // it could not: an escape
  kBase,        // the base of the active vocabulary, the full head among them
  kShared,      // the dynamic part that requests share
  kSuccessors,  // the base's successors of the token before
  // The request's own tail, by what brought the row. What is known of the request:
  kGiven,   // ids that the client named
  kPrompt,  // its prompt
  kOutput,  // its escapes
  kPrefix,  // escapes of requests with the same prefix, kept in the radix cache
  // What may come:
  kContinuations,  // tokens that followed the same prefix in other requests
  kSketch,         // what the draft's hidden state speaks for (head/sketch.h), not in the tail
  kFallback,  // none of these: the full head, which stood in for the vocabulary (coverage guard)
};

inline constexpr size_t kNumRowSources = static_cast<size_t>(RowSource::kFallback) + 1;

constexpr size_t Index(RowSource source) { return static_cast<size_t>(source); }

/// As metrics and tables name it: "base", "prompt", ...
constexpr const char* RowSourceName(RowSource source) {
  constexpr std::array<const char*, kNumRowSources> kNames = {
      "none",   "base",   "shared",        "successors", "given",   "prompt",
      "output", "prefix", "continuations", "sketch",     "fallback"};
  return kNames[Index(source)];
}

/// A count for each source.
using CountsBySource = std::array<int64_t, kNumRowSources>;

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_ROW_SOURCE_H_

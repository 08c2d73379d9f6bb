#ifndef SHORTLIST_VOCAB_ROW_SOURCE_H_
#define SHORTLIST_VOCAB_ROW_SOURCE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace shortlist {

/// Why a draft could propose a token. If several apply, the first one counts.
enum class RowSource : uint8_t {
  kNone,        // the draft could not propose it: an escape
  kBase,        // the base of the active vocabulary, or the full head
  kShared,      // the dynamic part shared by requests
  kSuccessors,  // the base's successors of the previous token
  // The request's own tail, by what added the row. Known facts of the request:
  kGiven,   // ids named by the client
  kPrompt,  // its prompt
  kOutput,  // its escapes
  kPrefix,  // escapes of requests with the same prefix, kept in the radix cache
  // Guesses:
  kContinuations,  // tokens that followed the same prefix in other requests
  kSketch,         // chosen by the draft's hidden state (sketch/sketch.h), not in the tail
  kGrammar,        // a constraint named the rows, and the vocabulary was not asked
  // None of these: the full head, which replaced the vocabulary (coverage guard).
  kFallback,
};

inline constexpr size_t kNumRowSources = static_cast<size_t>(RowSource::kFallback) + 1;

constexpr size_t Index(RowSource source) { return static_cast<size_t>(source); }

/// Returns the name used by metrics and tables: "base", "prompt", ...
constexpr const char* RowSourceName(RowSource source) {
  constexpr std::array<const char*, kNumRowSources> kNames = {
      "none",   "base",   "shared",        "successors", "given",   "prompt",
      "output", "prefix", "continuations", "sketch",     "grammar", "fallback"};
  return kNames[Index(source)];
}

/// A count for each source.
using CountsBySource = std::array<int64_t, kNumRowSources>;

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_ROW_SOURCE_H_

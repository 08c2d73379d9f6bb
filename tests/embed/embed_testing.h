#ifndef SHORTLIST_TESTS_EMBED_EMBED_TESTING_H_
#define SHORTLIST_TESTS_EMBED_EMBED_TESTING_H_

#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "embed/hidden_states.h"
#include "embed/sequence_vectors.h"

namespace shortlist {

/// Hidden states with their memory.
struct OwnedStates {
  std::vector<float> data;  // [num_tokens, hidden]
  int64_t hidden = 0;
  std::vector<int32_t> seq_begin = {0};

  HiddenStates view() const { return {data.data(), hidden, seq_begin}; }
  int64_t num_seqs() const { return view().num_seqs(); }
  std::span<float> Token(int64_t seq, int64_t token);
  /// Sequence `seq` alone.
  OwnedStates Only(int64_t seq) const;
};

/// Normally distributed states of sequences of these lengths.
OwnedStates RandomStates(const std::vector<int64_t>& lengths, int64_t hidden, std::mt19937& random);

/// Tensors of a golden.safetensors by name: those of F32, and `seq_begin`.
struct EmbedGolden {
  std::map<std::string, std::vector<float>> floats;
  OwnedStates states;  // of `hidden` and `seq_begin`
};

/// Path and contents of tests/reference/golden/embed/`name`.
std::string EmbedGoldenDir(const std::string& name);
EmbedGolden ReadEmbedGolden(const std::string& dir, int64_t hidden);

/// Returns the vector of sequence `seq`, which must have one.
std::vector<float> VectorOf(const SequenceVectors& vectors, int64_t seq);

/// The same bits, NaN or not.
void ExpectSameBits(std::span<const float> got, std::span<const float> want);

double Cosine(std::span<const float> a, std::span<const float> b);

/// An error of that code whose message holds every one of `parts`.
void ExpectError(const absl::Status& status, absl::StatusCode code,
                 const std::vector<std::string>& parts);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_EMBED_EMBED_TESTING_H_

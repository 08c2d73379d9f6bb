#ifndef SHORTLIST_TESTS_MODEL_MODEL_FIXTURE_H_
#define SHORTLIST_TESTS_MODEL_MODEL_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/thread_pool.h"
#include "kernels/isa.h"
#include "kernels/matrix.h"
#include "model/decoder.h"

namespace shortlist {

/// Loads, or aborts with the error: for directories that the test itself has just written.
std::unique_ptr<Decoder> LoadOrDie(const std::string& dir, std::optional<DType> dtype,
                                   ThreadPool& pool, std::optional<DType> quantize = std::nullopt);

/// 0, 1, ..., count - 1, each plus `first`.
std::vector<int32_t> Iota(int64_t count, int32_t first = 0);

/// `count` ids drawn from [0, vocab_size).
std::vector<TokenId> RandomTokens(int64_t count, int64_t vocab_size, uint64_t seed);

/// Hidden states of `tokens` as one sequence from position 0, computed in chunks of `chunk` tokens,
/// each token in slot slots[position]: [num_tokens, hidden].
std::vector<float> RunChain(Decoder& decoder, const std::vector<TokenId>& tokens, int64_t chunk,
                            const std::vector<int32_t>& slots, KvCache& cache);
/// The same in one chunk, slots in order, a cache of its own.
std::vector<float> RunChain(Decoder& decoder, const std::vector<TokenId>& tokens);

/// Logits of hidden states [n, hidden] over the whole vocabulary: [n, vocab_size].
std::vector<float> Logits(const Decoder& decoder, const std::vector<float>& hidden,
                          ThreadPool& pool);

/// max |got - want| / max |want|.
double RelativeError(const std::vector<float>& got, const std::vector<float>& want);

/// The cosine between each pair of rows of `width` numbers.
std::vector<double> Cosines(const std::vector<float>& got, const std::vector<float>& want,
                            size_t width);

/// The weights that the makers of golden models fill in: `weights` of
/// tests/reference/tiny_models.py.
std::vector<float> GoldenWeights(const std::string& name, const std::vector<int64_t>& shape);

/// Elements of a contiguous f32 tensor.
std::vector<float> ToVector(const Matrix& tensor);
/// The inverse: a copy of `values` as a contiguous f32 tensor.
Matrix FromVector(const std::vector<float>& values, int64_t width);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_MODEL_MODEL_FIXTURE_H_

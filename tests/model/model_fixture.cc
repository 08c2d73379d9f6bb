#include "tests/model/model_fixture.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <random>

#include "base/check.h"
#include "kernels/head.h"
#include "kernels/isa.h"
#include "kernels/matrix.h"

namespace shortlist {

std::unique_ptr<Decoder> LoadOrDie(const std::string& dir, std::optional<DType> dtype,
                                   ThreadPool& pool, std::optional<DType> quantize) {
  auto decoder = Decoder::Load(ModelSource::OfDirectory(dir), dtype, pool, quantize);
  if (!decoder.ok()) std::cerr << decoder.status() << std::endl;
  SHORTLIST_CHECK(decoder.ok());
  return *std::move(decoder);
}

std::vector<int32_t> Iota(int64_t count, int32_t first) {
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::vector<TokenId> RandomTokens(int64_t count, int64_t vocab_size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(TokenId(random() % vocab_size));
  return tokens;
}

std::vector<float> RunChain(Decoder& decoder, const std::vector<TokenId>& tokens, int64_t chunk,
                            const std::vector<int32_t>& slots, KvCache& cache) {
  const int64_t num_tokens = static_cast<int64_t>(tokens.size());
  std::vector<float> hidden;
  ForwardBatch batch;
  SequenceState state(decoder.config());
  for (int64_t begin = 0; begin < num_tokens; begin += chunk) {
    const int64_t end = std::min(num_tokens, begin + chunk);
    batch.Clear();
    batch.AddChain(std::span(tokens).subspan(begin, end - begin), begin,
                   std::span(slots).first(end), {.state = &state});
    const auto out = decoder.Forward(batch, cache);
    SHORTLIST_CHECK(out.ok());
    const std::vector<float> rows = ToVector(*out);
    hidden.insert(hidden.end(), rows.begin(), rows.end());
  }
  return hidden;
}

std::vector<float> RunChain(Decoder& decoder, const std::vector<TokenId>& tokens) {
  const int64_t num_tokens = static_cast<int64_t>(tokens.size());
  KvCache cache = KvCache::Create(decoder.config(), num_tokens, decoder.dtype()).value();
  return RunChain(decoder, tokens, num_tokens, Iota(num_tokens), cache);
}

std::vector<float> Logits(const Decoder& decoder, const std::vector<float>& hidden,
                          ThreadPool& pool) {
  HeadArgs args;
  args.weight = decoder.head_weight().rows;
  args.dtype = decoder.head_weight().dtype;
  args.vocab_size = decoder.config().vocab_size;
  args.hidden = decoder.config().hidden;
  args.x = hidden.data();
  args.num_tokens = static_cast<int64_t>(hidden.size()) / args.hidden;
  args.num_rows = args.vocab_size;
  std::vector<float> logits(args.num_tokens * args.vocab_size);
  HeadLogitsCpu(args, logits.data(), args.vocab_size, pool);
  return logits;
}

double RelativeError(const std::vector<float>& got, const std::vector<float>& want) {
  SHORTLIST_CHECK(got.size() == want.size());
  double error = 0, scale = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    // Written so that a NaN counts as an error.
    const double difference = std::abs(static_cast<double>(got[i]) - want[i]);
    if (!(difference <= error)) error = difference;
    scale = std::max(scale, std::abs(static_cast<double>(want[i])));
  }
  return error / scale;
}

std::vector<double> Cosines(const std::vector<float>& got, const std::vector<float>& want,
                            size_t width) {
  SHORTLIST_CHECK(got.size() == want.size());
  std::vector<double> cosines;
  for (size_t row = 0; row < got.size(); row += width) {
    double dot = 0, a = 0, b = 0;
    for (size_t i = row; i < row + width; ++i) {
      dot += static_cast<double>(got[i]) * want[i];
      a += static_cast<double>(got[i]) * got[i];
      b += static_cast<double>(want[i]) * want[i];
    }
    cosines.push_back(dot / std::sqrt(a * b));
  }
  return cosines;
}

std::vector<float> ToVector(const Matrix& tensor) {
  const float* const data = tensor.floats();
  return std::vector<float>(data, data + tensor.num_elements());
}

Matrix FromVector(const std::vector<float>& values, int64_t width) {
  Matrix matrix(std::ssize(values) / width, width);
  SHORTLIST_CHECK(matrix.num_elements() == std::ssize(values));
  std::copy(values.begin(), values.end(), matrix.floats());
  return matrix;
}

std::vector<float> GoldenWeights(const std::string& name, const std::vector<int64_t>& shape) {
  uint64_t seed = 0xcbf29ce484222325;
  for (const char c : name) seed = (seed ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  const auto ends_with = [&](const char* suffix) { return name.ends_with(suffix); };
  const float spread = static_cast<float>(std::sqrt(6.0 / static_cast<double>(shape.back())));
  std::vector<float> values;
  for (int64_t i = 1; i <= count; ++i) {
    uint64_t z = seed + static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z = z ^ (z >> 31);
    const float unit = static_cast<float>(z >> 40) * 0x1p-23f - 1.0f;
    values.push_back(ends_with("norm.weight") || ends_with("Norm.weight") ? 1.0f + 0.25f * unit
                     : ends_with(".bias")                                 ? 0.5f * unit
                     : name == "model.embed_tokens.weight"                ? 1.75f * unit
                                                                          : spread * unit);
  }
  return values;
}

}  // namespace shortlist

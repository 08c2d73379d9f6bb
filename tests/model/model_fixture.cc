#include "tests/model/model_fixture.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <random>

#include "base/check.h"
#include "kernels/head.h"
#include "kernels/isa.h"

namespace shortlist {

std::unique_ptr<Decoder> LoadOrDie(const std::string& dir, std::optional<DType> dtype,
                                   ThreadPool& pool, std::optional<DType> quantize) {
  auto decoder = Decoder::Load(dir, dtype, pool, quantize);
  if (!decoder.ok()) std::cerr << decoder.status() << std::endl;
  SHORTLIST_CHECK(decoder.ok());
  return *std::move(decoder);
}

std::vector<Isa> UsableIsas() {
  const Isa before = CurrentIsa();
  std::vector<Isa> usable;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    if (SetIsa(isa)) usable.push_back(isa);
  }
  SetIsa(before);
  return usable;
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
  for (int64_t begin = 0; begin < num_tokens; begin += chunk) {
    const int64_t end = std::min(num_tokens, begin + chunk);
    batch.Clear();
    batch.AddChain(std::span(tokens).subspan(begin, end - begin), begin,
                   std::span(slots).first(end));
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

std::vector<float> ToVector(const at::Tensor& tensor) {
  SHORTLIST_CHECK(tensor.is_contiguous());
  const float* const data = tensor.data_ptr<float>();
  return std::vector<float>(data, data + tensor.numel());
}

at::Tensor FromVector(const std::vector<float>& values, const std::vector<int64_t>& shape) {
  const at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(at::kFloat));
  SHORTLIST_CHECK(tensor.numel() == static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

}  // namespace shortlist

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "kernels/isa.h"
#include "model/decoder.h"
#include "nlohmann/json.hpp"
#include "tests/model/model_fixture.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using nlohmann::json;

std::string GoldenDir() { return SourcePath("tests/reference/golden/decoders"); }

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(GoldenDir())) {
    names.push_back(file.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class DecoderGoldenTest : public testing::TestWithParam<std::string> {
 protected:
  DecoderGoldenTest()
      : golden_(ReadJsonFile(GoldenDir() + "/" + GetParam() + ".json", 1 << 20).value()) {
    dir_.Write("config.json", golden_["config"].dump());
    std::vector<StoredTensor> tensors;
    for (const auto& [name, shape] : golden_["tensors"].items()) {
      const auto extents = shape.get<std::vector<int64_t>>();
      tensors.push_back(MakeTensor(name, extents, GoldenWeights(name, extents), DType::kF32));
    }
    SHORTLIST_CHECK(WriteSafetensors(dir_.Join("model.safetensors"), tensors).ok());
    for (const auto& id : golden_["prompt_ids"]) prompt_.push_back(TokenId{id.get<int32_t>()});
    greedy_ = golden_["greedy_ids"].get<std::vector<int32_t>>();
  }
  ~DecoderGoldenTest() override { SetIsa(DetectIsa()); }

  /// Returns greedy ids one by one, and the logits after each.
  std::pair<std::vector<int32_t>, std::vector<std::vector<float>>> Decode(Decoder& decoder) {
    const int64_t num_slots = static_cast<int64_t>(prompt_.size() + greedy_.size());
    KvCache cache = KvCache::Create(decoder.config(), num_slots, decoder.dtype()).value();
    const std::vector<int32_t> slots = Iota(num_slots);
    SequenceState state(decoder.config());
    std::vector<TokenId> step = prompt_;
    std::pair<std::vector<int32_t>, std::vector<std::vector<float>>> result;
    for (int64_t end = static_cast<int64_t>(prompt_.size()); result.first.size() < greedy_.size();
         ++end) {
      ForwardBatch batch;
      batch.AddChain(step, end - static_cast<int64_t>(step.size()), std::span(slots).first(end),
                     {.state = &state});
      std::vector<float> hidden = ToVector(decoder.Forward(batch, cache).value());
      hidden.erase(hidden.begin(), hidden.end() - decoder.config().hidden);
      const std::vector<float> logits = Logits(decoder, hidden, pool_);
      const auto best = std::max_element(logits.begin(), logits.end());
      step = {TokenId(best - logits.begin())};
      result.first.push_back(Raw(step[0]));
      result.second.push_back(logits);
    }
    return result;
  }

  json golden_;
  TempDir dir_;
  ThreadPool pool_{/*num_threads=*/2};
  std::vector<TokenId> prompt_;
  std::vector<int32_t> greedy_;
};

TEST_P(DecoderGoldenTest, GreedyIdsAndLogitsMatchTransformers) {
  const auto decoder = LoadOrDie(dir_.path(), DType::kF32, pool_);
  for (const Isa isa : SupportedIsas()) {
    SCOPED_TRACE(IsaName(isa));
    SetIsa(isa);
    const auto [ids, logits] = Decode(*decoder);
    EXPECT_EQ(ids, greedy_);
    const size_t every = golden_["logits_every"].get<size_t>();
    for (size_t row = 0; row * every < logits.size(); ++row) {
      const auto want = golden_["logits"][row].get<std::vector<float>>();
      EXPECT_LE(RelativeError(logits[row * every], want), 1e-4) << "row " << row;
    }
  }
}

TEST_P(DecoderGoldenTest, AnyChunkGivesSameBits) {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    const auto decoder = LoadOrDie(dir_.path(), dtype, pool_);
    std::vector<TokenId> tokens = prompt_;
    for (const int32_t id : greedy_) tokens.push_back(TokenId{id});
    const std::vector<float> whole = RunChain(*decoder, tokens);
    const int64_t num_tokens = static_cast<int64_t>(tokens.size());
    for (const int64_t chunk : {1, 7, 32}) {
      KvCache cache = KvCache::Create(decoder->config(), num_tokens, dtype).value();
      EXPECT_EQ(RunChain(*decoder, tokens, chunk, Iota(num_tokens), cache), whole) << chunk;
    }
  }
}

TEST_P(DecoderGoldenTest, LogitsInBf16StayClose) {
  const auto decoder = LoadOrDie(dir_.path(), DType::kBf16, pool_);
  std::vector<TokenId> tokens = prompt_;
  for (const int32_t id : greedy_) tokens.push_back(TokenId{id});
  const std::vector<float> states = RunChain(*decoder, tokens);
  const size_t hidden = static_cast<size_t>(decoder->config().hidden);
  const size_t every = golden_["logits_every"].get<size_t>();
  double sum = 0.0;
  const size_t num_rows = golden_["logits"].size();
  for (size_t row = 0; row < num_rows; ++row) {
    const auto state = states.begin() + (prompt_.size() - 1 + row * every) * hidden;
    const std::vector<float> logits = Logits(*decoder, {state, state + hidden}, pool_);
    const auto want = golden_["logits"][row].get<std::vector<float>>();
    sum += Cosines(logits, want, want.size()).front();
  }
  // A close choice of experts may fall on another one.
  const bool has_experts = decoder->config().experts.num_experts > 0;
  EXPECT_GE(sum / static_cast<double>(num_rows), has_experts ? 0.99 : 0.999);
}

INSTANTIATE_TEST_SUITE_P(Cases, DecoderGoldenTest, testing::ValuesIn(CaseNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace shortlist

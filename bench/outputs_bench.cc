// Measures the additional cost of sparse vectors and multi-vectors in a pass that makes dense ones:
// bge-m3's three outputs of one pass, alternating with dense ones alone.
//
// usage: outputs_bench DIR [ROUNDS]
// DIR: made by bench/outputs_model.py. Prints medians in ms and the median of the ratios.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "runtime/encoding_model.h"

namespace shortlist {
namespace {

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// Seconds of one pass.
double Time(EncodingModel& model, const std::vector<EncodeInput>& inputs, const EncodeWish& wish) {
  std::vector<EncodingLoop::Item> items;
  for (const EncodeInput& input : inputs) items.push_back({&input, &wish});
  const double begin_s = SteadySeconds();
  const std::vector<EncodeResult> results = model.Encode(items);
  const double seconds = SteadySeconds() - begin_s;
  for (const EncodeResult& result : results) SHORTLIST_CHECK(result.status.ok());
  return seconds;
}

void Run(const std::string& dir, int rounds) {
  ThreadPool pool(static_cast<int>(std::thread::hardware_concurrency()));
  auto model = EncodingModel::Open({.model = dir}, pool);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", std::string(model.status().message()).c_str());
    std::exit(2);
  }
  const EncodeWish dense, three{.sparse = true, .multi_vector = true};
  std::mt19937 random(1);
  std::printf("texts x tokens   dense ms   three ms   ratio\n");
  for (const auto& [num_texts, num_tokens] :
       {std::pair(1, 16), std::pair(1, 512), std::pair(8, 64), std::pair(4, 256)}) {
    std::vector<EncodeInput> inputs(num_texts);
    for (EncodeInput& input : inputs) {
      for (int t = 0; t < num_tokens; ++t) {
        input.ids.push_back(TokenId{static_cast<int32_t>(4 + random() % 30000)});
      }
    }
    std::vector<double> alone, together, ratios;
    for (int round = 0; round < rounds; ++round) {
      alone.push_back(Time(**model, inputs, dense));
      together.push_back(Time(**model, inputs, three));
      ratios.push_back(together.back() / alone.back());
    }
    std::printf("%5d x %-7d  %9.2f  %9.2f  %6.3f\n", num_texts, num_tokens, 1e3 * Median(alone),
                1e3 * Median(together), Median(ratios));
  }
}

}  // namespace
}  // namespace shortlist

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: outputs_bench DIR [ROUNDS]\n");
    return 2;
  }
  shortlist::Run(argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : 15);
  return 0;
}

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/cuda_cases.h"
#include "tests/kernels/sketch_fixture.h"

namespace shortlist {
namespace {

void CheckRefusals(CudaMachine& machine, const CudaSketchArgs& fine, Failures& failures) {
  const auto refuses = [&](const char* what, auto spoil) {
    CudaSketchArgs args = fine;
    spoil(args);
    failures.Expect(!machine.SketchSelect(args), std::string(what) + " is refused");
  };
  refuses("a negative number of tokens", [](CudaSketchArgs& args) { args.num_tokens = -1; });
  refuses("a sketch without rows", [](CudaSketchArgs& args) { args.rows.num_rows = 0; });
  refuses("an odd rank", [](CudaSketchArgs& args) { args.rows.rank = 12; });
  refuses("a huge rank", [](CudaSketchArgs& args) { args.rows.rank = kMaxSketchRank + 8; });
  refuses("no chosen row", [](CudaSketchArgs& args) { args.num_chosen = 0; });
  refuses("more chosen rows than there are",
          [](CudaSketchArgs& args) { args.num_chosen = args.rows.num_rows + 1; });
  refuses("null codes", [](CudaSketchArgs& args) { args.rows.codes = nullptr; });
  refuses("misaligned codes", [](CudaSketchArgs& args) { ++args.rows.codes; });
  refuses("a null query", [](CudaSketchArgs& args) { args.query = nullptr; });
  CudaSketchArgs none = fine;
  none.num_tokens = 0;
  none.ids = nullptr;
  failures.Expect(machine.SketchSelect(none), "no tokens are no error");
}

}  // namespace

void CheckSketches(CudaMachine& machine, uint32_t seed, const CaseSizes& sizes,
                   Failures& failures) {
  std::mt19937 rng(seed);
  for (int round = 0; round < sizes.num_rounds; ++round) {
    const int64_t num_rows = RandomInt(rng, 1, sizes.max_vocab_size);
    // Few levels of codes: many ties.
    const SketchFixture sketch(rng, num_rows, /*sketch_rank=*/8 * RandomInt(rng, 1, 9),
                               /*largest=*/round % 2 == 0 ? 1 : 7);
    const int64_t num_tokens = RandomInt(rng, 1, sizes.max_tokens);
    const int64_t num_chosen = RandomInt(rng, 1, round % 4 == 3 ? num_rows : (num_rows + 9) / 10);
    std::vector<float> queries = RandomFloats(rng, num_tokens * sketch.rank);
    std::vector<SketchRace> races;
    for (int64_t m = 0; m < num_tokens; ++m) {
      races.push_back({.inverse_temperature = RandomInt(rng, 0, 1) == 0 ? 0.0f : 1.25f,
                       .seed = rng(),
                       .position = RandomInt(rng, 0, 1000)});
    }
    const MachineArray<uint8_t> codes(machine, sketch.codes);
    const MachineArray<uint16_t> scales(machine, sketch.scales);
    const MachineArray<float> query(machine, queries);
    const MachineArray<SketchRace> race(machine, races);
    const MachineArray<int32_t> ids(machine, num_tokens * num_chosen);
    const MachineArray<uint32_t> keys(machine, num_tokens * num_chosen);
    const CudaSketchArgs args{.rows = {codes.data(), scales.data(), num_rows, sketch.rank},
                              .query = query.data(),
                              .races = race.data(),
                              .num_tokens = num_tokens,
                              .num_chosen = num_chosen,
                              .ids = ids.data(),
                              .keys = keys.data()};
    const std::string trace = "seed " + std::to_string(seed) + " round " + std::to_string(round);
    failures.Expect(machine.SketchSelect(args), trace + ": runs");
    const std::vector<int32_t> got = ids.Get();
    const std::vector<uint32_t> got_keys = keys.Get();
    for (int64_t m = 0; m < num_tokens; ++m) {
      const std::vector<int32_t> expected =
          sketch.Best(&queries[m * sketch.rank], races[m], num_chosen);
      failures.Expect(std::equal(expected.begin(), expected.end(), got.begin() + m * num_chosen),
                      trace + ": rows of token " + std::to_string(m));
      // The best half by keys.
      std::vector<int64_t> order(num_chosen);
      std::iota(order.begin(), order.end(), m * num_chosen);
      std::ranges::stable_sort(order,
                               [&](int64_t a, int64_t b) { return got_keys[a] > got_keys[b]; });
      std::vector<int32_t> best;
      for (int64_t i = 0; i < num_chosen / 2; ++i) best.push_back(got[order[i]]);
      std::ranges::sort(best);
      failures.Expect(best == sketch.Best(&queries[m * sketch.rank], races[m], num_chosen / 2),
                      trace + ": keys of token " + std::to_string(m));
    }
    if (round == 0) CheckRefusals(machine, args, failures);
  }
}

}  // namespace shortlist

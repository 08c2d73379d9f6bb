#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/noise.h"
#include "kernels/sampling.h"
#include "tests/kernels/cuda_cases.h"
#include "tests/kernels/cuda_head_fixture.h"

namespace shortlist {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kGuard = -12345.0f;

struct TopK {
  std::vector<int32_t> ids;
  std::vector<float> logits, log_sum_exp;
};

std::vector<float> RunLogits(CudaMachine& machine, const CudaHeadArgs& args, int64_t stride,
                             Failures& failures) {
  const int64_t size = args.x.num_tokens * stride;
  MachineArray<float> logits(machine, std::vector<float>(size + 8, kGuard));
  failures.Expect(machine.HeadLogits(args, logits.data(), stride), "HeadLogits runs");
  std::vector<float> values = logits.Get();
  for (int64_t i = size; i < size + 8; ++i) {
    failures.Expect(values[i] == kGuard, "nothing is written after the logits");
  }
  values.resize(size);
  return values;
}

TopK RunTopK(CudaMachine& machine, const CudaHeadArgs& args, int64_t k, Failures& failures,
             const HeadNoise& noise = {}) {
  const int64_t num_tokens = args.x.num_tokens;
  MachineArray<int32_t> ids(machine, num_tokens * k);
  MachineArray<float> logits(machine, num_tokens * k), log_sum_exp(machine, num_tokens);
  failures.Expect(machine.HeadTopK(args, k, noise, {ids.data(), logits.data(), log_sum_exp.data()}),
                  "HeadTopK runs");
  return {ids.Get(), logits.Get(), log_sum_exp.Get()};
}

/// One random head and what all its tests share.
class HeadCheck {
 public:
  HeadCheck(CudaMachine& machine, std::mt19937& rng, RowFormat format, const CaseSizes& sizes,
            const std::string& trace, Failures& failures)
      : machine_(machine),
        rng_(rng),
        failures_(failures),
        hidden_(RandomHidden(format, sizes.max_hidden)),
        vocab_size_(RandomInt(rng, sizes.min_rows, sizes.max_vocab_size)),
        num_tokens_(RandomInt(rng, 0, 3) == 0
                        ? RandomInt(rng, 1, sizes.max_tokens)
                        : RandomInt(rng, 1, std::min<int64_t>(9, sizes.max_tokens))),
        row_capacity_(RandomInt(rng, sizes.min_rows, vocab_size_)),
        tail_capacity_(RandomInt(rng, 0, 1) *
                       RandomInt(rng, 0, std::min<int64_t>(70, vocab_size_))),
        rows_(machine, rng, format, vocab_size_, hidden_),
        x_(RandomFloats(rng, num_tokens_ * hidden_)),
        states_(machine, format, hidden_, x_),
        set_(rng, vocab_size_, num_tokens_, row_capacity_, tail_capacity_),
        chosen_(machine, set_),
        args_(ArgsOf(rows_, states_, chosen_)),
        trace_(trace + " " + RowFormatName(format) + " hidden " + std::to_string(hidden_) +
               " vocab " + std::to_string(vocab_size_) + " tokens " + std::to_string(num_tokens_) +
               " capacities " + std::to_string(row_capacity_) + " + " +
               std::to_string(tail_capacity_)) {}

  void Run() {
    CheckFullHead();
    CheckPruned();
    CheckOneToken();
    CheckSingleRows();
    CheckDraws();
    // The same arrays, as a captured graph would see them, with another set.
    set_ = RowSet(rng_, vocab_size_, num_tokens_, row_capacity_, tail_capacity_);
    chosen_.Set(set_);
    CheckPruned();
    Expect(chosen_.error.Get()[0] == 0, "no error is flagged");
  }

 private:
  int64_t RandomHidden(RowFormat format, int64_t most) {
    const int64_t multiple = format == RowFormat::kFp8 ? 16 : format == RowFormat::kF32 ? 4 : 8;
    const int64_t hidden = RandomInt(rng_, 1, most);
    if (format == RowFormat::kInt8 || format == RowFormat::kInt4) return hidden;
    return (hidden + multiple - 1) / multiple * multiple;
  }

  void Expect(bool holds, const std::string& what) {
    failures_.Expect(holds, trace_ + ": " + what);
  }

  void CheckFullHead() {
    CudaHeadArgs args = args_;
    args.row_ids = nullptr;
    args.num_rows = nullptr;
    args.row_capacity = vocab_size_;
    args.tail_indptr = args.tail_ids = nullptr;
    args.tail_capacity = 0;
    full_ = RunLogits(machine_, args, vocab_size_, failures_);
    for (int64_t m = 0; m < num_tokens_; ++m) {
      const std::vector<double> state = RoundedState(&x_[m * hidden_], hidden_, rows_.format);
      for (int64_t v = 0; v < vocab_size_; ++v) {
        const ExactDot dot = HeadOracle(state, &rows_.values[v * hidden_]);
        const float logit = full_[m * vocab_size_ + v];
        Expect(std::abs(logit - dot.value) <= dot.tolerance,
               "logit " + std::to_string(logit) + " is " + std::to_string(dot.value) +
                   " at token " + std::to_string(m) + " row " + std::to_string(v));
      }
    }
  }

  /// A token's candidates by their definition, best first.
  std::vector<std::pair<float, int32_t>> Sorted(int64_t token) const {
    std::vector<std::pair<float, int32_t>> candidates;
    for (const int32_t id : set_.IdsOf(token)) {
      candidates.emplace_back(full_[token * vocab_size_ + id], id);
    }
    std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    return candidates;
  }

  void CheckPruned() {
    const int64_t stride = row_capacity_ + tail_capacity_ + RandomInt(rng_, 0, 3);
    const std::vector<float> logits = RunLogits(machine_, args_, stride, failures_);
    for (int64_t m = 0; m < num_tokens_; ++m) {
      const std::vector<int32_t> ids = set_.IdsOf(m);
      for (int64_t s = 0; s < stride; ++s) {
        const float logit = logits[m * stride + s];
        const bool used = s < static_cast<int64_t>(ids.size());
        const float expected = used ? full_[m * vocab_size_ + ids[s]] : -kInf;
        Expect(std::bit_cast<uint32_t>(logit) == std::bit_cast<uint32_t>(expected),
               "row " + std::to_string(s) + " of token " + std::to_string(m) + " has " +
                   std::to_string(logit) + ", not the bits of " + std::to_string(expected));
      }
    }
    const int64_t k = RandomInt(rng_, 1, std::min<int64_t>(32, row_capacity_ + tail_capacity_));
    top_ = RunTopK(machine_, args_, k, failures_);
    for (int64_t m = 0; m < num_tokens_; ++m) {
      const auto expected = Sorted(m);
      double sum = 0;
      for (const auto& [logit, id] : expected) {
        sum += std::exp(static_cast<double>(logit) - expected[0].first);
      }
      for (int64_t i = 0; i < k; ++i) {
        const bool present = i < static_cast<int64_t>(expected.size());
        const int32_t id = present ? expected[i].second : -1;
        const float logit = present ? expected[i].first : -kInf;
        Expect(top_.ids[m * k + i] == id && top_.logits[m * k + i] == logit,
               "rank " + std::to_string(i) + " of token " + std::to_string(m) + " is id " +
                   std::to_string(top_.ids[m * k + i]) + ", not " + std::to_string(id));
      }
      const double log_sum = expected.empty() ? -kInf : expected[0].first + std::log(sum);
      const double difference = top_.log_sum_exp[m] - log_sum;
      Expect(
          top_.log_sum_exp[m] == log_sum || std::abs(difference) < 1e-5 * (1 + std::abs(log_sum)),
          "log-sum-exp " + std::to_string(top_.log_sum_exp[m]) + " is " + std::to_string(log_sum));
    }
    const TopK again = RunTopK(machine_, args_, k, failures_);
    Expect(again.ids == top_.ids && SameBits(again.logits, top_.logits) &&
               SameBits(again.log_sum_exp, top_.log_sum_exp),
           "a second run gives the same bits");
  }

  /// One token by itself gives the bits it has in the batch, sums of exponentials included.
  void CheckOneToken() {
    const int64_t m = RandomInt(rng_, 0, num_tokens_ - 1);
    const std::vector<float> x(x_.begin() + m * hidden_, x_.begin() + (m + 1) * hidden_);
    const CudaStates state(machine_, rows_.format, hidden_, x);
    RowSet set = set_;
    set.tail_ids.assign(set_.tail_ids.begin() + set_.tail_indptr[m],
                        set_.tail_ids.begin() + set_.tail_indptr[m + 1]);
    set.tail_indptr = {0, static_cast<int32_t>(set.tail_ids.size())};
    set.tail_ids.resize(tail_capacity_, -1);
    const CudaRowSet chosen(machine_, set);
    const int64_t k = static_cast<int64_t>(top_.ids.size()) / num_tokens_;
    const TopK alone = RunTopK(machine_, ArgsOf(rows_, state, chosen), k, failures_);
    for (int64_t i = 0; i < k; ++i) {
      Expect(alone.ids[i] == top_.ids[m * k + i] && alone.logits[i] == top_.logits[m * k + i],
             "token " + std::to_string(m) + " alone has the same best");
    }
    Expect(SameBits({alone.log_sum_exp[0]}, {top_.log_sum_exp[m]}),
           "token " + std::to_string(m) + " alone has the same log-sum-exp");
  }

  /// Each token against a row of its own and no shared ones, as a drafted token's row is read
  /// again.
  void CheckSingleRows() {
    std::vector<int32_t> indptr(num_tokens_ + 1), ids(num_tokens_);
    std::iota(indptr.begin(), indptr.end(), 0);
    for (int32_t& id : ids) id = static_cast<int32_t>(RandomInt(rng_, 0, vocab_size_ - 1));
    const MachineArray<int32_t> indptr_array(machine_, indptr), id_array(machine_, ids);
    CudaHeadArgs args = args_;
    args.row_ids = args.num_rows = nullptr;
    args.row_capacity = 0;
    args.tail_indptr = indptr_array.data();
    args.tail_ids = id_array.data();
    args.tail_capacity = 1;
    const std::vector<float> logits = RunLogits(machine_, args, /*stride=*/1, failures_);
    for (int64_t m = 0; m < num_tokens_; ++m) {
      Expect(SameBits({logits[m]}, {full_[m * vocab_size_ + ids[m]]}),
             "a row alone has the same bits for token " + std::to_string(m));
    }
  }

  void CheckDraws() {
    constexpr uint32_t kStream = 3;
    std::vector<float> temperatures(num_tokens_);
    std::vector<uint64_t> seeds(num_tokens_);
    std::vector<int64_t> positions(num_tokens_);
    for (int64_t m = 0; m < num_tokens_; ++m) {
      temperatures[m] = static_cast<float>(RandomInt(rng_, 0, 3)) * 0.5f;
      seeds[m] = rng_();
      positions[m] = RandomInt(rng_, 0, 1000);
    }
    const MachineArray<float> temperature_array(machine_, temperatures);
    const MachineArray<uint64_t> seed_array(machine_, seeds);
    const MachineArray<int64_t> position_array(machine_, positions);
    const TopK drawn =
        RunTopK(machine_, args_, /*k=*/1, failures_,
                {temperature_array.data(), seed_array.data(), position_array.data(), kStream});
    for (int64_t m = 0; m < num_tokens_; ++m) {
      std::vector<int32_t> ids = set_.IdsOf(m);
      std::vector<float> tempered;
      for (const int32_t id : ids) {
        const float logit = full_[m * vocab_size_ + id];
        tempered.push_back(temperatures[m] > 0 ? logit / temperatures[m] : logit);
      }
      int64_t expected;
      if (temperatures[m] > 0) {
        expected = SampleRaceCpu({tempered.data(), ids.data(), std::ssize(ids)},
                                 {seeds[m], positions[m], kStream});
      } else {
        const auto sorted = Sorted(m);
        expected =
            sorted.empty() ? -1 : std::find(ids.begin(), ids.end(), sorted[0].second) - ids.begin();
      }
      const int32_t expected_id = expected < 0 ? -1 : ids[expected];
      Expect(
          drawn.ids[m] == expected_id || TiesInTheRace(m, tempered, ids, drawn.ids[m], expected,
                                                       NoiseKey(seeds[m], positions[m], kStream)),
          "the draw of token " + std::to_string(m) + " is " + std::to_string(drawn.ids[m]) +
              ", not " + std::to_string(expected_id));
    }
  }

  /// True if the arrival times of two ids differ only by rounding.
  bool TiesInTheRace(int64_t token, const std::vector<float>& tempered,
                     const std::vector<int32_t>& ids, int32_t drawn, int64_t expected,
                     uint64_t key) {
    const auto found = std::find(ids.begin(), ids.end(), drawn);
    if (expected < 0 || found == ids.end()) return false;
    const auto score = [&](int64_t i) {
      return tempered[i] - std::log(static_cast<double>(ExponentialOf(NoiseOf(key, ids[i]))));
    };
    const double difference = score(found - ids.begin()) - score(expected);
    return std::abs(difference) < 1e-5 * (1 + std::abs(full_[token * vocab_size_ + drawn]));
  }

  CudaMachine& machine_;
  std::mt19937& rng_;
  Failures& failures_;
  const int64_t hidden_, vocab_size_, num_tokens_, row_capacity_, tail_capacity_;
  CudaRows rows_;
  std::vector<float> x_;
  CudaStates states_;
  RowSet set_;
  CudaRowSet chosen_;
  CudaHeadArgs args_;
  std::string trace_;
  std::vector<float> full_;  // [num_tokens, vocab_size]
  TopK top_;
};

/// A head whose input a case spoils.
struct SmallHead {
  static constexpr int64_t kVocabSize = 90, kHidden = 48, kTokens = 3, kRowCapacity = 40,
                           kTailCapacity = 20;
  SmallHead(CudaMachine& on, std::mt19937& rng, RowFormat format)
      : machine(on),
        rows(machine, rng, format, kVocabSize, kHidden),
        x(RandomFloats(rng, kTokens * kHidden)),
        set(rng, kVocabSize, kTokens, kRowCapacity, kTailCapacity) {
    set.num_rows = kRowCapacity;
    for (int64_t s = 0; s < kRowCapacity; ++s) set.row_ids[s] = static_cast<int32_t>(s);
    set.tail_indptr = {0, 20, 25, 25};
    for (int64_t i = 0; i < 25; ++i) set.tail_ids[i] = static_cast<int32_t>(60 + i);
  }

  struct Result {
    TopK top;
    std::vector<float> logits;
    int32_t error;
  };
  Result Run(Failures& failures) const {
    const CudaStates states(machine, rows.format, kHidden, x);
    const CudaRowSet chosen(machine, set);
    const CudaHeadArgs args = ArgsOf(rows, states, chosen);
    Result result;
    result.logits = RunLogits(machine, args, kRowCapacity + kTailCapacity, failures);
    result.top = RunTopK(machine, args, /*k=*/4, failures);
    result.error = chosen.error.Get()[0];
    return result;
  }

  CudaMachine& machine;
  CudaRows rows;
  std::vector<float> x;
  RowSet set;
};

void CheckSpoiltRows(SmallHead& head, const std::string& trace, Failures& failures) {
  constexpr int64_t kStride = SmallHead::kRowCapacity + SmallHead::kTailCapacity;
  const SmallHead::Result good = head.Run(failures);
  const RowSet set = head.set;
  failures.Expect(good.error == 0, trace + ": a good set flags nothing");

  head.set.row_ids[3] = SmallHead::kVocabSize;
  head.set.row_ids[17] = -1;
  head.set.tail_ids[2] = std::numeric_limits<int32_t>::min();
  const SmallHead::Result ids = head.Run(failures);
  failures.Expect(ids.error == kHeadRowIdError, trace + ": ids out of range are flagged");
  for (int64_t i = 0; i < SmallHead::kTokens * kStride; ++i) {
    const int64_t token = i / kStride, row = i % kStride;
    const bool spoilt = row == 3 || row == 17 || (token == 0 && row == 42);
    failures.Expect(spoilt ? ids.logits[i] == -kInf : ids.logits[i] == good.logits[i],
                    trace + ": only rows with a bad id change");
  }
  for (const int32_t id : ids.top.ids) {
    failures.Expect(id >= 0 && id < SmallHead::kVocabSize, trace + ": ids stay in range");
  }

  for (const int32_t count : {41, 1 << 30, -1, std::numeric_limits<int32_t>::min()}) {
    head.set = set;
    head.set.num_rows = count;
    const SmallHead::Result counted = head.Run(failures);
    failures.Expect(counted.error == kHeadCountError, trace + ": a bad count is flagged");
    if (count < 0) {
      failures.Expect(counted.logits[0] == good.logits[SmallHead::kRowCapacity],
                      trace + ": a negative count leaves the tails");
      failures.Expect(counted.top.ids[2 * 4] == -1 && counted.top.log_sum_exp[2] == -kInf,
                      trace + ": a token without rows has no best");
    } else {
      failures.Expect(SameBits(counted.logits, good.logits),
                      trace + ": counts end at the capacity");
    }
  }

  for (const std::vector<int32_t>& indptr :
       std::vector<std::vector<int32_t>>{{0, 21, 25, 25},
                                         {0, 20, 10, 10},
                                         {-1, 19, 25, 25},
                                         {0, 20, 25, 61},
                                         {0, 20, 1 << 30, 1 << 30}}) {
    head.set = set;
    head.set.tail_indptr = indptr;
    failures.Expect(head.Run(failures).error == kHeadTailError, trace + ": bad tails are flagged");
  }
  head.set = set;
}

void CheckSpoiltStates(SmallHead& head, const std::string& trace, Failures& failures) {
  constexpr int64_t kStride = SmallHead::kRowCapacity + SmallHead::kTailCapacity;
  const SmallHead::Result good = head.Run(failures);
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), kInf, -kInf, 3e38f}) {
    const std::vector<float> x = head.x;
    head.x[SmallHead::kHidden + 5] = value;
    const SmallHead::Result spoilt = head.Run(failures);
    head.x = x;
    for (const int64_t token : {0, 2}) {
      for (int64_t s = 0; s < kStride; ++s) {
        failures.Expect(spoilt.logits[token * kStride + s] == good.logits[token * kStride + s],
                        trace + ": other tokens do not notice");
      }
    }
    // The definition, over the spoilt token's own logits: NaN and -infinity are never chosen.
    std::vector<std::pair<float, int32_t>> sorted;
    for (int64_t s = 0; s < 45; ++s) {
      const float logit = spoilt.logits[kStride + s];
      const int32_t id = s < 40 ? head.set.row_ids[s] : head.set.tail_ids[20 + s - 40];
      if (logit > -kInf) sorted.emplace_back(logit, id);
    }
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    sorted.resize(45, {-kInf, -1});
    for (int64_t i = 0; i < 4; ++i) {
      failures.Expect(
          spoilt.top.ids[4 + i] == sorted[i].second && spoilt.top.logits[4 + i] == sorted[i].first,
          trace + ": the top k of NaN and infinite logits is well defined, value " +
              std::to_string(value) + " rank " + std::to_string(i));
    }
    const float log_sum_exp = spoilt.top.log_sum_exp[1];
    failures.Expect(std::isinf(sorted[0].first) ? log_sum_exp == sorted[0].first
                                                : log_sum_exp >= sorted[0].first,
                    trace + ": log-sum-exp is never NaN");
  }
}

}  // namespace

void CheckHeads(CudaMachine& machine, uint32_t seed, const CaseSizes& sizes, Failures& failures) {
  std::mt19937 rng(seed);
  for (int round = 0; round < sizes.num_rounds; ++round) {
    for (const RowFormat format : kRowFormats) {
      const std::string trace = "seed " + std::to_string(seed) + " round " + std::to_string(round);
      HeadCheck(machine, rng, format, sizes, trace, failures).Run();
    }
  }
}

void CheckHeadBadInput(CudaMachine& machine, uint32_t seed, Failures& failures) {
  std::mt19937 rng(seed);
  for (const RowFormat format : kRowFormats) {
    SmallHead head(machine, rng, format);
    const std::string trace = "seed " + std::to_string(seed) + " " + RowFormatName(format);
    CheckSpoiltRows(head, trace, failures);
    CheckSpoiltStates(head, trace, failures);
  }
}

void CheckHeadRefusals(CudaMachine& machine, Failures& failures) {
  std::mt19937 rng(1);
  const SmallHead head(machine, rng, RowFormat::kFp8);
  const CudaStates states(machine, RowFormat::kFp8, SmallHead::kHidden, head.x);
  const CudaRowSet chosen(machine, head.set);
  const CudaHeadArgs good = ArgsOf(head.rows, states, chosen);
  MachineArray<float> logits(machine, std::vector<float>(3 * 60, kGuard));
  MachineArray<int32_t> ids(machine, std::vector<int32_t>(3 * 4, -9));
  const HeadTopKOutputs out{ids.data(), logits.data(), nullptr};
  const auto refused = [&](const std::string& what, auto&& spoil) {
    CudaHeadArgs args = good;
    spoil(args);
    failures.Expect(!machine.HeadLogits(args, logits.data(), 60), "refused for logits: " + what);
    failures.Expect(!machine.HeadTopK(args, 4, {}, out), "refused for top k: " + what);
  };
  refused("no hidden", [](CudaHeadArgs& a) { a.hidden = 0; });
  refused("hidden of half a piece", [](CudaHeadArgs& a) { a.hidden = 40; });
  refused("a huge hidden", [](CudaHeadArgs& a) { a.hidden = int64_t{1} << 40; });
  refused("no vocabulary", [](CudaHeadArgs& a) { a.vocab_size = 0; });
  refused("no weight", [](CudaHeadArgs& a) { a.weight = nullptr; });
  refused("a misaligned weight",
          [](CudaHeadArgs& a) { a.weight = static_cast<const char*>(a.weight) + 8; });
  refused("no factors of rows", [](CudaHeadArgs& a) { a.row_factors = nullptr; });
  refused("an unknown format", [](CudaHeadArgs& a) { a.format = static_cast<RowFormat>(9); });
  refused("negative tokens", [](CudaHeadArgs& a) { a.x.num_tokens = -1; });
  refused("too many tokens", [](CudaHeadArgs& a) { a.x.num_tokens = 65; });
  refused("no states", [](CudaHeadArgs& a) { a.x.codes = nullptr; });
  refused("misaligned states",
          [](CudaHeadArgs& a) { a.x.codes = static_cast<const char*>(a.x.codes) + 2; });
  refused("no factors of states", [](CudaHeadArgs& a) { a.x.factors = nullptr; });
  refused("an empty set", [](CudaHeadArgs& a) { a.row_capacity = a.tail_capacity = 0; });
  refused("a negative capacity", [](CudaHeadArgs& a) { a.row_capacity = -1; });
  refused("a huge capacity", [](CudaHeadArgs& a) { a.row_capacity = int64_t{1} << 40; });
  refused("a huge tail", [](CudaHeadArgs& a) { a.tail_capacity = int64_t{1} << 40; });
  refused("a full head past the vocabulary", [](CudaHeadArgs& a) {
    a.row_ids = nullptr;
    a.row_capacity = a.vocab_size + 1;
  });
  refused("a huge number of tail ids", [](CudaHeadArgs& a) { a.num_tail_ids = int64_t{1} << 40; });
  refused("no indptr", [](CudaHeadArgs& a) { a.tail_indptr = nullptr; });
  refused("no error word", [](CudaHeadArgs& a) { a.error = nullptr; });
  failures.Expect(!machine.HeadLogits(good, logits.data(), 59),
                  "refused: a stride below the chosen rows");
  failures.Expect(!machine.HeadLogits(good, nullptr, 60), "refused: no logits");
  for (const int64_t k : {int64_t{-1}, int64_t{0}, int64_t{33}, int64_t{1} << 40}) {
    failures.Expect(!machine.HeadTopK(good, k, {}, out), "refused: k " + std::to_string(k));
  }
  failures.Expect(!machine.HeadTopK(good, 4, {.temperatures = states.factors.data()}, out),
                  "refused: noise without seeds");
  failures.Expect(!machine.HeadTopK(good, 4, {}, {nullptr, logits.data(), nullptr}),
                  "refused: no ids");
  for (const float value : logits.Get()) failures.Expect(value == kGuard, "nothing was written");
  for (const int32_t id : ids.Get()) failures.Expect(id == -9, "nothing was written");

  CudaHeadArgs none = good;
  none.x = {};
  failures.Expect(machine.HeadLogits(none, logits.data(), 60), "no tokens are no error");
  failures.Expect(machine.HeadTopK(none, 4, {}, out), "no tokens are no error");
}

}  // namespace shortlist

#ifndef SHORTLIST_TESTS_SUPPORT_RANDOM_TENSORS_H_
#define SHORTLIST_TESTS_SUPPORT_RANDOM_TENSORS_H_

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "tests/support/checkpoint_writer.h"

namespace shortlist {

/// Random tensors of a checkpoint of one type.
class RandomTensors {
 public:
  RandomTensors(DType dtype, uint64_t seed) : dtype_(dtype), random_(seed) {}

  /// Uniform with the given standard deviation about `mean`.
  void Add(const std::string& name, const std::vector<int64_t>& shape, double mean,
           double deviation) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    std::uniform_real_distribution<double> unit(-std::sqrt(3.0), std::sqrt(3.0));
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>(mean + deviation * unit(random_)));
    tensors.push_back(MakeTensor(name, shape, values, dtype_));
  }
  void AddLinear(const std::string& name, int64_t out_features, int64_t in_features) {
    Add(name, {out_features, in_features}, 0.0, 1.0 / std::sqrt(static_cast<double>(in_features)));
  }
  void AddNorm(const std::string& name, int64_t hidden) { Add(name, {hidden}, 1.0, 0.1); }

  std::vector<StoredTensor> tensors;

 private:
  DType dtype_;
  std::mt19937_64 random_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SUPPORT_RANDOM_TENSORS_H_

#ifndef SHORTLIST_TESTS_SUPPORT_NORMAL_VALUES_H_
#define SHORTLIST_TESTS_SUPPORT_NORMAL_VALUES_H_

#include <cstdint>
#include <random>
#include <vector>

namespace shortlist {

/// `count` draws of the normal distribution, the same for the same seed: what tests measure with
/// them must not depend on luck.
inline std::vector<float> NormalValues(unsigned seed, int64_t count) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(rng);
  return values;
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SUPPORT_NORMAL_VALUES_H_

#ifndef SHORTLIST_BASE_EDIT_DISTANCE_H_
#define SHORTLIST_BASE_EDIT_DISTANCE_H_

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace shortlist {

/// Returns the number of bytes to insert, drop or replace to turn `a` into `b` (Levenshtein 1966).
inline size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);  // distances from the first i bytes of a
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row[b.size()];
}

}  // namespace shortlist

#endif  // SHORTLIST_BASE_EDIT_DISTANCE_H_

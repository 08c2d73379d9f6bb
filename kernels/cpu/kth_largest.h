#ifndef SHORTLIST_KERNELS_CPU_KTH_LARGEST_H_
#define SHORTLIST_KERNELS_CPU_KTH_LARGEST_H_

#include <cstdint>
#include <span>

namespace shortlist {

/// Returns the k-th largest of `values`, which contain no NaN; k in [1, values.size()]. Reads them
/// three times and moves none, which is faster than std::nth_element for thousands of values.
float KthLargest(std::span<const float> values, int64_t k);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_KTH_LARGEST_H_

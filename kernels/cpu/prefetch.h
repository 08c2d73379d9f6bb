#ifndef SHORTLIST_KERNELS_CPU_PREFETCH_H_
#define SHORTLIST_KERNELS_CPU_PREFETCH_H_

namespace shortlist {

/// Returns whether a pass over several tokens is faster on this processor if its weights are
/// prefetched from memory to the second-level cache, not to the first. The answer never changes
/// while the process runs. Results do not depend on it.
///
/// It is true on AMD Zen 4 alone: kernels/README.md has the measured times. A likely reason is that
/// prefetches to the first level occupy all of its places for lines on their way from memory, and
/// loads must wait for one. Elsewhere the first level is at least as fast, as far as measured, and
/// faster for weights that lie in the last-level cache.
bool FetchesToSecondLevel();

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_PREFETCH_H_

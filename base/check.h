#ifndef SHORTLIST_BASE_CHECK_H_
#define SHORTLIST_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

/// Aborts with file, line and the broken condition. For invariants of our own code only: nothing
/// that a file, a flag or a request contains may ever reach a failing check.
#define SHORTLIST_CHECK(condition)                                                           \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      std::fprintf(stderr, "%s:%d: broken invariant: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)

#endif  // SHORTLIST_BASE_CHECK_H_

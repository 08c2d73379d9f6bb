#ifndef SHORTLIST_TESTS_ROUTER_FAILING_NEW_H_
#define SHORTLIST_TESTS_ROUTER_FAILING_NEW_H_

#include <cstdint>

namespace shortlist {

/// While one lives, operator new of this thread throws std::bad_alloc at its `countdown`-th call
/// and works again from then on. One at a time.
class FailingNew {
 public:
  explicit FailingNew(int64_t countdown);
  ~FailingNew();
  /// True if an allocation has thrown.
  bool failed() const;
};

/// How many random operations to run: the environment variable SHORTLIST_RANDOM_OPS, else `count`,
/// or a tenth of it in a sanitized build.
int64_t NumRandomOps(int64_t count);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_ROUTER_FAILING_NEW_H_

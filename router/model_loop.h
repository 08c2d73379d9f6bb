#ifndef SHORTLIST_ROUTER_MODEL_LOOP_H_
#define SHORTLIST_ROUTER_MODEL_LOOP_H_

#include <string>

#include "router/messages.h"

namespace shortlist {

/// A model under the Router with the requests that it serves. Every request that it took gets
/// exactly one terminal row. Times are seconds of a clock that never goes back. Used by one thread
/// at a time.
class ModelLoop {
 public:
  virtual ~ModelLoop() = default;

  /// Ends the request of this id; false when it serves none.
  virtual bool Abort(const std::string& rid) = 0;
  /// Ends what is overdue and computes the next pass, or the next two.
  virtual void Step(double now_s) = 0;
  /// True when there is nothing to step for.
  virtual bool idle() const = 0;
  /// What came since the last call.
  virtual BatchTokenIdOut TakeRows() = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_MODEL_LOOP_H_

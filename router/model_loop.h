#ifndef SHORTLIST_ROUTER_MODEL_LOOP_H_
#define SHORTLIST_ROUTER_MODEL_LOOP_H_

#include <string>

#include "router/messages.h"

namespace shortlist {

/// A model under the Router with the requests that it serves. Every accepted request gets exactly
/// one terminal row. Times are seconds of a monotonic clock. Used by one thread at a time.
class ModelLoop {
 public:
  virtual ~ModelLoop() = default;

  /// Ends the request `rid`; returns false if this model does not serve it.
  virtual bool Abort(const std::string& rid) = 0;
  /// Fails overdue requests and computes the next pass, or the next two (prefill and decode).
  virtual void Step(double now_s) = 0;
  /// True if there is nothing to compute or send.
  virtual bool idle() const = 0;
  /// Returns the rows added since the last call.
  virtual BatchTokenIdOut TakeRows() = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_MODEL_LOOP_H_

#ifndef SHORTLIST_ROUTER_ROUTER_H_
#define SHORTLIST_ROUTER_ROUTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "draft/engine.h"
#include "router/encoding_options.h"
#include "router/messages.h"
#include "router/scheduler_options.h"

namespace shortlist {

class EncodingLoop;
class GenerationLoop;
class ModelLoop;
class ModelTurns;
class Scheduler;

/// The core of the server: serves requests for at most one generating model and any number of
/// encoders. Requests enter at any time; tokens and vectors come out. The models take turns on the
/// thread (ModelTurns); the generating model has two shares of the time, each encoder one. A busy
/// model gets its share of any period, less one pass of each model. Every request gets exactly one
/// terminal row.
///
/// Used by one thread at a time.
class Router {
 public:
  struct Encoder {
    EncodingOptions options;
    EncodePass encode;
  };
  struct Options {
    SchedulerOptions scheduler;  // of the generating model, as for GenerationLoop::Create
    std::vector<Encoder> encoders;
    // Seconds of a monotonic clock, used to charge passes and for deadlines. Empty: a RunningClock,
    // so that a pause of the process is charged to no model.
    std::function<double()> now;
  };

  /// Returns errors of GenerationLoop::Create and EncodingLoop::Create.
  static absl::StatusOr<std::unique_ptr<Router>> Create(SpeculativeEngine& engine, Options options);
  /// Creates a router without a generating model; requests for one fail with FailedPrecondition.
  static absl::StatusOr<std::unique_ptr<Router>> Create(Options options);
  ~Router();

  /// Accepts new messages and steps one model. Returns the new rows of all models.
  BatchTokenIdOut ExposedStep(std::vector<RouterMessage> recv_reqs);

  /// True if there is nothing to compute or send.
  bool idle() const;

  bool generates() const { return generation_ != nullptr; }
  size_t num_encoders() const { return encoders_.size(); }
  const EncodingLoop& encoder(size_t i) const;

  // For the generating model. Precondition: generates().

  /// Retracts every running and prefilling request, as if memory were short.
  void RetractAll();
  /// See Scheduler::FlushCache.
  void FlushCache();
  const Scheduler& scheduler() const;
  /// See Scheduler::CheckInvariants.
  absl::Status CheckInvariants() const;

 private:
  Router(std::unique_ptr<GenerationLoop> generation,
         std::vector<std::unique_ptr<EncodingLoop>> encoders, std::function<double()> now);
  static absl::StatusOr<std::unique_ptr<Router>> Over(std::unique_ptr<GenerationLoop> generation,
                                                      Options options);

  void Take(RouterMessage message, double now_s, BatchTokenIdOut& out);

  const std::unique_ptr<GenerationLoop> generation_;  // null without a generating model
  const std::vector<std::unique_ptr<EncodingLoop>> encoders_;
  const std::function<double()> now_;
  std::vector<ModelLoop*> loops_;  // all of them
  const std::unique_ptr<ModelTurns> turns_;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_ROUTER_H_

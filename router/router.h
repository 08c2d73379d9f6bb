#ifndef SHORTLIST_ROUTER_ROUTER_H_
#define SHORTLIST_ROUTER_ROUTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "draft/engine.h"
#include "router/encoding_loop.h"
#include "router/generation_loop.h"
#include "router/messages.h"
#include "router/model_turns.h"
#include "router/scheduler.h"

namespace shortlist {

/// The heart of the server: requests for one generating model, or none, and any number of encoders
/// go in at any time, tokens and vectors come out. The models share the thread by turns
/// (ModelTurns), the generating one with two shares of the time to each encoder's one: over any
/// time a model that has work gets its share, less one pass of each. Every request gets exactly one
/// terminal row.
///
/// Used by one thread at a time.
class Router {
 public:
  struct Encoder {
    EncodingLoop::Options options;
    EncodingLoop::Encode encode;
  };
  struct Options {
    SchedulerOptions scheduler;  // of the generating model, as GenerationLoop::Create takes it
    std::vector<Encoder> encoders;
    // Seconds of a clock that never goes back, by which passes are charged and deadlines pass.
    // Empty: a RunningClock, so that a pause of the process is charged to no model.
    std::function<double()> now;
  };

  /// Errors of GenerationLoop::Create and EncodingLoop::Create.
  static absl::StatusOr<std::unique_ptr<Router>> Create(SpeculativeEngine& engine, Options options);
  /// Without a generating model, to which all requests are refused: FailedPrecondition.
  static absl::StatusOr<std::unique_ptr<Router>> Create(Options options);

  /// Takes in what has arrived and steps one model. Returns what that brought.
  BatchTokenIdOut ExposedStep(std::vector<RouterMessage> recv_reqs);

  /// True when there is nothing to step for.
  bool idle() const;

  bool generates() const { return generation_ != nullptr; }
  size_t num_encoders() const { return encoders_.size(); }
  const EncodingLoop& encoder(size_t i) const { return *encoders_[i]; }

  // Of the generating model. Precondition: generates().

  /// Takes every running and prefilling request out of its slots, as when memory is short.
  void RetractAll() { generation_->RetractAll(); }
  /// As Scheduler's.
  void FlushCache() { generation_->scheduler().FlushCache(); }
  const Scheduler& scheduler() const { return generation_->scheduler(); }
  /// As Scheduler's.
  absl::Status CheckInvariants() const { return scheduler().CheckInvariants(); }

 private:
  Router(std::unique_ptr<GenerationLoop> generation,
         std::vector<std::unique_ptr<EncodingLoop>> encoders, std::function<double()> now);
  static absl::StatusOr<std::unique_ptr<Router>> Over(std::unique_ptr<GenerationLoop> generation,
                                                      Options options);

  void Take(RouterMessage message, double now_s, BatchTokenIdOut& out);

  const std::unique_ptr<GenerationLoop> generation_;  // null: there is none
  const std::vector<std::unique_ptr<EncodingLoop>> encoders_;
  const std::function<double()> now_;
  std::vector<ModelLoop*> loops_;  // all of them
  ModelTurns turns_;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_ROUTER_H_

#ifndef SHORTLIST_CLI_SERVED_ENCODERS_H_
#define SHORTLIST_CLI_SERVED_ENCODERS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "cli/flags/flags.h"
#include "cli/picture_reader.h"
#include "router/router.h"
#include "runtime/encoding_model.h"
#include "runtime/models.h"
#include "serve/served_encoder.h"

namespace shortlist {

/// The model that generates text, if any.
struct GeneratingModel {
  Models* models = nullptr;  // loaded; must outlive the encoders
  std::string name;
};

/// The encoders of `shortlist serve`: their passes for the Router, their descriptions for the
/// routes. Must outlive both.
class ServedEncoders {
 public:
  /// Loads --embed-model and --rerank-model. With a generating model, adds an encoder of its hidden
  /// states for FastChat. Errors name the flag: errors of EncodingModel::Open, a model of the wrong
  /// kind, duplicate names.
  static absl::StatusOr<ServedEncoders> Open(const ServeFlags& flags, ThreadPool& pool,
                                             const GeneratingModel& generating = {});

  bool empty() const { return entries_.empty(); }
  /// The first one. Precondition: not empty().
  const EncodingModel& front() const { return *entries_.front()->model; }

  std::vector<Router::Encoder> Loops() const;
  std::vector<ServedEncoder> Descriptions() const;
  /// Loads of the encoders in `router`, which was made with Loops(). Not during a step.
  std::vector<EncoderLoad> Loads(const Router& router) const;
  /// key=value pairs for the log; empty without encoders.
  std::string Summary() const;

 private:
  struct Entry {
    std::string flag, name;
    std::unique_ptr<EncodingModel> model;
    std::optional<PictureReader> pictures;  // only if the model reads pictures
    bool is_generating = false;
    double seconds = 0.0;  // pass time; owned by the router thread
  };

  absl::Status Add(const std::string& flag, const EncoderFlags& encoder, const ServeFlags& flags,
                   ThreadPool& pool);

  int64_t max_batch_tokens_ = 0, max_queued_requests_ = 0;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_SERVED_ENCODERS_H_

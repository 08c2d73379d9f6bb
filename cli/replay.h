#ifndef SHORTLIST_CLI_REPLAY_H_
#define SHORTLIST_CLI_REPLAY_H_

#include <ostream>

#include "absl/status/status.h"
#include "cli/flags/flags.h"

namespace shortlist {

/// `shortlist replay`: serves the requests of a trace at their arrival times, through the Router
/// and the models, or with --simulate through the scheduler alone in virtual time. Writes time to
/// first token, inter-token latency, throughput, hit rate and retractions. A token's inter-token
/// latency is its share of the gap before the step that produced it. Requests that the router
/// rejects are counted and are no error.
absl::Status Replay(const ReplayFlags& flags, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_REPLAY_H_

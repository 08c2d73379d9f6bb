#ifndef SHORTLIST_CLI_SERVICE_DESCRIPTION_H_
#define SHORTLIST_CLI_SERVICE_DESCRIPTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/flags/flags.h"
#include "cli/served_encoders.h"
#include "cli/session.h"
#include "runtime/engine.h"
#include "serve/generator.h"
#include "serve/service.h"
#include "text/chat/prompt_encoder.h"

namespace shortlist {

// Descriptions of what `shortlist serve` serves, for clients, /metrics and the log.

/// For clients.
absl::StatusOr<Service> DescribeService(const ServeFlags& flags, Session& session, Engine& engine);
/// For a server without a generating model: describes the first encoder.
absl::StatusOr<Service> DescribeService(const ServeFlags& flags, const ServedEncoders& encoders);

/// The log's line at startup.
std::string Summary(const ServeFlags& flags, Session& session, Engine& engine,
                    const PromptEncoder& encoder);
std::string Summary(const ServedEncoders& encoders);

/// For /metrics and upstream routers. Runs on the router thread.
EngineLoad LoadOf(const Engine& engine, const ServedEncoders& encoders);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_SERVICE_DESCRIPTION_H_
